"""Reminds the persona of follow-ups whose day has come, in the language they are written in. Pure, and never stored."""

from __future__ import annotations

from bot.memory.items import Item
from bot.prompt.language import is_chinese
from bot.turn import Turn

_DUE = (
    "[Due and still open: {items}. Come back to it where it fits, unless that has been done.]",
    "[已到期且尚未完成：{items}。若还没提过，请在合适的时候提起。]",
)
_RAISE = (
    "[Nobody has spoken for a while. Speak first now, in a sentence or two, about what is due: {items}. Ask how it "
    "stands, as yourself, and mention no note.]",
    "[已经有一阵没人说话了。现在由你主动开口，用一两句话提起到期的事：{items}。以你自己的口吻问问进展，不要提到这条提示。]",
)


def write_due(turn: Turn) -> str | None:
    """A note on what is due; where the persona is to speak first, on that one alone."""
    items = turn.due if turn.raises is None else (turn.raises,)
    if not items:
        return None
    note = _DUE if turn.raises is None else _RAISE
    chinese = is_chinese("".join(item.new.text for item in items))
    return note[chinese].format(items=("；" if chinese else "; ").join(map(_item, items)))


def _item(item: Item) -> str:
    owner = f"{item.new.subject_name}: " if item.new.subject_name else ""
    return f"{owner}{item.new.text} ({item.new.day})"

"""Tells whether a request begins with its predecessor, so that the provider's cache holds, and if not, why. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from bot.llm.model import ModelMessage, ToolSpec
from bot.prompt.usage import PrefixBreak
from bot.turn import Sent, Turn

CARD_SECTIONS = ("persona", "character", "scenario", "examples")
LORE_SECTIONS = ("lore_before", "lore_personality", "lore_after", "lore_examples")
SETTING_SECTIONS = ("rules", "platform")
MEMORY_SECTIONS = ("memory",)


def sent_of(
    turn: Turn, messages: Iterable[ModelMessage], tools: Sequence[ToolSpec], sections: Mapping[str, str]
) -> tuple[Sent, PrefixBreak | None]:
    """What a request begins with, and why its predecessor's beginning is not in it where that is so. `messages` are
    those without the volatile tail, `sections` the texts of the stable ones, and the turn's cuts those of this request.
    """
    hashes = [_hash(message) for message in messages]
    sent = Sent(
        messages=len(hashes),
        digest=hash(tuple(hashes)),
        frame=hash((turn.model, turn.reserve, turn.settings.values.thinking)),
        tools=hash(tuple((tool.name, tool.description, str(tool.parameters)) for tool in tools)),
        sections={name: hash(text) for name, text in sections.items()},
        watermark=turn.watermark,
        generation=turn.generation,
        cuts=turn.cuts,
        burst=turn.burst,
    )
    before = turn.sent
    if before is None or _goes_on(before, sent, hashes):
        return sent, None
    gone = bool(set(before.burst) - {row.id for row in turn.history})
    return sent, _why(before, sent, is_edited=gone or before.generation != sent.generation)


def _hash(message: ModelMessage) -> int:
    calls = tuple((call.id, call.name, call.arguments) for call in message.tool_calls)
    return hash((message.role, message.text, message.tool_call_id, calls, len(message.images)))


def _goes_on(before: Sent, sent: Sent, hashes: Sequence[int]) -> bool:
    is_same = before.frame == sent.frame and before.tools == sent.tools
    return is_same and hash(tuple(hashes[: before.messages])) == before.digest


def _why(before: Sent, sent: Sent, *, is_edited: bool) -> PrefixBreak:
    if before.watermark != sent.watermark:
        return PrefixBreak.COMPACTION
    if is_edited:
        # First of all but a compaction: a message that is gone may take anything with it.
        return PrefixBreak.EDIT if not _differs(before, sent, MEMORY_SECTIONS) else PrefixBreak.MEMORY
    return next((why for why, is_so in _REASONS if is_so(before, sent)), PrefixBreak.UNKNOWN)


def _differs(before: Sent, sent: Sent, names: Iterable[str]) -> bool:
    return any(before.sections.get(name) != sent.sections.get(name) for name in names)


_REASONS: tuple[tuple[PrefixBreak, Callable[[Sent, Sent], bool]], ...] = (
    (PrefixBreak.OVERRIDE, lambda before, sent: before.frame != sent.frame),
    (PrefixBreak.TOOLS, lambda before, sent: before.tools != sent.tools),
    (PrefixBreak.MEMORY, lambda before, sent: _differs(before, sent, MEMORY_SECTIONS)),
    (PrefixBreak.PRUNING, lambda before, sent: before.cuts != sent.cuts),
    (PrefixBreak.CARD, lambda before, sent: _differs(before, sent, CARD_SECTIONS)),
    (PrefixBreak.LORE, lambda before, sent: _differs(before, sent, LORE_SECTIONS)),
    (PrefixBreak.OVERRIDE, lambda before, sent: _differs(before, sent, SETTING_SECTIONS)),
    (PrefixBreak.SECTION, lambda before, sent: before.sections != sent.sections),
)

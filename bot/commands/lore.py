"""/lore list, read and test: what the lorebooks hold that count here, and what would bring which entry in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from bot.chat import CommandSpec, OptionSpec, Outbound, OutFile
from bot.commands.command import Call, Command, Desk, inert
from bot.commands.lore_books import BOOK, ME, name_of_book, name_of_ref, visible_books
from bot.commands.members import OF
from bot.commands.pages import KEYWORD, PAGE, near_action, page_of, paged_text
from bot.errors import UserError
from bot.lore import CARD, MINE, PLACE
from bot.personas.lorebook.activation import Activation, Verdict, Why
from bot.turn import Asker

if TYPE_CHECKING:
    from bot.personas.lorebook import LoreEntry, LoreIndex

LISTED_CHARS, LISTED_KEYS = 70, 5
"""Of an entry's text in a list, and of its keys."""
SHOWN_CHARS = 1_500
"""Of its text in a message; a longer one comes as a file."""
TOLD = 10
"""Entries that a test tells of, of each kind."""
NOT_NEARLY = frozenset((Why.NO_KEY, Why.DISABLED, Why.EMPTY))
"""Why an entry was not near to joining in: nothing called it."""


async def list_lore(call: Call, desk: Desk) -> Outbound:
    """`/lore [words] [--for card|place|me] [-p page] [-o persona]`: the entries that count here for the caller."""
    books, hidden = await visible_books(call, desk)
    keyword = call.options.get(KEYWORD.name, "")
    listed = [*_listed(books, _wanted(call), keyword)]
    note = desk.text("lore-hidden", call.locale, count=hidden) if hidden else ""
    if not listed:
        return Outbound(text="\n\n".join(filter(None, (_nothing(keyword, call, desk), note))))
    page = page_of(listed, call)
    body = "\n\n".join(filter(None, (_under_headings(page.entries, call, desk), note)))
    heading = desk.text("lore-list", call.locale, count=len(listed))
    command = "lore list" + (f" -f {call.options[BOOK.name]}" if BOOK.name in call.options else "")
    return paged_text(heading, body, page, command, call, desk)


def _wanted(call: Call) -> str | None:
    name = call.options.get(BOOK.name)
    return MINE if name == ME else name


def _listed(books: Mapping[str, LoreIndex], wanted: str | None, keyword: str) -> Iterable[tuple[str, LoreEntry]]:
    words = keyword.casefold()
    for name, index in books.items():
        if wanted in (None, name):
            yield from ((name, entry) for entry in index.book.entries if not words or words in _searched(entry))


def _searched(entry: LoreEntry) -> str:
    return "\n".join((entry.title, *entry.keys, *entry.secondary_keys, entry.content)).casefold()


def _nothing(keyword: str, call: Call, desk: Desk) -> str:
    if not keyword:
        return desk.text("lore-none", call.locale)
    near = near_action(keyword, "lore", desk)
    return desk.text("command-meant", call.locale, near=near) if near else desk.text("lore-no-match", call.locale)


def _under_headings(entries: Sequence[tuple[str, LoreEntry]], call: Call, desk: Desk) -> str:
    pieces: dict[str, list[str]] = {}
    for name, entry in entries:
        pieces.setdefault(name, [f"**{name_of_book(name, call, desk)}**"]).append(f"- {_line(entry, call, desk)}")
    return "\n\n".join("\n".join(lines) for lines in pieces.values())


def _line(entry: LoreEntry, call: Call, desk: Desk) -> str:
    keys = ", ".join(map(inert, entry.keys[:LISTED_KEYS])) + ("…" if len(entry.keys) > LISTED_KEYS else "")
    title = f"**{inert(entry.title)}**" if entry.title not in entry.keys else ""
    pieces = (title, keys, *_marks(entry, call, desk), inert(_cut(entry.content, LISTED_CHARS)))
    return f"`{entry.id}` {' · '.join(filter(None, pieces))}"


def _marks(entry: LoreEntry, call: Call, desk: Desk) -> list[str]:
    marks = (("lore-always", entry.constant), ("lore-off", not entry.enabled))
    return [desk.text(message_id, call.locale) for message_id, is_so in marks if is_so]


def _cut(text: str, chars: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= chars else line[:chars].rstrip() + "…"


async def read_lore(call: Call, desk: Desk) -> Outbound:
    """`/lore read NUMBER [--for card|place|me] [-o persona]`: one entry, whole."""
    books, _ = await visible_books(call, desk)
    wanted, number = _wanted(call), call.options["number"]
    for name in (PLACE, MINE, CARD):
        entry = books[name].book.entry(number) if name in books and wanted in (None, name) else None
        if entry is not None:
            return shown(name, entry, call, desk)
    raise UserError("lore-no-entry", number=number)


def shown(name: str, entry: LoreEntry, call: Call, desk: Desk) -> Outbound:
    """An entry with everything that people change by hand."""
    facts = [f"`{entry.id}` {inert(entry.title)}", name_of_book(name, call, desk), *_marks(entry, call, desk)]
    lines = [" · ".join(facts)]
    if entry.keys:
        lines.append(desk.text("lore-keys", call.locale, keys=", ".join(entry.keys)))
    if entry.secondary_keys:
        lines.append(desk.text("lore-more-keys", call.locale, keys=", ".join(entry.secondary_keys)))
    if len(entry.content) <= SHOWN_CHARS:
        return Outbound(text="\n".join((*lines, "", inert_lines(entry.content))))
    return Outbound(text="\n".join(lines), file=OutFile(name="entry.txt", text=entry.content))


def inert_lines(text: str) -> str:
    """A text whose Markdown does not count, line by line."""
    return "\n".join(map(inert, text.split("\n")))


async def test_lore(call: Call, desk: Desk) -> Outbound:
    """`/lore test TEXT [-o persona]`: which entries would join in if the caller said this, which nearly, and why."""
    author = call.inbound.author
    asker = Asker(key=author.key, name=author.name)
    turn = await desk.gauge.opener.preview(call.session.id, asker, call.persona_id)
    if turn is None:
        raise UserError("history-none")
    found = await desk.lore.test(turn, call.options["text"])
    books, _ = await visible_books(call, desk)
    return Outbound(text=_told(found, books, call, desk))


def _told(found: Activation, books: Mapping[str, LoreIndex], call: Call, desk: Desk) -> str:
    seen = [verdict for ref, verdict in found.verdicts.items() if name_of_ref(ref) in books]
    hidden = sum(verdict.is_active for verdict in found.verdicts.values()) - sum(verdict.is_active for verdict in seen)
    active = [verdict for verdict in seen if verdict.is_active]
    near = [verdict for verdict in seen if not verdict.is_active and verdict.why not in NOT_NEARLY]
    tokens = {entry.ref: entry.tokens for entry in found.entries}
    total = sum(tokens.get(verdict.ref, 0) for verdict in active)
    heading = desk.text("lore-test-active", call.locale, count=len(active), tokens=total)
    pieces = [
        _verdicts(heading if active else desk.text("lore-test-none", call.locale), active, call, desk),
        _verdicts(desk.text("lore-test-near", call.locale), near, call, desk) if near else "",
        desk.text("lore-test-hidden", call.locale, count=hidden) if hidden else "",
        "\n".join(f"- {inert(warning.told(desk.words(call)))}" for warning in found.warnings[:TOLD]),
    ]
    return "\n\n".join(filter(None, pieces))


def _verdicts(heading: str, verdicts: Sequence[Verdict], call: Call, desk: Desk) -> str:
    lines = [f"- {_verdict(verdict, call, desk)}" for verdict in verdicts[:TOLD]]
    if len(verdicts) > TOLD:
        lines.append(f"- … +{len(verdicts) - TOLD}")
    return "\n".join((heading, *lines))


def _verdict(verdict: Verdict, call: Call, desk: Desk) -> str:
    """One entry: where it stands, why it joins in or does not, and who called it."""
    book, _, number = verdict.ref.partition("/")
    why = desk.text(f"lore-why-{verdict.why.value.replace('_', '-')}", call.locale, detail=verdict.detail)
    called = f" {desk.text('lore-by-lore', call.locale)}" if verdict.round else ""
    where = f"{name_of_book(book, call, desk)} `{inert(number)}`"
    return f"**{inert(verdict.title)}** ({where}): {why}{called}"


TEXT = OptionSpec(name="text", required=True, rest=True, about="option-lore-tried")
NUMBER = OptionSpec(name="number", required=True)

LORE_COMMANDS = (
    Command(spec=CommandSpec(path=("lore", "list"), options=(KEYWORD, BOOK, PAGE, OF), ephemeral=True), run=list_lore),
    Command(
        spec=CommandSpec(path=("lore", "read"), options=(NUMBER, BOOK, OF), ephemeral=True, example="lore read 3"),
        run=read_lore,
    ),
    Command(
        spec=CommandSpec(
            path=("lore", "test"), options=(TEXT, OF), ephemeral=True, example="lore test who sleeps under the hill?"
        ),
        run=test_lore,
    ),
)

"""Lists in pages, with buttons that turn them. Knows nothing of what is listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from bot.chat import Button, OptionKind, OptionSpec, Outbound, words_after
from bot.commands.command import Call, Desk
from bot.commands.members import repeated
from bot.commands.parse import near_children

T = TypeVar("T")

PAGE_ENTRIES = 8
"""Ours to choose: what a phone shows without scrolling."""

MAX_BUTTON_BYTES = 64
"""What a button can carry (`bot.chat.Button`)."""

KEYWORD = OptionSpec(name="keyword", rest=True)
PAGE = OptionSpec(name="page", kind=OptionKind.INTEGER, flag="-p")


@dataclass(frozen=True, kw_only=True, slots=True)
class Page(Generic[T]):
    """Some of the entries; `number` counts from 1."""

    entries: Sequence[T]
    number: int
    count: int


def page_of(entries: Sequence[T], call: Call) -> Page[T]:
    """The page that the option PAGE asks for, the last one when it asks for more."""
    count = max(1, -(-len(entries) // PAGE_ENTRIES))
    number = min(max(1, int(call.options.get(PAGE.name, "1"))), count)
    first = (number - 1) * PAGE_ENTRIES
    return Page(entries=entries[first : first + PAGE_ENTRIES], number=number, count=count)


def near_action(keyword: str, group: str, desk: Desk) -> str:
    """What a search without any result may have been meant for, `/persona uze luna`; "" for nothing else."""
    actions = words_after((group,), [command.spec for command in desk.commands()])
    return ", ".join(near_children(keyword.partition(" ")[0], (group,), actions, desk.names))


def paged(heading: str, lines: Sequence[str], page: Page[T], command: str, call: Call, desk: Desk) -> Outbound:
    """A page as an answer; `command` lists the same again and is what the buttons repeat."""
    return paged_text(heading, "\n".join(f"- {line}" for line in lines), page, command, call, desk)


def paged_text(heading: str, body: str, page: Page[T], command: str, call: Call, desk: Desk) -> Outbound:
    """The same of what is no plain list."""
    pieces = [heading, body]
    if page.count > 1:
        pieces.append(desk.text("page-of", call.locale, page=page.number, pages=page.count))
    keyword = call.options.get(KEYWORD.name, "")
    return Outbound(text="\n\n".join(pieces), buttons=_buttons(page, command + repeated(call), keyword))


def _buttons(page: Page[T], command: str, keyword: str) -> tuple[tuple[Button, ...], ...]:
    turns = [(page.number - 1, "◀ {}"), (page.number + 1, "{} ▶")]
    quoted = f' "{keyword}"' if keyword else ""
    buttons = [
        Button(label=label.format(number), command=f"{command} -p {number}{quoted}")
        for number, label in turns
        if 1 <= number <= page.count
    ]
    fit = '"' not in keyword and all(len(button.command.encode()) <= MAX_BUTTON_BYTES for button in buttons)
    return (tuple(buttons),) if buttons and fit else ()

"""Asks an extension in place of the summary model, and keeps of its answer what its sources bear out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from bot.guard import ExtensionFailed, Guard
from bot.hooks import SummaryRequest
from bot.memory.delta import LONGEST_GIST, LONGEST_TEXT, BadDelta, Citable, Line, naming
from bot.memory.items import Add, Delta, FollowUpState, Item, ItemKind, NewItem, Retire
from bot.memory.request import Material, citable_of
from bot.memory.summariser import Subject

O = TypeVar("O", Add, Retire)  # noqa: E741 -- an operation


async def ask_stand_in(summarise: Guard, subject: Subject, material: Material, *, max_tokens: int) -> Delta:
    """The delta of an extension for a material.

    Raises:
        BadDelta: it gave none, or nothing of it is borne out.
    """
    citable = citable_of(material)
    lines = {line.message_id: line for line in citable.lines.values()}
    request = SummaryRequest(
        session=subject.session,
        persona_name=material.persona_name,
        rows=tuple(row for row in (*material.again, *material.rows) if row.id in lines),
        memory=material.memory,
        zone=material.zone,
        focus=material.focus,
        max_tokens=max_tokens,
    )
    try:
        delta: Delta | None = await summarise.call(request)
    except ExtensionFailed as error:
        raise BadDelta(str(error)) from error
    return borne_out(delta or Delta(), citable, lines)


def borne_out(delta: Delta, citable: Citable, lines: Mapping[int, Line]) -> Delta:
    """What of a delta refers only to what is citable; `lines` are its lines by the ids of their messages.

    Raises:
        BadDelta: nothing does.
    """
    refused: list[str] = []
    items = {item.id: item for item in citable.items.values()}
    kept = Delta(
        adds=tuple(_each(delta.adds, lambda add: _add(add, citable.people, items, lines), refused)),
        retires=tuple(_each(delta.retires, lambda retire: _retire(retire, items, lines), refused)),
        gist=(delta.gist or "").replace("\0", "").strip()[:LONGEST_GIST] or None,
    )
    if kept.is_empty:
        raise BadDelta("; ".join(refused[:5]) or "it holds nothing")
    return replace(kept, refused=tuple(refused))


def _each(operations: Iterable[O], check: Callable[[O], O], refused: list[str]) -> Iterator[O]:
    for operation in operations:
        try:
            yield check(operation)
        except BadDelta as error:
            refused.append(str(error))


def _add(add: Add, people: Mapping[str, str], items: Mapping[int, Item], lines: Mapping[int, Line]) -> Add:
    new = add.item
    text, said = " ".join(new.text.replace("\0", "").split()), f"{new.kind.value} “{new.text[:40]}”"
    cited = _cited(new.sources, said, lines)
    human = tuple(source for source in cited if lines[source].is_human)
    unknown = [key for key in (new.subject, *new.people) if key is not None and key not in people]
    if not 0 < len(text) <= LONGEST_TEXT:
        raise BadDelta(f"{said}: it has {len(text)} characters, {LONGEST_TEXT} at most")
    if unknown:
        raise BadDelta(f"{said}: {unknown[0]!r} is nobody here")
    if new.kind in (ItemKind.FACT, ItemKind.CONSENSUS) and not human:
        raise BadDelta(f"{said}: no person said that")
    if add.replaces is not None:
        _demand_free(add.replaces, said, items, new.kind)
    name = people[new.subject] if new.subject else ""
    new = replace(new, text=text, subject_name=name, sources=cited, pinned=False)
    return replace(add, item=_of_its_kind(new, human, lines, said))


def _of_its_kind(new: NewItem, human: tuple[int, ...], lines: Mapping[int, Line], said: str) -> NewItem:
    match new.kind:
        case ItemKind.FACT:
            if new.subject is None:
                raise BadDelta(f"{said}: it is about nobody")
            return replace(new, text=naming(new.text, new.subject_name), sources=human)
        case ItemKind.EVENT:
            return replace(new, day=new.day or lines[new.sources[0]].day)
        case ItemKind.FOLLOW_UP:
            return replace(new, state=new.state or FollowUpState.OPEN)
        case ItemKind.CONSENSUS:
            return new


def _retire(retire: Retire, items: Mapping[int, Item], lines: Mapping[int, Line]) -> Retire:
    said = f"retire {retire.item}"
    _demand_free(retire.item, said, items)
    return replace(retire, sources=_cited(retire.sources, said, lines))


def _cited(sources: Iterable[int], said: str, lines: Mapping[int, Line]) -> tuple[int, ...]:
    cited = tuple(dict.fromkeys(source for source in sources if source in lines))
    if not cited:
        raise BadDelta(f"{said}: it cites no message that was to be folded")
    return cited


def _demand_free(item_id: int, said: str, items: Mapping[int, Item], kind: ItemKind | None = None) -> None:
    item = items.get(item_id)
    if item is None or (kind is not None and item.new.kind is not kind):
        raise BadDelta(f"{said}: there is no such item {item_id}")
    if item.new.pinned:
        raise BadDelta(f"{said}: item {item_id} is pinned")

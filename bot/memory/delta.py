"""Reads what the summariser returns, and keeps of it what its sources bear out. Pure; knows no store and no model.

A reply is JSON with numbers: lines of the transcript as sources, live items to replace or retire, people by their key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from bot.llm.json_reply import NoJson, Number, read_json
from bot.memory.items import Add, Category, Delta, FollowUpState, Item, ItemKind, NewItem, Retire

MOST_OPERATIONS = 40
"""Of one kind in one reply; a server that keeps to the schema stops there."""
LONGEST_TEXT = 300
"""Characters of one item."""
LONGEST_GIST = 1_500
LONGEST_KEY = 80
MOST_LISTED = 50
"""People whom a schema lists by key, so that it stays small."""


class BadDelta(Exception):
    """A reply that must change nothing. The sentence goes back to the model, and shows in /status."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A citable line of a transcript: the message behind it, who said it, and on which day."""

    message_id: int
    author_key: str | None
    """`None` for what a persona or a tool said."""
    day: date

    @property
    def is_human(self) -> bool:
        """Whether a person said it."""
        return self.author_key is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Citable:
    """What a reply may refer to: lines by number, people by key with their names, live items by number."""

    lines: Mapping[int, Line]
    people: Mapping[str, str]
    items: Mapping[int, Item]


def _spelled(day: object) -> object:
    """A day as it is given in words; a number would be read as seconds since 1970."""
    if day is not None and not (isinstance(day, str) and "-" in day):
        raise ValueError("a day is written as 2026-01-31 is")
    return day


_Day = Annotated[date | None, BeforeValidator(_spelled)]


class _Operation(BaseModel):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    text: str = Field(min_length=1, max_length=LONGEST_TEXT)
    lines: list[Number] = Field(min_length=1)
    item: Number | None = None


class _Fact(_Operation):
    who: str
    category: Category = Category.OTHER


class _Event(_Operation):
    day: _Day = None


class _Agreed(_Operation):
    who: list[str] = []


class _Open(_Operation):
    who: str | None = None
    due: _Day = None
    state: FollowUpState = FollowUpState.OPEN


class _Retire(BaseModel):
    model_config = ConfigDict(extra="ignore")

    item: Number
    lines: list[Number] = []


O = TypeVar("O", bound=BaseModel)  # noqa: E741 -- an operation


def schema(citable: Citable, *, most: int = MOST_OPERATIONS) -> dict[str, Any]:
    """The JSON schema of a reply that refers to what is citable, with at most so many operations of a kind. Every
    string and list is bounded, so that a small model ends. All that it uses but `maxLength` is what strict structured
    outputs take.
    """
    day = {"type": ["string", "null"], "format": "date", "maxLength": 10}
    parts: dict[str, dict[str, Any]] = {
        "facts": {"who": _who(citable), "category": _one_of(Category)},
        "events": {"day": day},
        "agreed": {"who": {"type": "array", "items": _who(citable), "maxItems": 20}},
        "open": {"who": _who(citable, "null"), "due": day, "state": _one_of(FollowUpState)},
    }
    text = {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT}
    item = {"minimum": 1, "maximum": len(citable.items)}
    lines = _lines(citable)
    properties = {
        name: _list_of(
            {"lines": lines, **more, "text": text, **_if(citable.items, item={"type": ["integer", "null"], **item})},
            most,
        )
        for name, more in parts.items()
    }
    retire = _list_of({"item": {"type": "integer", **item}, "lines": lines}, most)
    gist = {"type": "string", "maxLength": LONGEST_GIST}
    return object_schema({**properties, **_if(citable.items, retire=retire), "gist": gist})


def _who(citable: Citable, *or_else: str) -> dict[str, Any]:
    """Somebody by key; one of those who are there, unless they are too many to list."""
    kind = ["string", *or_else] if or_else else "string"
    if not 0 < len(citable.people) <= MOST_LISTED:
        return {"type": kind, "maxLength": LONGEST_KEY}
    return {"type": kind, "enum": [*citable.people, *([None] if or_else else [])]}


def _lines(citable: Citable) -> dict[str, Any]:
    number = {"type": "integer", "minimum": 1, "maximum": max(1, len(citable.lines))}
    return {"type": "array", "items": number, "minItems": 1, "maxItems": 8}


def _one_of(words: Iterable[str]) -> dict[str, Any]:
    return {"type": "string", "enum": [*words]}


def _list_of(properties: Mapping[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "maxItems": most, "items": object_schema(properties)}


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object that has all these properties and no other, which strict structured outputs demand."""
    return {
        "type": "object",
        "properties": {**properties},
        "required": [*properties],
        "additionalProperties": False,
    }


def _if(condition: object, **properties: Any) -> dict[str, Any]:
    return properties if condition else {}


def read_delta(text: str, citable: Citable) -> Delta:
    """What a reply changes, as far as it is borne out by what it refers to; the rest is listed as refused.

    Raises:
        BadDelta: it is no whole JSON, changes nothing, or is refused for the greater part.
    """
    try:
        reply = read_json(text)
    except NoJson as error:
        raise BadDelta(str(error)) from error
    return keep(reply, citable)


def keep(reply: Mapping[str, Any], citable: Citable) -> Delta:
    """The same for a reply that is read already.

    Raises:
        BadDelta: it changes nothing, or is refused for the greater part.
    """
    refused: list[str] = []
    retires = [*_retires(reply, citable, refused)]
    adds = [*_adds(reply, citable, retires, refused)]
    delta = Delta(adds=tuple(adds), retires=tuple(retires), gist=_gist(reply, refused), refused=tuple(refused))
    if len(refused) > len(adds) + len(retires):
        raise BadDelta("most of it is not borne out: " + "; ".join(refused[:5]))
    if delta.is_empty:
        raise BadDelta("it holds nothing: no gist, no facts, no events, nothing agreed and nothing open")
    return delta


def _gist(reply: Mapping[str, Any], refused: list[str]) -> str | None:
    gist = reply.get("gist")
    if not isinstance(gist, str) or not gist.strip():
        return None
    if len(gist) > LONGEST_GIST:
        refused.append(f"the gist has {len(gist)} characters, {LONGEST_GIST} at most")
        return None
    return gist.strip()


def _adds(reply: Mapping[str, Any], citable: Citable, retires: list[Retire], refused: list[str]) -> Iterator[Add]:
    """What is new; what takes the place of an item and is known already only retires that item."""
    gone = {retire.item for retire in retires}
    known = {_likeness(item.new): item for item in citable.items.values() if item.id not in gone}
    said = set[tuple[object, ...]]()
    for kind, found in _operations(reply, refused):
        try:
            new = _new_item(kind, found, citable)
            replaces = _live_item(found.item, kind, citable)
        except BadDelta as error:
            refused.append(f"{kind.value} “{found.text[:40]}”: {error}")
            continue
        likeness = _likeness(new)
        same = known.get(likeness)
        if replaces is not None and (same.id != replaces if same else likeness in said):
            retires.append(Retire(item=replaces, sources=new.sources))
        if likeness in said:
            continue
        said.add(likeness)
        if same is None:
            yield Add(item=new, replaces=replaces)
        elif not (same.new.pinned or {*new.people} <= {*same.new.people}):
            people = tuple(dict.fromkeys((*same.new.people, *new.people)))
            sources = tuple(dict.fromkeys((*same.new.sources, *new.sources)))
            yield Add(item=replace(same.new, people=people, sources=sources), replaces=same.id)


def _operations(reply: Mapping[str, Any], refused: list[str]) -> Iterator[tuple[ItemKind, _Operation]]:
    kinds: tuple[tuple[str, ItemKind, type[_Operation]], ...] = (
        ("facts", ItemKind.FACT, _Fact),
        ("events", ItemKind.EVENT, _Event),
        ("agreed", ItemKind.CONSENSUS, _Agreed),
        ("open", ItemKind.FOLLOW_UP, _Open),
    )
    for name, kind, model in kinds:
        for found in _each(reply, name, model, refused):
            yield kind, found


def _each(reply: Mapping[str, Any], name: str, model: type[O], refused: list[str]) -> Iterator[O]:
    """The operations of one list, each read by itself: one that is malformed must not cost the others."""
    listed = reply.get(name)
    for number, given in enumerate(listed if isinstance(listed, list) else (), 1):
        try:
            yield model.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            refused.append(f"{name} {number}: {where} {first['msg'].lower()}".replace("  ", " "))


def _retires(reply: Mapping[str, Any], citable: Citable, refused: list[str]) -> Iterator[Retire]:
    for found in _each(reply, "retire", _Retire, refused):
        item = citable.items.get(found.item)
        if item is None:
            refused.append(f"retire {found.item}: there is no item of that number")
        elif item.new.pinned:
            refused.append(f"retire {found.item}: it is pinned")
        elif lines := [number for number in found.lines if number in citable.lines]:
            yield Retire(item=item.id, sources=tuple(citable.lines[number].message_id for number in lines))
        else:
            refused.append(f"retire {found.item}: it cites no line of the transcript")


def _new_item(kind: ItemKind, found: _Operation, citable: Citable) -> NewItem:
    lines = _cited(found.lines, citable)
    text = " ".join(found.text.split())
    match found:
        case _Fact():
            said = [line for line in lines if line.is_human]
            if not said:
                raise BadDelta("no person said that; facts come from people's own lines")
            who, name = _person(found.who, citable)
            return NewItem(
                kind=kind,
                text=naming(text, name),
                subject=who,
                subject_name=name,
                category=found.category,
                sources=_sources(said),
            )
        case _Event():
            return NewItem(kind=kind, text=text, day=found.day or lines[0].day, sources=_sources(lines))
        case _Agreed():
            if not any(line.is_human for line in lines):
                raise BadDelta("no person confirmed that")
            people = tuple(dict.fromkeys(_person(who, citable)[0] for who in found.who))
            return NewItem(kind=kind, text=text, people=people, sources=_sources(lines))
        case _Open():
            owner = _person(found.who, citable) if found.who else None
            return NewItem(
                kind=kind,
                text=text,
                subject=owner and owner[0],
                subject_name=owner[1] if owner else "",
                day=found.due,
                state=found.state,
                sources=_sources(lines),
            )
    raise AssertionError(kind)


def _cited(numbers: Sequence[int], citable: Citable) -> list[Line]:
    unknown = [number for number in numbers if number not in citable.lines]
    if unknown:
        raise BadDelta(f"there is no line {unknown[0]}")
    return [citable.lines[number] for number in dict.fromkeys(numbers)]


def _person(who: str, citable: Citable) -> tuple[str, str]:
    """Key and name of somebody: by key, or by a name that only one of them has."""
    if who in citable.people:
        return who, citable.people[who]
    named = [key for key, name in citable.people.items() if name.casefold() == who.strip().casefold()]
    if len(named) != 1:
        raise BadDelta(f"{who!r} is " + ("nobody here" if not named else "the name of several people"))
    return named[0], citable.people[named[0]]


def _live_item(number: int | None, kind: ItemKind, citable: Citable) -> int | None:
    if number is None:
        return None
    item = citable.items.get(number)
    if item is None or item.new.kind is not kind:
        raise BadDelta(f"there is no {kind.value} of number {number} to update")
    if item.new.pinned:
        raise BadDelta(f"item {number} is pinned")
    return item.id


def _sources(lines: Sequence[Line]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(line.message_id for line in lines))


def naming(text: str, name: str) -> str:
    """A fact that says whom it is about: read on its own, "hates cilantro" would be the reader's (M19)."""
    return text if name.casefold() in text.casefold() else f"{name}: {text}"


def _likeness(new: NewItem) -> tuple[object, ...]:
    return new.kind, new.subject, new.text.casefold().rstrip(".。"), new.day, new.state

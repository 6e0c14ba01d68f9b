"""What can be asked about single lines, and what the answers come to: notes in the words of the lines themselves.

Pure; knows no model. Authors, numbers and days come from code, which offers no choice that it can rule out itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.memory.days import find_days, spell_days
from bot.memory.delta import LONGEST_TEXT, Citable
from bot.memory.items import Category, Item, ItemKind
from bot.memory.request import inert
from bot.memory.spoken import Spoken

LONGEST_BEGINNING = 60
"""Characters of a line that are said once more before it is judged: without them a model slips from line to line."""
MOST_PLANS, MOST_LINES_OF_A_PLAN, LEAST_PEOPLE = 3, 6, 2
"""In one call; a plan takes two people who name the same day."""
MOST_DOUBTS = 3
"""Older notes that are asked about, one call for each."""

NOTHING, HAPPENED, WILL_HAPPEN, PROMISE = "nothing", "happened", "will happen", "promise"
YES, NO = "yes", "no"
ALWAYS = (NOTHING, *(category.value for category in Category), PROMISE)
DATED = (NOTHING, Category.PLACE.value, PROMISE)
"""What a line that names another day may be besides an event: "tomorrow I run a race" is no liking and no job."""
ONE_AT_A_TIME = frozenset((Category.NAME, Category.PLACE, Category.OCCUPATION))
"""Of these a person has one, so that a new one puts the old one in doubt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Questions:
    """What is asked about some lines: the words to choose from for each key of the reply, and what a key stands for."""

    choices: Mapping[str, tuple[str, ...]]
    lines: Mapping[str, Spoken]
    plans: Mapping[str, tuple[Spoken, ...]]


@dataclass(kw_only=True, slots=True)
class Operations:
    """What is noted, in the shape of a summariser's reply."""

    facts: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    agreed: list[dict[str, Any]] = field(default_factory=list)
    open: list[dict[str, Any]] = field(default_factory=list)
    retire: list[dict[str, Any]] = field(default_factory=list)

    def all(self) -> Iterator[dict[str, Any]]:
        """Everything that is new."""
        yield from (*self.facts, *self.events, *self.agreed, *self.open)


@dataclass(frozen=True, kw_only=True, slots=True)
class Doubt:
    """An older note, by number, and the new line that it may be at odds with."""

    number: int
    item: Item
    line: Spoken


def make_questions(lines: Sequence[Spoken]) -> Questions:
    """What is to be asked about lines."""
    asked = {line_key(line): line for line in lines if line.statement}
    plans = {plan_key(plan): plan for plan in _plans(lines)}
    choices = {key: _kinds(line) for key, line in asked.items()}
    return Questions(choices={**choices, **dict.fromkeys(plans, (YES, NO))}, lines=asked, plans=plans)


def line_key(line: Spoken) -> str:
    """A line as it stands in a reply, in letters that JSON need not escape."""
    beginning = f"{line.number} {inert(line.name)}: {line.statement[:LONGEST_BEGINNING]}"
    return beginning.replace('"', "'").replace("\\", "/")


def plan_key(plan: Sequence[Spoken]) -> str:
    """The same for a plan."""
    return f"plan of lines {', '.join(str(line.number) for line in plan)}, agreed"


def _kinds(line: Spoken) -> tuple[str, ...]:
    """Only what names another day is an event: what people say of today is mostly moods and weather."""
    word = next((word for word in find_days(line.statement, line.day) if line.day != word.coming), None)
    if word is None:
        return ALWAYS
    tense = HAPPENED if word.past < line.day else WILL_HAPPEN
    tenses = (tense,) if word.is_sure else (HAPPENED, WILL_HAPPEN)
    return (*DATED, *tenses)


def _plans(lines: Sequence[Spoken]) -> Iterator[tuple[Spoken, ...]]:
    """Lines of several people that name the same day, which is not yet over; questions count, they may propose it."""
    by_day: dict[object, list[Spoken]] = {}
    for line in lines:
        for day in {word.coming for word in find_days(line.text, line.day) if word.coming >= line.day}:
            by_day.setdefault(day, []).append(line)
    plans = [tuple(those[:MOST_LINES_OF_A_PLAN]) for those in by_day.values()]
    yield from [those for those in plans if len({line.author for line in those}) >= LEAST_PEOPLE][:MOST_PLANS]


def note_down(said: Mapping[str, str], questions: Questions, notes: Operations) -> None:
    """Add what was chosen to the notes; a line of a plan is no event of its own."""
    planned: set[int] = set()
    for key, plan in questions.plans.items():
        if said[key] == YES:
            planned |= {line.number for line in plan}
            notes.agreed.append(_agreed(plan))
    for key, line in questions.lines.items():
        match said[key]:
            case "nothing":
                pass
            case "happened" | "will happen" as tense:
                if line.number not in planned:
                    notes.events.append(_event(line, is_past=tense == HAPPENED))
            case "promise":
                notes.open.append(_promise(line))
            case category:
                text = f"{line.name}: {spell_days(line.statement, line.day)}"[:LONGEST_TEXT]
                notes.facts.append({"who": line.author, "category": category, "text": text, "lines": [line.number]})


def _agreed(plan: Sequence[Spoken]) -> dict[str, Any]:
    """What people said of a plan, as many lines of it as have room."""
    text = ""
    for line in plan:
        more = f"{line.name}: {spell_days(line.text, line.day, is_past=False)}"
        text = f"{text} / {more}" if text and len(text) + len(more) + 3 <= LONGEST_TEXT else text or more[:LONGEST_TEXT]
    people = [*dict.fromkeys(line.author for line in plan)]
    return {"who": people, "text": text, "lines": [line.number for line in plan]}


def _event(line: Spoken, *, is_past: bool) -> dict[str, Any]:
    word = next(word for word in find_days(line.statement, line.day) if line.day != word.coming)
    day = word.past if is_past else word.coming
    return {"day": day.isoformat(), "text": _told(line, is_past=is_past), "lines": [line.number]}


def _promise(line: Spoken) -> dict[str, Any]:
    due = next((word.coming for word in find_days(line.statement, line.day) if word.coming >= line.day), None)
    text, day = _told(line, is_past=False), due and due.isoformat()
    return {"who": line.author, "due": day, "state": "open", "text": text, "lines": [line.number]}


def _told(line: Spoken, *, is_past: bool) -> str:
    return f"{line.name}: {spell_days(line.statement, line.day, is_past=is_past)}"[:LONGEST_TEXT]


def find_doubts(notes: Operations, spoken: Sequence[Spoken], citable: Citable) -> list[Doubt]:
    """The newest older notes of which a person has one only, where a new line tells another."""
    lines = {line.number: line for line in spoken}
    told = {(fact["who"], fact["category"]): lines[fact["lines"][0]] for fact in notes.facts}
    doubts = [
        Doubt(number=number, item=item, line=told[item.new.subject, item.new.category])
        for number, item in citable.items.items()
        if item.new.category in ONE_AT_A_TIME and (item.new.subject, item.new.category) in told and not item.new.pinned
    ]
    return [doubt for doubt in doubts if not doubt.item.stale][-MOST_DOUBTS:]


def retire_changed(notes: Operations, citable: Citable) -> None:
    """Let go of notes whose message was changed and is noted anew."""
    noted = {citable.lines[number].message_id: number for one in notes.all() for number in one["lines"]}
    for number, item in citable.items.items():
        again = [noted[source] for source in item.new.sources if source in noted]
        if item.stale and again and not item.new.pinned and item.new.kind is not ItemKind.CONSENSUS:
            notes.retire.append({"item": number, "lines": again})

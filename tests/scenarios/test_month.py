"""After a month of talk every planted fact is known, of the right person, and nothing else is, on every platform."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.memory.items import Item, ItemKind
from bot.personas.library import PersonaLibrary
from bot.prompt.tokens import TokenCounter
from tests.folding import everything
from tests.scenarios.month import (
    PERSONAS,
    Command,
    Delete,
    Edit,
    Fail,
    Plant,
    Restart,
    last_question,
    write_month,
)
from tests.scenarios.month_player import ANSWER, Clock, Player
from tests.scenarios.month_stages import discord_stage, fake_stage, telegram_stage

SEEDS = range(3)
WIRE_SEED = 1
SWITCHES = ("separate", "shared", "carry")
OpenStage = Callable[..., AbstractAsyncContextManager[Any]]
KIND_OF = {
    "place": ItemKind.FACT,
    "pet": ItemKind.FACT,
    "event": ItemKind.EVENT,
    "todo": ItemKind.FOLLOW_UP,
    "meet": ItemKind.CONSENSUS,
}


@pytest.fixture(scope="module")
def library() -> PersonaLibrary:
    return PersonaLibrary()


@pytest.mark.parametrize(
    ("seed", "switch", "open_stage"),
    [
        *[
            pytest.param(seed, switch, fake_stage, id=f"fake-seed{seed}-{switch}")
            for seed in SEEDS
            for switch in SWITCHES
        ],
        pytest.param(WIRE_SEED, "separate", discord_stage, id="discord"),
        pytest.param(WIRE_SEED, "separate", telegram_stage, id="telegram"),
    ],
)
async def test_M08_M09_M19_a_month_later_everything_told_is_known_of_the_right_person_and_nothing_else(
    seed: int,
    switch: str,
    open_stage: OpenStage,
    migrated_database: Path,
    tmp_path: Path,
    library: PersonaLibrary,
    counter: TokenCounter,
) -> None:
    database, clock = tmp_path / "month.db", Clock()
    shutil.copy(migrated_database, database)
    async with open_stage(clock.read) as stage:
        month = Player(write_month(seed), stage, clock, database, library, counter, switch)
        async with lived(month):
            every_message_is_in_the_store(month)
            every_question_was_answered_once(month)
            what_was_deleted_was_in_no_later_prompt(month)
            for persona in PERSONAS if switch != "shared" else PERSONAS[-1:]:
                nothing_is_forgotten(month, persona)
                nothing_is_told_that_was_taken_back(month, persona)
                await all_is_noted_once_and_nothing_is_invented(month, persona)
                await everything_can_be_read_again(month, persona)
            the_month_was_eventful(month)


@asynccontextmanager
async def lived(month: Player) -> AsyncIterator[None]:
    await month.open()
    try:
        await month.play()
        yield
    finally:
        await month.close()


def holds(text: str, value: str) -> bool:
    return re.search(rf"(?<![0-9A-Za-z]){value}(?![0-9A-Za-z])", text) is not None


def every_message_is_in_the_store(month: Player) -> None:
    rows = month.rows("SELECT * FROM message WHERE kind = 'said' AND platform_message_id IS NOT NULL")
    stored = Counter(row["platform_message_id"] for row in rows)
    by_id = {row["platform_message_id"]: row for row in rows}
    for said in month.said.values():
        if said.is_kept:
            row = by_id[said.message_id]
            assert stored[said.message_id] == 1
            assert row["author_key"] == month.stage.key(said.move.who)
            assert (row["answered_by"] is not None) == said.move.asks
            assert said.is_taken_back or (row["text"], row["standing"], row["deleted_at"]) == (said.text, "live", None)


def every_question_was_answered_once(month: Player) -> None:
    asked = sum(said.move.asks for said in month.said.values())
    slips = [move for move in month.script.moves if isinstance(move, Delete) and move.is_fresh]
    assert month.stage.texts().count(ANSWER) == asked - (0 if month.stage.has_deletes else len(slips))


def what_was_deleted_was_in_no_later_prompt(month: Player) -> None:
    for value, answers, summaries in month.deleted:
        for request in (*month.model.requests[answers:], *month.model.summaries[summaries:]):
            assert not holds(everything(request), value), value


def nothing_is_forgotten(month: Player, persona: str) -> None:
    prompt = everything(month.asked[last_question(persona)])
    told = month.told_to(month.conversation_of(persona))
    for plant in told:
        assert has_moved(plant, month, told) or holds(prompt, plant.value), f"{persona} forgot {plant}"


def has_moved(plant: Plant, month: Player, told: list[Plant]) -> bool:
    """Whether a place may be out of date: its author moved later, where personas tell each other in whatever talk."""
    known = [*month.script.plants] if month.switch == "carry" else told
    later = known[known.index(plant) + 1 :]
    return plant.kind == "place" and any(one.kind == "place" and one.who == plant.who for one in later)


def nothing_is_told_that_was_taken_back(month: Player, persona: str) -> None:
    prompt = everything(month.asked[last_question(persona)])
    for plant in month.script.plants:
        for value in plant.gone:
            assert not holds(prompt, value), f"{persona} still tells {value} of {plant}"


async def all_is_noted_once_and_nothing_is_invented(month: Player, persona: str) -> None:
    conversation = month.conversation_of(persona)
    plants = {plant.value: plant for plant in month.script.plants if not plant.is_deleted}
    noted: Counter[str] = Counter()
    for item in (await month.memory(conversation)).items:
        values = re.findall(r"\w+=(\w+)", item.new.text)
        assert values, item
        for value in values:
            is_of_the_right_person(item, plants[value], month)
        noted.update(values)
    told = month.told_to(conversation)
    twice = [value for value, times in noted.items() if times > 1]
    missing = [plant for plant in told if not noted[plant.value] and not has_moved(plant, month, told)]
    assert (twice, missing) == ([], [])


def is_of_the_right_person(item: Item, plant: Plant, month: Player) -> None:
    key = month.stage.key(plant.who)
    assert item.new.kind is KIND_OF[plant.kind]
    assert item.new.text == f"{plant.who} {plant.kind}={plant.value}"
    match item.new.kind:
        case ItemKind.FACT:
            assert item.new.subject == key
        case ItemKind.FOLLOW_UP:
            assert (item.new.subject, item.is_open) == (key, True)
        case ItemKind.CONSENSUS:
            assert item.new.people == (key,)
        case ItemKind.EVENT:
            assert item.new.day == month.said[plant.name].day


async def everything_can_be_read_again(month: Player, persona: str) -> None:
    conversation = month.conversation_of(persona)
    read = Counter((row.author_name, row.text) for row in await month.history(conversation))
    heard = [said for said in month.heard_by(conversation) if said.is_kept and not said.is_taken_back]
    said = Counter((said.move.who, said.text) for said in heard)
    assert said <= read, said - read


def the_month_was_eventful(month: Player) -> None:
    outcomes = [row["outcome"] for row in month.rows("SELECT outcome FROM compaction WHERE messages > 0")]
    assert outcomes.count("done") > 5
    assert len(month.script.plants) > 40
    assert month.failed
    counts = month.script.count()
    assert all(counts[kind] for kind in (Edit, Delete, Restart, Fail, Command))

"""After a month of talk every planted fact is known, of the right person, and nothing else is."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.memory.items import ItemKind
from bot.personas.library import PersonaLibrary
from bot.prompt.tokens import TokenCounter
from tests.folding import everything
from tests.scenarios.month import PERSONAS, Month, Plant

SEEDS = range(4)
SWITCHES = ("separate", "shared", "carry")


@pytest.fixture(scope="module")
def library() -> PersonaLibrary:
    return PersonaLibrary()


@asynccontextmanager
async def lived(month: Month) -> AsyncIterator[None]:
    try:
        await month.play()
        yield
    finally:
        await month.close()


def holds(text: str, value: str) -> bool:
    return re.search(rf"(?<![0-9A-Za-z]){value}(?![0-9A-Za-z])", text) is not None


@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"seed{seed}-")
async def test_M08_M09_M19_a_month_later_everything_told_is_known_of_the_right_person_and_nothing_else(
    seed: int, switch: str, migrated_database: Path, tmp_path: Path, library: PersonaLibrary, counter: TokenCounter
) -> None:
    database = tmp_path / "month.db"
    shutil.copy(migrated_database, database)
    month = Month(seed, database, library, counter, switch)
    async with lived(month):
        for persona in PERSONAS if switch != "shared" else PERSONAS[-1:]:
            nothing_is_lost(month, persona)
            nothing_is_told_that_was_taken_back(month, persona)
            await nothing_is_invented(month, persona)
        a_month_was_eventful(month)


def nothing_is_lost(month: Month, persona: str) -> None:
    prompt = everything(month.last[persona])
    heard = [*month.heard_by(month.conversation_of(persona))]
    for plant in heard:
        if not plant.is_deleted and not has_moved(plant, month, heard):
            assert holds(prompt, plant.value), f"{persona} forgot {plant}"


def has_moved(plant: Plant, month: Month, heard: list[Plant]) -> bool:
    """Whether a place may be out of date: its author moved later, where personas tell each other in whatever talk."""
    known = month.plants if month.switch == "carry" else heard
    later = known[known.index(plant) + 1 :]
    return plant.kind == "place" and any(one.kind == "place" and one.author == plant.author for one in later)


def nothing_is_told_that_was_taken_back(month: Month, persona: str) -> None:
    prompt = everything(month.last[persona])
    for plant in month.plants:
        for value in plant.gone:
            assert not holds(prompt, value), f"{persona} still tells {value} of {plant}"


async def nothing_is_invented(month: Month, persona: str) -> None:
    for item in (await month.memory(month.conversation_of(persona))).items:
        plant = month.plant_of(item)
        assert plant is not None, item
        assert f"{plant.kind}=" in item.new.text
        assert item.new.text.startswith(plant.author.name)
        if item.new.kind in (ItemKind.FACT, ItemKind.FOLLOW_UP):
            assert item.new.subject == plant.author.key
        if item.new.kind is ItemKind.CONSENSUS:
            assert item.new.people == (plant.author.key,)


def a_month_was_eventful(month: Month) -> None:
    outcomes = [row["outcome"] for row in month.rows("SELECT outcome FROM compaction WHERE messages > 0")]
    assert outcomes.count("done") > 5
    assert len(month.plants) > 40
    assert month.counts["failures"]

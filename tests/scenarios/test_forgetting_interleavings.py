"""Random interleavings in which somebody is forgotten: whatever is under way, nothing of them is left at the end."""

from __future__ import annotations

import asyncio
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.personas.library import PersonaLibrary
from bot.prompt.tokens import TokenCounter
from tests.scenarios.players import pause
from tests.scenarios.seeded_loop import SeededLoop
from tests.scenarios.story import PEOPLE, SESSIONS, Story

SEEDS = range(10)
CEM = PEOPLE[2]


@dataclass
class ForgettingStory(Story):
    """A story in which Cem is forgotten while others are answered; what comes of him afterwards is late."""

    clean_from: int = 0
    """How many requests were sent before all had ended that had read what he said."""

    async def play(self) -> None:
        await self.open()
        for _ in range(12):
            await self._step()
            await pause(self.rng, self.rng.choice([1, 6, 60]))
        self._say(SESSIONS[0], CEM, addressed=True)
        while any(self.undelivered.values()):  # from then on what he said is late; answers are under way
            await asyncio.gather(*self.lanes.values())
        self._note("Cem is forgotten")
        await self.app.desk.eraser.erase(CEM.key)
        await self.app.desk.eraser.idle()
        self.clean_from = len(self.model.requests)
        for _ in range(8):
            await self._step()
            await pause(self.rng, self.rng.choice([1, 6, 60]))
        await self.settle()

    def texts_of_cem(self) -> set[str]:
        """All that he has said, in all its versions."""
        his = [said for said in self.said if said.author == CEM]
        return {f"q{said.number}e{version}" for said in his for version in range(said.version + 1)}


@pytest.fixture(scope="module")
def library() -> PersonaLibrary:
    return PersonaLibrary()


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"seed{seed}-")
def test_nothing_of_somebody_who_was_forgotten_is_left_or_told_to_a_model(
    seed: int, migrated_database: Path, tmp_path: Path, library: PersonaLibrary, counter: TokenCounter
) -> None:
    database = tmp_path / "story.db"
    shutil.copy(migrated_database, database)
    story = ForgettingStory(seed, database, library, counter)
    with capture_logs() as logs, asyncio.Runner(loop_factory=lambda: SeededLoop(seed)) as runner:
        runner.run(tell(story))
    assert not [entry for entry in logs if entry["log_level"] == "error"]


async def tell(story: ForgettingStory) -> None:
    try:
        async with asyncio.timeout(30):
            await story.play()
        tables = [row["name"] for row in story.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
        kept = " ".join(str(tuple(row)) for table in tables for row in story.rows(f'SELECT * FROM "{table}"'))
        assert not story.texts_of_cem() & set(re.findall(r"q\d+e\d+", kept))
        assert CEM.key not in kept
        told = str(story.model.requests[story.clean_from :])
        assert not story.texts_of_cem() & set(re.findall(r"q\d+e\d+", told))
    except BaseException:
        print("\n".join(story.log))
        raise
    finally:
        await story.close()

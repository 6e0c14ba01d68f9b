"""Random interleavings of a cast of three: whatever people say, take back and stop, and however the process ends, each
persona that is called answers once. A failure names its seed; run it alone with

pytest tests/scenarios/test_cast_interleavings.py -k "seed17-"
"""

from __future__ import annotations

import asyncio
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.chat import Author, ChannelRef
from bot.personas.library import PersonaLibrary
from bot.prompt.tokens import TokenCounter
from bot.testing import make_inbound
from tests.scenarios.seeded_loop import SeededLoop
from tests.scenarios.story import Said, Story

SEEDS = range(60)
CALLS = ("Thrupp", "Bryony", "Thrupp Bryony", "Bryony Thrupp Familiar", "")


@pytest.fixture(scope="module")
def library() -> PersonaLibrary:
    return PersonaLibrary()


@dataclass(slots=True)
class Called(Said):
    """A message that names some of the cast."""

    calls: str = ""

    @property
    def text(self) -> str:
        return f"q{self.number}e{self.version} {self.calls}".strip()


class CastStory(Story):
    """Beside the persona in charge, which changes, two others speak everywhere."""

    def __post_init__(self) -> None:
        super().__post_init__()
        shared = self.rng.choice(["separate", "separate", "shared", "carry"])
        self.settings = self.settings.model_copy(
            update={"cast": ("thrupp", "bryony"), "cast_cascade": 1, "persona_switch": shared}
        )

    def _say(self, channel: ChannelRef, author: Author, *, addressed: bool) -> Said:
        calls = self.rng.choice(CALLS) if addressed else ""
        inbound = make_inbound(
            f"q{len(self.said)}e0 {calls}".strip(),
            channel=channel,
            author=author,
            mentions_me=addressed and not channel.is_dm,
        )
        said = Called(len(self.said), channel.session_key, author, inbound, addressed, calls=calls)
        self.said.append(said)
        self._deliver(said.session, inbound)
        return said


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"seed{seed}-")
def test_S13_S16_nobody_of_a_cast_loses_a_message_or_answers_one_twice(
    seed: int, migrated_database: Path, tmp_path: Path, library: PersonaLibrary, counter: TokenCounter
) -> None:
    database = tmp_path / "story.db"
    shutil.copy(migrated_database, database)
    story = CastStory(seed, database, library, counter)
    with capture_logs() as logs, asyncio.Runner(loop_factory=lambda: SeededLoop(seed)) as runner:
        runner.run(tell(story))
    assert not [entry for entry in logs if entry["log_level"] == "error"]


async def tell(story: CastStory) -> None:
    try:
        async with asyncio.timeout(30):
            await story.play()
        each_who_is_called_has_answered(story)
        each_answer_answers_somebody(story)
        nothing_is_shown_twice(story)
    except BaseException:
        print("\n".join(story.log))
        raise
    finally:
        await story.close()


def each_who_is_called_has_answered(story: CastStory) -> None:
    waiting = story.rows(
        "SELECT m.text, c.persona_id FROM message m"
        " LEFT JOIN calling c ON c.message_id = m.id AND c.answered_by IS NULL"
        " WHERE m.addressed AND m.standing = 'live' AND m.deleted_at IS NULL"
        " AND (m.answered_by IS NULL OR c.persona_id IS NOT NULL)"
    )
    assert [tuple(row) for row in waiting] == []
    by_others = story.rows(
        "SELECT m.text, c.persona_id, r.persona_id FROM calling c JOIN message m ON m.id = c.message_id"
        " JOIN message r ON r.id = c.answered_by WHERE r.persona_id != c.persona_id"
    )
    assert [tuple(row) for row in by_others] == []
    authors = story.rows(
        "SELECT c.answered_by FROM calling c JOIN message m ON m.id = c.message_id"
        " WHERE c.answered_by IS NOT NULL GROUP BY c.answered_by HAVING count(DISTINCT m.author_key) > 1"
    )
    assert [tuple(row) for row in authors] == [], "two people have one answer"


def each_answer_answers_somebody(story: CastStory) -> None:
    """Two answers of one persona to one message would leave one that answers nobody."""
    orphans = story.rows(
        "SELECT m.text FROM message m WHERE m.kind = 'reply' AND m.standing = 'live' AND m.text GLOB 'a[0-9]*'"
        " AND NOT EXISTS (SELECT 1 FROM calling c WHERE c.answered_by = m.id)"
    )
    continued = sum(count for (_, command), count in story.commands.items() if command == "/continue")
    assert len(orphans) <= continued, [row["text"] for row in orphans]


def nothing_is_shown_twice(story: CastStory) -> None:
    places: dict[str, set[int]] = {}
    for number, reply in enumerate(story.adapter.replies):
        for text in reply.seen:
            for token in re.findall(r"\ba\d+", text):
                places.setdefault(token, set()).add(number)
    assert {token: found for token, found in places.items() if len(found) > 1} == {}

"""Random interleavings with people who want privacy: whatever happens, nothing of what they said is left at the end."""

from __future__ import annotations

import asyncio
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.chat import Author, ChannelRef, Inbound, Quote
from bot.llm.model import ModelRequest, Role
from bot.personas.library import PersonaLibrary
from bot.prompt.tokens import TokenCounter
from bot.testing import make_inbound
from tests.scenarios.seeded_loop import SeededLoop
from tests.scenarios.story import PEOPLE, SESSIONS, Said, Story

SEEDS = range(30)
_, BOB, CEM = PEOPLE


@dataclass
class PrivateStory(Story):
    """A story in which Cem wants privacy and Bob changes his mind about it, while everybody quotes everybody."""

    wanting: set[str] = field(default_factory=set)
    private: set[str] = field(default_factory=set)
    """Texts that were said, or edited to, in privacy."""

    async def play(self) -> None:
        await self.open()
        await self._change_mind(CEM)
        for _ in range(20):
            await self._step()
            if self.rng.random() < 0.15:
                await self._change_mind(BOB)
        await self.settle()

    async def _change_mind(self, author: Author) -> None:
        """Between deliveries, so that it is known what was heard in privacy; answers may be under way."""
        while any(self.undelivered.values()):
            await asyncio.gather(*self.lanes.values())
        line = "/privacy off" if author.key in self.wanting else "/privacy on"
        self._note(f"{author.name} {line}")
        await self.app.pipeline.deliver(make_inbound(line, channel=SESSIONS[-1], author=author))
        self.wanting ^= {author.key}

    def _say(self, channel: ChannelRef, author: Author, *, addressed: bool) -> Said:
        inbound = make_inbound(
            f"q{len(self.said)}e0",
            channel=channel,
            author=author,
            mentions_me=addressed and not channel.is_dm,
            reply_to=self._quote(channel.session_key),
        )
        said = Said(len(self.said), channel.session_key, author, inbound, addressed)
        self.said.append(said)
        self._note_privacy(said)
        self._deliver(said.session, inbound)
        return said

    def _quote(self, session: str) -> Quote | None:
        before = [said for said in self.said if said.session == session]
        if not before or self.rng.random() < 0.7:
            return None
        said = self.rng.choice(before)
        return Quote(
            message_id=said.inbound.message_id,
            author_name=said.author.name,
            text=said.text,
            author_key=said.author.key,
        )

    def _deliver(self, session: str, inbound: Inbound) -> None:
        for text, key in ((inbound.text, inbound.author.key), *_quoted(inbound)):
            said = next((said for said in self.said if said.text == text), None)
            if key not in self.wanting and said is not None and not said.addressed:
                # What was not recorded is unknown: once privacy has ended, repeating or quoting it says it anew.
                self.private.discard(text)
        super()._deliver(session, inbound)

    async def _edit(self, said: Said) -> None:
        said.version += 1
        self._note_privacy(said)
        said.version -= 1
        await super()._edit(said)

    def _note_privacy(self, said: Said) -> None:
        if said.author.key in self.wanting:
            self.private.add(said.text)


def _quoted(inbound: Inbound) -> list[tuple[str, str | None]]:
    return [(inbound.reply_to.text, inbound.reply_to.author_key)] if inbound.reply_to else []


@pytest.fixture(scope="module")
def library() -> PersonaLibrary:
    return PersonaLibrary()


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"seed{seed}-")
def test_what_is_said_in_privacy_is_read_for_its_answer_alone_and_nowhere_at_the_end(
    seed: int, migrated_database: Path, tmp_path: Path, library: PersonaLibrary, counter: TokenCounter
) -> None:
    database = tmp_path / "story.db"
    shutil.copy(migrated_database, database)
    story = PrivateStory(seed, database, library, counter)
    with capture_logs() as logs, asyncio.Runner(loop_factory=lambda: SeededLoop(seed)) as runner:
        runner.run(tell(story))
    assert not [entry for entry in logs if entry["log_level"] == "error"]
    assert not story.private & set(re.findall(r"q\d+e\d+", str(logs)))


async def tell(story: PrivateStory) -> None:
    try:
        async with asyncio.timeout(30):
            await story.play()
        everything = " ".join(
            str(tuple(row)) for table in tables(story) for row in story.rows(f'SELECT * FROM "{table}"')
        )
        assert not story.private & set(re.findall(r"q\d+e\d+", everything))
        assert not story.rows("SELECT id FROM message WHERE addressed AND answered_by IS NULL AND deleted_at IS NULL")
        for request in story.model.requests:
            check_prompt(request, story)
    except BaseException:
        print("\n".join(story.log))
        raise
    finally:
        await story.close()


def tables(story: PrivateStory) -> list[str]:
    return [row["name"] for row in story.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]


def check_prompt(request: ModelRequest, story: PrivateStory) -> None:
    """What somebody said in privacy is told to the model only where they are the one who is answered."""
    told = "\n".join(message.text for message in request.messages if message.role is not Role.SYSTEM)
    numbers = [int(number) for number in re.findall(r"\bq(\d+)e", told)]
    for text in story.private & set(re.findall(r"\bq\d+e\d+", told)):
        said = story.said[int(text[1:].partition("e")[0])]
        assert said.addressed, f"{text} was said to others"
        assert said.author == story.said[numbers[-1]].author, f"{text} is told to somebody else"

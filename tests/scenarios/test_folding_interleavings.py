"""However talk, edits, deletes, late answers, undos and compactions interleave, each message is either verbatim or in
memory, and what was taken back is in neither.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bot.chat import InboundKind
from bot.llm.model import Completion, Finish, ModelEvent, ModelRequest
from bot.store import messages
from bot.store.compactions import undo_compaction
from bot.store.database import Database
from bot.testing import NOW, make_inbound
from tests.folding import Fold, transcript
from tests.scenarios.seeded_loop import SeededLoop
from tests.stories import Story

SEEDS = range(60)
STEPS = 30
_LINE = re.compile(r"^(\d+) · .+? \((\S+?)\): (\w+)$", re.M)


class Copyist:
    """Notes every line of a transcript by itself, after a while."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        for _ in range(self.rng.choice([0, 5, 40])):
            await asyncio.sleep(0)
        notes, _, said = transcript(request).partition("<transcript>")
        facts, events = [], []
        for number, key, text in _LINE.findall(said):
            common = {"text": f"{text} of them", "lines": [int(number)]}
            if key == "persona":
                events.append({"day": None, **common})
            else:
                facts.append({"who": key, "category": "other", **common})
        stale = [int(number) for number in re.findall(r"^(\d+)\. .*check it\]", notes, re.M)]
        retire = [{"item": number, "lines": [1]} for number in stale]
        reply = {"facts": facts, "events": events, "retire": retire, "gist": "They talk."}
        yield Completion(text=json.dumps(reply), finish=Finish.STOP)

    async def close(self) -> None:
        """Nothing to release."""


class Talk:
    """Everything that happens at once, and what holds in the end."""

    def __init__(self, seed: int, db: Database) -> None:
        self.rng = random.Random(seed)
        given = {"context_tokens": 100_000, "summary": {"keep_recent": 2, "keep_tokens": 0, "token_ratio": 0.9}}
        self.fold = Fold(db, given=given)
        self.fold.model = Copyist(random.Random(seed + 1))  # type: ignore[assignment]  # it needs no script
        self.texts: dict[int, str] = {}
        """What each message and answer that counts says now."""
        self.gone: list[str] = []
        self.count = 0

    async def play(self) -> None:
        await self.fold.tell(lambda _story: None)
        running: list[asyncio.Task[object]] = []
        for _ in range(STEPS):
            deed = self.rng.choices(
                [self.ask, self.go_on, self.edit, self.delete, self.compact, self.undo], [40, 8, 8, 6, 16, 4]
            )[0]
            running.append(asyncio.ensure_future(deed()))
            for _ in range(self.rng.choice([0, 3, 30])):
                await asyncio.sleep(0)
        await asyncio.gather(*running)
        await self.ask()
        await self.ask()
        await self.compact()

    async def ask(self) -> None:
        text = self._next("q")
        asked = await self.fold.tell(lambda story: story.say(text, addressed=True, tokens=40))
        self.texts[asked] = text
        for _ in range(self.rng.choice([0, 10])):
            await asyncio.sleep(0)
        await self._answer(asked)

    async def go_on(self) -> None:
        if self.texts:
            await self._answer(self.rng.choice([*self.texts]), continues=True)

    async def _answer(self, asked: int, *, continues: bool = False) -> None:
        text = self._next("r")
        burst = () if continues else (asked,)
        answer = await self.fold.tell(lambda story: story.answer(text, *burst, position=asked))
        self.texts[answer] = text

    async def edit(self) -> None:
        if asked := self._some_question():
            old, new = self.texts[asked], self._next("q")
            self.texts[asked] = new
            await self.fold.tell(lambda story: self._change(story, asked, InboundKind.EDIT, new))
            self.gone.append(old)

    async def delete(self) -> None:
        if asked := self._some_question():
            self.gone.append(self.texts.pop(asked))
            await self.fold.tell(lambda story: self._change(story, asked, InboundKind.DELETE, ""))

    def _change(self, story: Story, asked: int, kind: InboundKind, text: str) -> None:
        known = messages.Known(id=asked, addressed=True, files="", is_private=False, is_waiting=False)
        inbound = make_inbound(text, channel=story.channel, kind=kind)
        if kind is InboundKind.EDIT:
            messages.edit(story.tx, story.session, inbound, known, text=text, tokens=40, is_private=False)
        else:
            messages.delete(story.tx, story.session, inbound, known)

    async def compact(self) -> None:
        await self.fold.fold()

    async def undo(self) -> None:
        await self.fold.tell(lambda story: undo_compaction(story.tx, story.conversation, NOW))

    def _some_question(self) -> int | None:
        asked = [number for number, text in self.texts.items() if text.startswith("q")]
        return self.rng.choice(asked) if asked else None

    def _next(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    async def check(self) -> None:
        verbatim = await self.fold.verbatim()
        noted = [text for item in (await self.fold.memory()).items for text in re.findall(r"[qr]\d+", item.new.text)]
        found = Counter([*verbatim, *noted])
        for text in self.texts.values():
            assert found[text] == 1, f"{text}: {found[text]} times"
        assert not set(self.gone) & set(found)


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"seed{seed}-")
def test_M04_M05_every_message_is_verbatim_or_in_memory_and_never_both(
    seed: int, migrated_database: Path, tmp_path: Path
) -> None:
    path = tmp_path / "talk.db"
    shutil.copy(migrated_database, path)

    async def tell() -> None:
        db = Database(f"sqlite:///{path}")
        try:
            talk = Talk(seed, db)
            await talk.play()
            await talk.check()
        finally:
            await db.close()

    with asyncio.Runner(loop_factory=lambda: SeededLoop(seed)) as runner:
        runner.run(tell())

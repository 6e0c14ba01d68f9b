"""A conversation that is folded into memory under a clock that tests move, and a summariser without faults."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from sqlalchemy import select

from bot.accounting import Estimator
from bot.llm.directory import ModelDirectory
from bot.llm.model import ModelRequest, Role
from bot.memory.compaction import Compactor, Result
from bot.memory.consolidation import Consolidator
from bot.memory.items import Add, Category, ItemKind, Memory, NewItem
from bot.memory.snapshot import EVERYTHING
from bot.memory.summariser import Subject, Summariser
from bot.settings import Settings
from bot.store.compactions import CompactionRow, Reason, newest_compactions
from bot.store.conversations import conversation_by_id
from bot.store.database import Database
from bot.store.memories import insert_item, read_ground, read_memory
from bot.store.memory_tables import compactions
from bot.testing import NOW, ScriptedModel
from tests.prompts import words
from tests.stories import Story
from tests.talking import Chat

T = TypeVar("T")
GIST = json.dumps({"gist": "They talked about numbers."})
SMALL: dict[str, Any] = {
    "context_tokens": 4_000,
    "max_output_tokens": 200,
    "summary": {"keep_recent": 4, "keep_tokens": 100},
}
"""Settings with which a conversation is soon to be folded."""


ALICE = "fake:alice"


@dataclass
class Fold:
    """One session's conversation, and a compactor that reads it. Without a script every summary is one gist."""

    db: Database
    summaries: Any = ('{"gist": "They talked."}',)
    given: dict[str, Any] = field(default_factory=dict)
    now: datetime = NOW

    def __post_init__(self) -> None:
        self.model = ScriptedModel(summaries=self.summaries)
        test = {"base_url": "http://127.0.0.1:9/v1"}
        self.settings = Settings(providers={"test": test}, model="test/scripted", **{**SMALL, **self.given})

    @property
    def compactor(self) -> Compactor:
        async def nothing(_provider: str) -> list[str]:
            return []

        shared: dict[str, Any] = {"db": self.db, "settings": self.settings, "now": lambda: self.now}
        summariser = Summariser(
            **shared,
            model=self.model,
            directory=ModelDirectory(["test"], "test/scripted", nothing),
            window_of=lambda _model: self.settings.context_tokens,
            factor=lambda _model: 1.0,
            estimate=Estimator(lambda _model: None, words),
        )
        shared |= {"summariser": summariser, "count": words}
        return Compactor(**shared, consolidator=Consolidator(**shared))

    async def tell(self, how: Callable[[Story], T]) -> T:
        """Let something happen in the session."""
        return await self.db.run(lambda tx: how(Story(tx)))

    async def talk(self, *texts: str, tokens: int = 40) -> list[int]:
        """Let Alice ask and be answered; returns the positions."""

        def ask(story: Story) -> list[int]:
            asked = [(text, story.say(text, addressed=True, tokens=tokens)) for text in texts]
            for text, position in asked:
                story.answer(f"re: {text}", position)
            return [position for _, position in asked]

        return await self.tell(ask)

    async def subject(self) -> Subject:
        found = await self.tell(lambda story: (story.session, story.conversation))
        values = self.settings
        return Subject(
            session=found[0],
            conversation_id=found[1],
            persona_name="Mira",
            settings=values,
            model="test/session",
            window=values.context_tokens,
        )

    async def fold(self, reason: Reason = Reason.MANUAL, *, focus: str = "", up_to: int = EVERYTHING) -> Result:
        return await self.compactor.compact(await self.subject(), reason, up_to=up_to, focus=focus)

    async def consolidate(self) -> None:
        await self.compactor.consolidate(await self.subject(), Reason.SOFT)

    async def verbatim(self) -> list[str]:
        """What stands after the watermark."""
        return await self.tell(lambda story: story.read())

    async def memory(self) -> Memory:
        return await self.tell(lambda story: read_memory(story.tx, story.conversation))

    async def watermark(self) -> int:
        return await self.tell(lambda story: conversation_by_id(story.tx, story.conversation).watermark)

    async def attempts(self) -> list[CompactionRow]:
        """Every compaction, the newest first."""
        return await self.tell(lambda story: newest_compactions(story.tx, story.conversation, 1_000))

    def later(self, **by: float) -> None:
        self.now += timedelta(**by)


def pasts(count: int, start: int = 0) -> list[str]:
    """Messages to be folded."""
    return [f"number {number} said" for number in range(start, start + count)]


def number_of(request: ModelRequest, said: str) -> int:
    """The number of the transcript line that holds these words."""
    found = re.search(rf"^(\d+) · .*{re.escape(said)}", transcript(request), re.M)
    assert found, transcript(request)
    return int(found[1])


def transcript(request: ModelRequest) -> str:
    """What the summariser is asked about."""
    return request.messages[1].text


def fact(who: str, text: str, *lines: int, item: int | None = None, category: str = "other") -> dict[str, Any]:
    return {"who": who, "category": category, "text": text, "lines": [*lines], "item": item}


# --- In a chat


async def talk(chat: Chat, count: int, **how: Any) -> None:
    """Say so many long messages."""
    for number in range(count):
        await chat.say(f"number {number} " + "word " * 60, **how)


async def rows_of(chat: Chat, table: Any = compactions) -> list[Any]:
    """Every row of a table, by default of the compactions."""
    return await chat.app.core.db.read(lambda tx: [*tx.execute(select(table).order_by(table.c.id))])


def system_text(request: ModelRequest) -> str:
    """The system messages of a request."""
    return "\n".join(message.text for message in request.messages if message.role is Role.SYSTEM)


def everything(request: ModelRequest) -> str:
    """All messages of a request."""
    return "\n".join(message.text for message in request.messages)


def remembers_bob(request: ModelRequest) -> str:
    """A summary that notes what "I am Bob" says."""
    line = number_of(request, "I am Bob") if "I am Bob" in transcript(request) else None
    facts = [fact("fake:alice", "Her name is Bob", line, category="name")] if line else []
    return json.dumps({"facts": facts, "gist": "They got to know each other."})


# --- A summariser that reads the transcript as well as one can

_LINE = re.compile(r"^(\d+) · (\d{4}-\d\d-\d\d) \d\d:\d\d · (.+?) \((\S+)\): (.*)$", re.M)
_NOTE = re.compile(r"^(\d+)\. \[(.*?)\] (.*)$", re.M)
_PLANTS = {
    "place": re.compile(r"(?:I live in|我住在) ?(\w+)"),
    "pet": re.compile(r"(?:my pet is called|我的宠物叫) ?(\w+)"),
    "event": re.compile(r"(?:we went to the|我们去了) ?(\w+)"),
    "todo": re.compile(r"(?:I will bring the|我会带) ?(\w+)"),
    "meet": re.compile(r"(?:let us meet at the|我们约在) ?(\w+)"),
}
SAID = {
    "en": {
        "place": "by the way, I live in {}",
        "pet": "my pet is called {}",
        "event": "today we went to the {}",
        "todo": "I will bring the {}",
        "meet": "fine, let us meet at the {}",
    },
    "zh": {
        "place": "顺便说一下，我住在{}",
        "pet": "我的宠物叫{}",
        "event": "今天我们去了{}",
        "todo": "我会带{}",
        "meet": "好的，我们约在{}",
    },
}
"""How people say what `ideal` understands."""


def ideal(request: ModelRequest) -> str:
    """What a summariser without faults returns: what `SAID` says, by whom; notes whose source says so no longer go."""
    text = transcript(request)
    if "outgrown" in request.messages[0].text:
        return _merge_all(text)
    notes, _, said = text.partition("<transcript>")
    places: dict[str, int] = {}
    retire = []
    for number, what, note in _NOTE.findall(notes):
        if what.startswith("fact, place"):
            places[what.partition("(")[2].partition(")")[0]] = int(number)
        values = re.findall(r"\w+=(\w+)", note)
        if "check it" in what and any(value not in said for value in values):
            retire.append({"item": int(number), "lines": [1]})
    reply: dict[str, list[Any]] = {"facts": [], "events": [], "agreed": [], "open": [], "retire": retire}
    for number, day, name, key, line in _LINE.findall(said):
        for kind, pattern in _PLANTS.items():
            if (found := pattern.search(line)) and key != "persona":
                _note_down(reply, kind, found[1], (int(number), day, name, key), places.get(key))
    return json.dumps({**reply, "gist": "They talk."}, ensure_ascii=False)


def _note_down(
    reply: dict[str, list[Any]], kind: str, value: str, where: tuple[int, str, str, str], place: int | None
) -> None:
    line, day, name, key = where
    text, lines = f"{name} {kind}={value}", [line]
    match kind:
        case "place":
            reply["facts"] = [one for one in reply["facts"] if (one["who"], one["category"]) != (key, "place")]
            reply["facts"].append(fact(key, text, line, item=place, category="place"))
        case "pet":
            reply["facts"].append(fact(key, text, line))
        case "event":
            reply["events"].append({"day": day, "text": text, "lines": lines})
        case "todo":
            reply["open"].append({"who": key, "due": None, "state": "open", "text": text, "lines": lines})
        case "meet":
            reply["agreed"].append({"who": [key], "text": text, "lines": lines})


def _merge_all(text: str) -> str:
    """All notes of one heading become one, with every value in it."""
    merged = []
    for group in re.split(r"^## .*$", text, flags=re.M)[1:]:
        notes = re.findall(r"^(\d+)\. (.*)$", group, re.M)
        values = dict.fromkeys(value for _, note in notes for value in re.findall(r"\w+=\w+", note))
        merged.append({"items": [int(number) for number, _ in notes], "text": " ".join(values) or "much happened"})
    return json.dumps({"merged": merged}, ensure_ascii=False)


def add(text: str, *sources: int, **more: Any) -> Callable[[Story], int]:
    """Note something about Alice, by hand; `more` goes to the item."""

    def change(story: Story) -> int:
        ground = read_ground(story.tx, story.conversation)
        assert ground is not None
        facts: dict[str, Any] = {"kind": ItemKind.FACT, "subject": ALICE, "subject_name": "Alice", "sources": sources}
        new = NewItem(**{**facts, "category": Category.OTHER, "text": text, **more})
        return insert_item(story.tx, ground, Add(item=new), ALICE, words, NOW)

    return change

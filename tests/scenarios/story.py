"""One seeded story: people talk, command, edit, delete and repeat themselves in several sessions, the app stops and
crashes, and everything that happened is kept for the invariants.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path

from bot.app import App, build_app
from bot.chat import Author, ChannelRef, Inbound, InboundKind
from bot.personas.library import PersonaLibrary
from bot.prompt.tokens import TokenCounter
from bot.settings import Settings
from bot.store.database import Database
from bot.testing import NOW, make_author, make_channel, make_inbound
from tests.scenarios.players import PlayedAdapter, PlayedModel, pause

SESSIONS = (make_channel("a"), make_channel("a", thread="t"), make_channel("x", dm=True))
PEOPLE = (make_author("Alice"), make_author("Bob"), make_author("Cem"))
PERSONAS = ("familiar", "bryony")
STEPS = 18
COMMANDS = ("/stop", "/stop", "/reset", "/retry", "/undo", "/continue", *(f"/persona use {name}" for name in PERSONAS))


@dataclass(slots=True)
class Said:
    """A message of a person: `q<number>e<version>` is its text, the version rising with every edit."""

    number: int
    session: str
    author: Author
    inbound: Inbound
    addressed: bool
    version: int = 0
    deleted: bool = False
    conversation: int = 0
    """The conversation that was current when it was heard; 0 until it was."""
    at: int = 0
    """When its delivery began, by the story's clock of events."""

    @property
    def text(self) -> str:
        return f"q{self.number}e{self.version}"


@dataclass
class Story:
    """What happens, and what is known about it afterwards."""

    seed: int
    database: Path
    library: PersonaLibrary
    counter: TokenCounter
    said: list[Said] = field(default_factory=list)
    gone: dict[str, int] = field(default_factory=dict)
    """Texts that no prompt may hold any more, by the event that took them back."""
    commands: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each command was delivered in each session."""
    databases: list[Database] = field(default_factory=list)
    """Those of all the processes."""
    log: list[str] = field(default_factory=list)
    """The events in order, for whoever reruns a seed."""
    events: int = 0
    restarts: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.model = PlayedModel(random.Random(self.seed + 1))
        self.adapter = PlayedAdapter(random.Random(self.seed + 2))
        self.undelivered: dict[str, deque[Inbound]] = {channel.session_key: deque() for channel in SESSIONS}
        self.lanes: dict[str, asyncio.Task[None]] = {}
        self.settings = Settings(
            database_url=f"sqlite:///{self.database}",
            providers={"test": {"base_url": "http://127.0.0.1:9/v1", "context_window": 10**6}},
            model="test/played",
            persona="familiar",
            context_tokens=0,
            section_timeout_ms=0,
            burst_ms=self.rng.choice([0, 3_600_000]),
            stop_grace=0,
        )

    # --- The app and its ends

    async def open(self) -> None:
        self.app: App = build_app(
            self.settings,
            model=self.model,
            adapters={"fake": self.adapter},
            library=self.library,
            counter=self.counter,
            now=lambda: NOW,
            rng=random.Random(self.seed),
        )
        self.databases.append(self.app.core.db)
        self.adapter.spawn = self.app.core.tasks.spawn
        self.stop, self.ready = asyncio.Event(), asyncio.Event()

        async def begin() -> None:
            self.ready.set()

        self.main = asyncio.get_running_loop().create_task(self.app.run(self.stop, begin=begin))
        await self.ready.wait()
        for session in self.undelivered:
            self._keep_delivering(session)

    async def end(self, *, gently: bool) -> None:
        """Stop the process as a signal does, or let it crash: its tasks end where they are, and rows stay so."""
        self._note("stop" if gently else "crash")
        if gently:
            self.stop.set()
        else:
            self.main.cancel()
            await self._cancel_lanes()
        await asyncio.wait({self.main})
        await self._cancel_lanes()
        if gently:
            assert await self.main == 0

    async def close(self) -> None:
        """The last end: what a system takes from a crashed process is closed, too."""
        await self.end(gently=False)
        for database in self.databases:
            await database.close()

    async def _cancel_lanes(self) -> None:
        for lane in self.lanes.values():
            lane.cancel()
        await asyncio.gather(*self.lanes.values(), return_exceptions=True)
        self.lanes.clear()

    async def settle(self) -> None:
        """Wait until everything is delivered and answered."""
        while any(self.undelivered.values()):
            await asyncio.gather(*self.lanes.values())
        await self.app.dispatcher.idle()

    # --- Events

    async def play(self) -> None:
        await self.open()
        for _ in range(STEPS):
            await self._step()
            await pause(self.rng, self.rng.choice([1, 6, 60]))
        await self.settle()
        if self.rng.random() < 0.5:
            await self._restart()
            await self.settle()

    async def _step(self) -> None:
        channel, author = self.rng.choice(SESSIONS), self.rng.choice(PEOPLE)
        said = self.rng.choice(self.said) if self.said else None
        match self.rng.choices(
            ["says", "mutters", "repeats", "edits", "deletes", "commands", "restarts", "rests"],
            [46, 8, 5, 6, 4, 24, 4, 3],
        )[0]:
            case "says":
                for _ in range(self.rng.choice([1, 1, 1, 2, 3])):
                    self._say(channel, author, addressed=True)
                    await pause(self.rng, self.rng.choice([1, 30]))
            case "mutters":
                self._say(channel, author, addressed=channel.is_dm)
            case "repeats" if said:
                self._deliver(said.session, said.inbound)
            case "edits" if said and not said.deleted and said.conversation:
                await self._edit(said)
            case "deletes" if said and not said.deleted and said.conversation:
                await self._delete(said)
            case "commands":
                command = self.rng.choice(COMMANDS)
                self._deliver(channel.session_key, make_inbound(command, channel=channel, author=PEOPLE[0]))
            case "restarts":
                await self._restart()
            case "rests":
                await self.settle()

    def _say(self, channel: ChannelRef, author: Author, *, addressed: bool) -> Said:
        inbound = make_inbound(
            f"q{len(self.said)}e0", channel=channel, author=author, mentions_me=addressed and not channel.is_dm
        )
        said = Said(len(self.said), channel.session_key, author, inbound, addressed)
        self.said.append(said)
        self._deliver(said.session, inbound)
        return said

    def probe(self, session: str) -> Said:
        """Let Alice ask a last question."""
        channel = next(channel for channel in SESSIONS if channel.session_key == session)
        return self._say(channel, PEOPLE[0], addressed=True)

    async def _edit(self, said: Said) -> None:
        old = said.text
        said.version += 1
        await self._change(said, InboundKind.EDIT, old)

    async def _delete(self, said: Said) -> None:
        said.deleted = True
        await self._change(said, InboundKind.DELETE, said.text)

    async def _change(self, said: Said, kind: InboundKind, gone: str) -> None:
        """Edits and deletes are waited for, so that the story knows from when on the old text is gone."""
        inbound = make_inbound(
            said.text, channel=said.inbound.channel, author=said.author, kind=kind, message_id=said.inbound.message_id
        )
        self._deliver(said.session, inbound)
        await self.lanes[said.session]
        self.gone[gone] = self.events

    async def _restart(self) -> None:
        self.restarts += 1
        await self.end(gently=self.rng.random() < 0.5)
        await self.open()

    # --- Deliveries: one after another in a session, side by side between sessions, repeated after a crash

    def _deliver(self, session: str, inbound: Inbound) -> None:
        self._note(f"{session} {inbound.author.name} {inbound.kind} {inbound.text}")
        self.undelivered[session].append(inbound)
        self._keep_delivering(session)

    def _keep_delivering(self, session: str) -> None:
        lane = self.lanes.get(session)
        if lane is None or lane.done():
            self.lanes[session] = asyncio.get_running_loop().create_task(self._deliver_all(session))

    async def _deliver_all(self, session: str) -> None:
        waiting = self.undelivered[session]
        while waiting:
            inbound = waiting[0]
            self.events += 1
            began = self.events
            await self.app.pipeline.deliver(inbound)
            waiting.popleft()
            if inbound.text.startswith("/"):
                self._note_command(session, inbound.text)
            elif inbound.kind is InboundKind.MESSAGE:
                self._note_heard(session, self.said[int(inbound.text[1:].partition("e")[0])], began)

    def _note_command(self, session: str, command: str) -> None:
        self.commands[session, command] += 1
        self.events += 1
        for row in self.rows("SELECT text FROM message WHERE standing != 'live' AND kind IN ('said', 'reply')"):
            self.gone.setdefault(row["text"].strip().partition(" ")[0], self.events)

    def _note_heard(self, session: str, said: Said, began: int) -> None:
        if not said.conversation:
            (row,) = self.rows("SELECT conversation_id FROM chat_session WHERE key = ?", session)
            said.conversation, said.at = row["conversation_id"], began

    def _note(self, event: str) -> None:
        self.log.append(f"{self.events}: {event}")

    def rows(self, query: str, *facts: object) -> list[sqlite3.Row]:
        """What the database holds, read beside the app."""
        connection = sqlite3.connect(self.database)
        connection.row_factory = sqlite3.Row
        try:
            return connection.execute(query, facts).fetchall()
        finally:
            connection.close()

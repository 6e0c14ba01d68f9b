"""Lets the embedded model fold each chat with the whole bot around it, and counts valid and right deltas.

The persona's replies are scripted, so that every run has the same transcript; each summary call is a real one.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import structlog
from sqlalchemy import select

from bench.extraction.chats import CHATS, KEYS, PERSONA, Chat
from bench.extraction.judge import Verdict, judge, show
from bench.pipeline import write_result
from bot.app import App, build_app
from bot.chat import Author
from bot.llm.client import OpenAIModel
from bot.llm.configured import LocalModel, configured_providers, model_catalogue
from bot.llm.install import cache_directory, path_of
from bot.llm.local import REQUEST_HEADERS, REQUEST_PARAMETERS, LocalServer, available_memory
from bot.llm.model import Completion, Finish, ModelEvent, ModelRequest, TextDelta
from bot.llm.model_files import MODEL_FILES
from bot.llm.quirks import Quirks
from bot.memory.compaction import Result
from bot.memory.items import Add, Memory
from bot.memory.keeper import subject_of
from bot.memory.snapshot import EVERYTHING
from bot.personas.library import PersonaLibrary
from bot.settings import Settings
from bot.store.compactions import Outcome, Reason
from bot.store.database import Tx
from bot.store.memories import insert_item, read_ground, read_memory
from bot.store.memory_tables import compactions
from bot.store.sessions import find_session
from bot.testing import FakeAdapter, make_channel, make_inbound
from bot.turn import Asker, Turn

BETWEEN_LINES = timedelta(minutes=2)
CLOSING = "👋"
"""Said to the persona at the end of every chat, and answered so: the one line that stays verbatim."""
SEED = 7
"""So that a run can be repeated."""
CORRECTION = "That cannot be used"
"""How the request after a bad reply ends."""

ROOM = make_channel("tearoom")


@dataclass(kw_only=True)
class HalfScripted:
    """Answers as the persona from a list; what is asked with a schema goes to the real model and is kept."""

    real: OpenAIModel
    replies: Iterator[str]
    calls: list[tuple[ModelRequest, Completion]] = field(default_factory=list)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """The next reply, or what the real model says."""
        if request.json_schema is None:
            text = next(self.replies)
            yield TextDelta(text=text)
            yield Completion(text=text, finish=Finish.STOP)
            return
        async for event in self.real.stream(request):
            if isinstance(event, Completion):
                self.calls.append((request, event))
            yield event

    async def close(self) -> None:
        """Nothing of its own to release."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """How one chat went."""

    chat: Chat
    result: Result
    calls: Sequence[tuple[ModelRequest, Completion]]
    memory: Memory
    refused: Sequence[str]
    verdict: Verdict
    seconds: float

    @property
    def is_valid(self) -> bool:
        """Whether a delta was accepted."""
        return self.result.outcome is Outcome.DONE

    @property
    def corrections(self) -> int:
        """How many replies had to be corrected."""
        return sum(request.messages[-1].text.startswith(CORRECTION) for request, _ in self.calls)

    @property
    def is_right(self) -> bool:
        """Whether it holds all that it should and nothing else."""
        return self.is_valid and self.verdict.is_right


async def main() -> None:
    """Fold the chats, print what came of it, and write the result file where all of them ran."""
    options = _options()
    chosen = [CHATS[int(number) - 1] for number in options.chats.split(",")] if options.chats else CHATS
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    rows = await run(options.model, chosen, show_calls=options.calls)
    figures = _figures(options.model, rows)
    print(f"extraction: {figures}")
    if not options.chats:
        write_result("extraction" if options.model == "demo" else f"extraction-{options.model}", figures)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench extraction", description=__doc__)
    parser.add_argument("name", nargs="*", help="the benchmarks that run")
    parser.add_argument("--chats", default="", help="numbers of the chats that run, such as 1,3")
    parser.add_argument("--model", default="demo", choices=[*MODEL_FILES])
    parser.add_argument("--calls", action="store_true", help="print what the model returned")
    return parser.parse_args(sys.argv[1:])


async def run(name: str, chats: Sequence[Chat], *, show_calls: bool = False) -> list[Row]:
    """Fold each chat with a fresh bot and the same server."""
    file = MODEL_FILES[name]
    server = LocalServer.start(
        path_of(file, cache_directory()), context_tokens=file.context_tokens, free_memory=available_memory()
    )
    local = LocalModel(
        name=name,
        base_url=server.base_url,
        api_key=server.api_key,
        context_window=file.context_tokens,
        parameters=REQUEST_PARAMETERS,
        headers=REQUEST_HEADERS,
    )
    rows: list[Row] = []
    try:
        for chat in chats:
            rows.append(await _fold(chat, local))
            _print_row(rows[-1], show_calls=show_calls)
    finally:
        await server.close()
    return rows


async def _fold(chat: Chat, local: LocalModel) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        settings = _settings(Path(folder), chat)
        real = OpenAIModel(configured_providers(settings, local), Quirks(), model_catalogue(settings, local))
        spoken = [text for name, text in chat.lines if name == PERSONA]
        model, clock = HalfScripted(real=real, replies=iter([*spoken, CLOSING])), _Clock(now=chat.began)
        adapter = FakeAdapter()
        app = build_app(
            settings,
            local=local,
            model=model,
            adapters={adapter.platform: adapter},
            library=PersonaLibrary((Path(folder, "personas"),)),
            tools=(),
            now=lambda: clock.now,
        )
        await app.start()
        try:
            return await _play(chat, app, model, clock)
        finally:
            await app.close()
            await real.close()


@dataclass(kw_only=True)
class _Clock:
    now: datetime


def _settings(folder: Path, chat: Chat) -> Settings:
    card = folder / "personas" / "mira" / "card.yaml"
    card.parent.mkdir(parents=True)
    card.write_text(json.dumps({"name": PERSONA, "description": chat.card}), encoding="utf-8")
    return Settings(
        database_url=f"sqlite:///{folder / 'familiar.db'}",
        persona="mira",
        burst_ms=0,
        summary={"keep_recent": 1, "parameters": {"seed": SEED}},
    )


async def _play(chat: Chat, app: App, model: HalfScripted, clock: _Clock) -> Row:
    people = [name for name, _ in chat.lines if name != PERSONA]
    lines = (*chat.lines, (people[-1], CLOSING), (PERSONA, CLOSING))
    for (name, text), (following, _) in zip(lines, (*lines[1:], ("", "")), strict=True):
        if name != PERSONA:
            await _say(app, name, text, clock.now, to_persona=following == PERSONA)
        clock.now += BETWEEN_LINES
    turn = await _preview(app, people[-1])
    await app.core.db.run(_remember, turn.conversation_id, chat, chat.began - timedelta(days=1))
    began = time.monotonic()
    result = await app.keeper.fold(subject_of(turn), Reason.MANUAL, up_to=EVERYTHING)
    seconds = time.monotonic() - began
    memory = await app.core.db.read(read_memory, turn.conversation_id)
    return Row(
        chat=chat,
        result=result,
        calls=model.calls,
        memory=memory,
        refused=await app.core.db.read(_refused),
        verdict=judge(chat, memory),
        seconds=seconds,
    )


async def _say(app: App, name: str, text: str, sent_at: datetime, *, to_persona: bool) -> None:
    author = Author(platform="fake", id=KEYS[name].removeprefix("fake:"), name=name)
    inbound = make_inbound(text, channel=ROOM, author=author, mentions_me=to_persona, sent_at=sent_at)
    await app.pipeline.deliver(inbound)
    await app.dispatcher.idle()
    await app.keeper.idle()


async def _preview(app: App, name: str) -> Turn:
    session = await app.core.db.read(find_session, ROOM)
    assert session is not None
    turn = await app.desk.gauge.opener.preview(session.id, Asker(key=KEYS[name], name=name))
    assert turn is not None
    return turn


def _remember(tx: Tx, conversation_id: int, chat: Chat, now: datetime) -> None:
    ground = read_ground(tx, conversation_id)
    assert ground is not None
    for new in chat.known:
        insert_item(tx, ground, Add(item=new), "bench", len, now)


def _refused(tx: Tx) -> list[str]:
    delta = tx.execute(select(compactions.c.delta).order_by(compactions.c.id.desc())).scalars().first()
    return list(json.loads(delta)["refused"]) if delta else []


def _figures(name: str, rows: Sequence[Row]) -> dict[str, object]:
    return {
        "model": MODEL_FILES[name].title,
        "chats": len(rows),
        "valid": sum(row.is_valid for row in rows),
        "valid_at_once": sum(row.is_valid and not row.corrections for row in rows),
        "right": sum(row.is_right for row in rows),
        "refused_operations": sum(len(row.refused) for row in rows),
        "seconds": round(sum(row.seconds for row in rows)),
        "rows": {
            row.chat.name: {
                "valid": row.is_valid,
                "right": row.is_right,
                "calls": len(row.calls),
                "missing": list(row.verdict.missing),
                "wrong": list(row.verdict.wrong),
                "refused": list(row.refused),
                "problem": row.result.problem,
                "seconds": round(row.seconds, 1),
            }
            for row in rows
        },
    }


def _print_row(row: Row, *, show_calls: bool) -> None:
    kind = "right" if row.is_right else "valid" if row.is_valid else "failed"
    print(f"{row.chat.name}: {kind}, {len(row.calls)} calls, {row.seconds:.0f} s {row.result.problem}")
    for name, found in (("missing", row.verdict.missing), ("wrong", row.verdict.wrong), ("refused", row.refused)):
        for one in found:
            print(f"  {name}: {one}")
    if show_calls:
        print(f"  gist: {row.memory.gist}")
        for item in row.memory.items:
            print(f"  {show(item)}")
        for _, done in row.calls:
            usage = done.usage
            read = f"{usage.input_tokens} tokens read, {usage.cached_tokens} cached" if usage else ""
            print(f"  -- {read}, {done.first_token_ms} ms to the first token, {done.total_ms} ms, {done.finish.value}")
            print(f"  {done.text}")
    sys.stdout.flush()

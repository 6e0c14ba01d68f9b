"""The running whole: opens everything in order, runs the adapters, and closes all gently."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import structlog

from bot.accounting import Estimator
from bot.app.broken_off import tell_broken_off
from bot.app.host import FAULT, AppHost
from bot.app.platforms import Platforms
from bot.chat import Adapter, Author, ChannelRef, CommandMenu
from bot.commands.command import Desk
from bot.dispatch import Dispatcher, TurnRequest
from bot.errors import AdapterError
from bot.extensions import Added
from bot.hook_calls import HookCalls
from bot.llm.catalogue import ModelCatalogue
from bot.llm.client import OpenAIModel
from bot.llm.directory import ModelDirectory
from bot.llm.prices import Prices
from bot.llm.quirks import LearnedQuirk
from bot.llm.router import Router
from bot.llm.tariffs import Tariffs
from bot.locale import Catalogue
from bot.lore import LoreReader
from bot.memory.keeper import Keeper
from bot.memory.recollections import Recollections
from bot.overrides import Resolver
from bot.personas.imported import ImportedPersonas
from bot.personas.library import PersonaLibrary
from bot.pipeline import Pipeline
from bot.prompt.tokens import ModelTokens, TokenCounter
from bot.scheduler import Job, Scheduler
from bot.settings import Settings
from bot.store import closing, ledger, messages, privacy, reminders, replies, rounds, schema, sessions
from bot.store.database import Database
from bot.store.replies import BrokenOff
from bot.tasks import Tasks
from bot.turn import Asker
from bot.warming import Warmer

if TYPE_CHECKING:
    from bot.quota.purse import Purse
    from bot.tools.mcp.server import McpServers

log = structlog.get_logger(__name__)

CLOSING_SECONDS = 1.5
"""How long a platform that is slow or keeps us waiting may take until interrupted answers are closed there, and what it
has brought is delivered (S13).
"""

LEAVING_SECONDS = 1.0
"""How long a platform may take to disconnect; with the grace and the closing it stays below a container's ten."""


@dataclass(kw_only=True)
class Core:
    """What nearly every part needs."""

    settings: Settings
    db: Database
    tasks: Tasks
    catalogue: Catalogue
    counter: TokenCounter
    library: PersonaLibrary
    imported: ImportedPersonas
    lore: LoreReader
    resolver: Resolver
    platforms: Platforms
    added: Added
    host: AppHost
    now: Callable[[], datetime]
    recollections: Recollections = field(default_factory=Recollections)

    @property
    def hooks(self) -> HookCalls:
        """Those of all extensions."""
        return self.added.hooks


@dataclass(kw_only=True)
class Models:
    """The model, what is known about models, and the quirks learned in earlier runs (filled at the start)."""

    model: Router
    """What is asked for answers."""
    servers: OpenAIModel
    """Asks the configured servers; what the router asks in the end, unless another model was passed in."""
    catalogue: ModelCatalogue
    directory: ModelDirectory
    tokens: ModelTokens
    learned: list[LearnedQuirk]
    cost_money: set[str]
    """The servers whose answers most likely do."""
    prices: Prices
    tariffs: Tariffs
    estimate: Estimator
    """What calls use that no server has counted."""
    purse: Purse | None
    """What holds spending to the limits by day and month; nothing where there are none."""


@dataclass(kw_only=True)
class App:
    """The running whole. `run` is the main job; tests use `start`, `pipeline` and `close`."""

    core: Core
    models: Models
    dispatcher: Dispatcher
    desk: Desk
    pipeline: Pipeline
    menu: CommandMenu
    warmer: Warmer
    keeper: Keeper
    scheduler: Scheduler
    jobs: Sequence[Job]
    """What `run` lets the scheduler do."""
    servers: McpServers | None
    """Those that bring tools; nothing waits for them."""
    failed: set[str] = field(default_factory=set)
    """The platforms whose adapter ended with a fault."""
    is_closing: bool = False
    """From then on adapters fail because their connections are taken from them."""

    async def start(self) -> None:
        """Upgrade the database, load what is needed, and answer what the last run left unanswered."""
        core = self.core
        await asyncio.to_thread(schema.upgrade_apart, core.settings.sqlite_url)
        await asyncio.to_thread(core.counter.load)
        await core.imported.refresh()
        self.models.learned.extend(await core.db.read(ledger.load_quirks))
        await core.db.run(ledger.forget_all, FAULT)
        broken_off = await core.db.read(replies.broken_off, core.now() - core.settings.answer_within)
        interrupted = await core.db.run(replies.mark_interrupted)
        await core.db.run(closing.close_expired, core.now(), core.settings.answer_within)
        await core.db.run(privacy.forget_answered)
        await core.db.run(reminders.drop_cut_off)
        await core.db.run(rounds.forget_unwanted_rounds)
        await self.desk.eraser.look()
        waiting = await core.db.read(messages.unanswered, core.now(), core.settings.answer_within)
        log.info("app.opened", platforms=[*core.platforms], interrupted_replies=interrupted, unanswered=len(waiting))
        if self.servers is not None:
            self.servers.start(core.tasks)
        recovering = {
            core.tasks.spawn(f"recover {name}", self._recover(name, waiting, broken_off)) for name in core.platforms
        }
        if recovering:
            await asyncio.wait(recovering, timeout=0)  # whoever is ready comes first

    async def _recover(
        self, platform: str, waiting: Sequence[messages.Unanswered], broken_off: Sequence[BrokenOff]
    ) -> None:
        """Answer what the last run left unanswered as soon as the platform takes answers. One begun before could not be
        told from one that was lost on its way (S16).
        """
        await self.core.platforms[platform].ready()
        for one in broken_off:
            if one.channel.platform == platform and self.desk.policy.admits_channel(one.channel):
                await tell_broken_off(one, self.core)
        for row in waiting:  # the first of a burst answers all of it, and the turns of the others end (R2)
            if row.platform == platform:
                is_exempt = row.author_key in self.core.settings.quota.exempt_users  # their roles are not known
                self.dispatcher.request_turn(replace(_request_for(row), is_exempt=is_exempt), burst_ms=0)

    async def run(self, stop: asyncio.Event, *, begin: Callable[[], Awaitable[None]] | None = None) -> int:
        """Start, run every adapter until `stop` is set or all of them have ended, close. Returns the exit code.

        `begin` is awaited when everything is open and nothing is listened to yet.
        """
        try:
            await self.start()
            if begin is not None:
                await begin()
            spawn = self.core.tasks.spawn
            adapters = {name: spawn(f"adapter {name}", self._run_adapter(name, stop)) for name in self.core.platforms}
            spawn("tell ready", self._tell_ready(adapters))
            self.scheduler.start(self.jobs)
            waits = {spawn("stop", stop.wait()), spawn("adapters", _all_ended(adapters.values()))}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            await self._stop_gently()
        finally:
            await self.close()
        exits = self.core.settings.on_adapter_failure == "exit"
        return 1 if self.failed and (exits or len(self.failed) == len(self.core.platforms)) else 0

    async def warm(self, channel: ChannelRef, author: Author) -> None:
        """Let an embedded model read ahead what the next turn of a channel begins with."""
        session = await self.core.db.read(sessions.find_session, channel)
        if session is not None:
            await self.warmer.warm(session.id, Asker(key=author.key, name=author.name))

    async def _tell_ready(self, adapters: Mapping[str, asyncio.Task[None]]) -> None:
        """Log that we are ready once every platform is, or has ended and said why. One that cannot be reached yet says
        so by itself, and is waited for.
        """
        ready = [name for name, running in adapters.items() if await self._is_ready(name, running)]
        if ready and not self.is_closing:
            log.info("app.ready", platforms=ready, failed=sorted(self.failed))

    async def _is_ready(self, name: str, running: asyncio.Task[None]) -> bool:
        """Wait until a platform is, or has ended."""
        ready = self.core.tasks.spawn(f"ready {name}", self.core.platforms[name].ready())
        await asyncio.wait({ready, running}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            ready.cancel()
            return False
        return not ready.cancelled() and ready.exception() is None

    async def _run_adapter(self, name: str, stop: asyncio.Event) -> None:
        """Run one adapter; its failure is its own (S12), unless the operator wants to stop then."""
        try:
            await self.core.platforms[name].run(self.pipeline.deliver)
            return
        except AdapterError as error:
            log.error("adapter.failed", platform=name, problem=error.problem, remedy=error.remedy)
        except Exception as error:
            if self.is_closing:
                log.info("adapter.ended", platform=name, error=repr(error))
                return
            log.error("adapter.broken", platform=name, exc_info=error)
        self.failed.add(name)
        if self.core.settings.on_adapter_failure == "exit":
            stop.set()

    async def _stop_gently(self) -> None:
        """Let answers end or close them, so that nothing hangs half said (S13). What is said meanwhile is still heard,
        and answered after the restart: not every platform would tell it again.
        """
        log.info("app.stopping")
        await self.scheduler.close()
        now, grace = asyncio.get_running_loop().time, self.core.settings.stop_grace.total_seconds()
        closed_by = now() + grace + CLOSING_SECONDS
        await asyncio.wait({self.core.tasks.spawn("drain", self.dispatcher.drain(grace))}, timeout=grace)
        await self._on_adapters("stop listening", lambda adapter: adapter.stop_listening(), closed_by - now())
        try:
            async with asyncio.timeout_at(closed_by):
                await self.dispatcher.drain(0)  # with what came last
        except TimeoutError:
            log.warning("app.answers_cut_off")  # their state is uncertain after the next start

    async def close(self) -> None:
        """Release everything, in the reverse order of opening. Safe after a failed start."""
        self.is_closing = True
        await self.scheduler.close()
        await self._on_adapters("close", lambda adapter: adapter.close(), LEAVING_SECONDS)
        await self.core.tasks.close()
        await self.models.model.close()
        await self.models.servers.close()
        await self.core.db.close()

    async def _on_adapters(self, name: str, do: Callable[[Adapter], Coroutine[Any, Any, None]], seconds: float) -> None:
        """Ask all adapters at once; the faults of one, or its slowness, hold nobody up (S13)."""
        spawn, platforms = self.core.tasks.spawn, self.core.platforms
        asked = [spawn(f"{name} {key}", do(adapter), is_awaited=True) for key, adapter in platforms.items()]
        if not asked:
            return
        done, late = await asyncio.wait(asked, timeout=seconds)
        for task in late:
            log.warning("app.adapter_is_slow", task=task.get_name())
            task.cancel()
        for task in done:
            if not task.cancelled() and (error := task.exception()) is not None:
                log.warning("app.adapter_stumbled", task=task.get_name(), error=repr(error))


def _request_for(row: messages.Unanswered) -> TurnRequest:
    return TurnRequest(
        session_id=row.session_id,
        author_key=row.author_key,
        message_id=row.message_id,
        reply_to=row.platform_message_id,
        locale=row.author_locale,
        author_is_bot=row.author_is_bot,
        persona_id=row.persona_id,
    )


async def _all_ended(tasks: Iterable[asyncio.Task[None]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)

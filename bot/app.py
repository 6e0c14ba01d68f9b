"""The composition root: makes every part once, hands it to those who need it, and opens and closes all in order."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import structlog

from bot.agent import Agent
from bot.chat import Adapter, ChannelRef, CommandMenu
from bot.commands import COMMANDS, make_complete
from bot.commands.command import Command, Desk
from bot.dispatch import Dispatcher
from bot.errors import AdapterError
from bot.gate import AccessPolicy, LoopGuard
from bot.greeting import Greeter
from bot.llm.catalogue import Catalogue as ModelCatalogue
from bot.llm.catalogue import token_factor
from bot.llm.client import OpenAIModel
from bot.llm.configured import (
    LocalModel,
    configured_providers,
    default_model,
    model_catalogue,
    runs_on_this_machine,
)
from bot.llm.directory import ModelDirectory
from bot.llm.model import Model
from bot.llm.quirks import LearnedQuirk, Quirks
from bot.locale import Catalogue
from bot.opening import TurnOpener
from bot.overrides import Resolver
from bot.personas.library import PersonaLibrary
from bot.pipeline import Pipeline, unanswered_requests
from bot.prompt.build import PromptBuilder
from bot.prompt.sections import SECTIONS
from bot.prompt.tokens import ModelTokens, TokenCounter
from bot.quota import AUTO_PER_MINUTE, Quota
from bot.runner import TurnRunner
from bot.settings import Settings
from bot.store import ledger, messages, replies, schema
from bot.store.database import Database
from bot.tasks import Tasks
from bot.tools import TOOLS

log = structlog.get_logger(__name__)

BOT_NAME = "Familiar"
"""What it is called where no persona speaks."""

REFUSALS_PER_MINUTE = 1
"""How often a stranger hears that the bot is not for them."""


def utc_now() -> datetime:
    """The time, aware."""
    return datetime.now(UTC)


class Platforms(dict[str, Adapter]):
    """The running adapters by platform, and what the core asks of whichever serves a channel."""

    async def may_manage(self, channel: ChannelRef, user_id: str) -> bool:
        """Whether the platform itself lets this user manage the channel."""
        return await self[channel.platform].may_manage(channel, user_id)

    async def delete(self, channel: ChannelRef, message_ids: Sequence[str]) -> None:
        """Delete messages of ours."""
        await self[channel.platform].delete(channel, message_ids)


@dataclass(kw_only=True)
class Core:
    """What nearly every part needs."""

    settings: Settings
    db: Database
    tasks: Tasks
    catalogue: Catalogue
    counter: TokenCounter
    library: PersonaLibrary
    resolver: Resolver
    platforms: Platforms
    now: Callable[[], datetime]


@dataclass(kw_only=True)
class Models:
    """The model, what is known about models, and the quirks learned in earlier runs (filled at the start)."""

    model: Model
    catalogue: ModelCatalogue
    directory: ModelDirectory
    tokens: ModelTokens
    learned: list[LearnedQuirk]
    cost_money: bool


@dataclass(kw_only=True)
class App:
    """The running whole. `run` is the main job; tests use `start`, `pipeline` and `close`."""

    core: Core
    models: Models
    dispatcher: Dispatcher
    desk: Desk
    pipeline: Pipeline
    menu: CommandMenu
    failed: dict[str, AdapterError] = field(default_factory=dict)

    async def start(self) -> None:
        """Upgrade the database, load what is needed, and answer what the last run left unanswered."""
        core = self.core
        await asyncio.to_thread(schema.upgrade_apart, core.settings.sqlite_url)
        await asyncio.to_thread(core.counter.load)
        self.models.learned.extend(await core.db.read(ledger.load_quirks))
        interrupted = await core.db.run(replies.mark_interrupted)
        waiting = await core.db.read(messages.unanswered, core.now(), core.settings.answer_within)
        log.info("app.ready", platforms=[*core.platforms], interrupted_replies=interrupted, unanswered=len(waiting))
        for request in unanswered_requests(waiting):
            self.dispatcher.request_turn(request, burst_ms=0)

    async def run(self, stop: asyncio.Event, *, begin: Callable[[], Awaitable[None]] | None = None) -> int:
        """Start, run every adapter until `stop` is set or all of them have ended, close. Returns the exit code.

        `begin` is awaited when everything is open and nothing is listened to yet.
        """
        try:
            await self.start()
            if begin is not None:
                await begin()
            spawn = self.core.tasks.spawn
            adapters = [spawn(f"adapter {name}", self._run_adapter(name, stop)) for name in self.core.platforms]
            waits = {spawn("stop", stop.wait()), spawn("adapters", _all_ended(adapters))}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            await self._stop_gently()
        finally:
            await self.close()
        exits = self.core.settings.on_adapter_failure == "exit"
        return 1 if self.failed and (exits or len(self.failed) == len(self.core.platforms)) else 0

    async def _run_adapter(self, name: str, stop: asyncio.Event) -> None:
        """Run one adapter; its failure is its own (S12), unless the operator wants to stop then."""
        try:
            await self.core.platforms[name].run(self.pipeline.deliver)
        except AdapterError as error:
            self.failed[name] = error
            log.error("adapter.failed", platform=name, problem=error.problem, remedy=error.remedy)
            if self.core.settings.on_adapter_failure == "exit":
                stop.set()

    async def _stop_gently(self) -> None:
        """Take nothing more in, let answers end or close them, so that nothing hangs half said (S13)."""
        log.info("app.stopping")
        adapters = self.core.platforms.values()
        await asyncio.gather(*(adapter.stop_listening() for adapter in adapters), return_exceptions=True)
        await self.dispatcher.drain(self.core.settings.stop_grace.total_seconds())

    async def close(self) -> None:
        """Release everything, in the reverse order of opening. Safe after a failed start."""
        adapters = self.core.platforms.values()
        await asyncio.gather(*(adapter.close() for adapter in adapters), return_exceptions=True)
        await self.core.tasks.close()
        await self.models.model.close()
        await self.core.db.close()


async def _all_ended(tasks: Sequence[asyncio.Task[None]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


def build_app(
    settings: Settings,
    *,
    local: LocalModel | None = None,
    model: Model | None = None,
    adapters: Mapping[str, Adapter] | None = None,
    library: PersonaLibrary | None = None,
    counter: TokenCounter | None = None,
    commands: Sequence[Command] = COMMANDS,
    now: Callable[[], datetime] = utc_now,
    rng: random.Random | None = None,
) -> App:
    """Make an app from settings; nothing is opened yet. What is passed in replaces what the settings would make."""
    core = Core(
        settings=settings,
        db=Database(settings.sqlite_url),
        tasks=Tasks(),
        catalogue=Catalogue(),
        counter=counter or TokenCounter(),
        library=library or PersonaLibrary(),
        resolver=Resolver(settings, settings.profiles),
        platforms=Platforms(),
        now=now,
    )
    models = _build_models(core, local, model)
    greeter = Greeter(db=core.db, adapters=core.platforms, now=now, count=core.counter.count)
    dispatcher = _build_dispatcher(core, models, greeter)
    desk = _build_desk(core, models, dispatcher, greeter, commands)
    menu = CommandMenu(
        specs=tuple(command.spec for command in commands),
        translate=core.catalogue.text,
        locales=core.catalogue.locales,
        complete=make_complete(desk, commands),
    )
    pipeline = _build_pipeline(core, desk, rng or random.Random())  # noqa: S311 - when to chime in, no secret
    core.platforms.update(adapters if adapters is not None else configured_adapters(core, menu))
    return App(core=core, models=models, dispatcher=dispatcher, desk=desk, pipeline=pipeline, menu=menu)


def _build_models(core: Core, local: LocalModel | None, model: Model | None) -> Models:
    async def save(learned: LearnedQuirk) -> None:
        await core.db.run(ledger.save_quirk, learned, core.now())

    async def drop(endpoint: str, model_name: str | None) -> None:
        await core.db.run(ledger.drop_quirks, endpoint, model_name)

    learned: list[LearnedQuirk] = []
    catalogue = model_catalogue(core.settings, local)
    providers = configured_providers(core.settings, local)
    client = OpenAIModel(providers, Quirks(lambda: learned, save, drop), catalogue)
    default = default_model(core.settings, local)
    owner = providers.get(default.partition("/")[0])
    return Models(
        model=model or client,
        catalogue=catalogue,
        directory=ModelDirectory(tuple(providers), default, client.list_models),
        tokens=ModelTokens(token_factor),
        learned=learned,
        cost_money=owner is not None and not runs_on_this_machine(owner),
    )


def _build_dispatcher(core: Core, models: Models, greeter: Greeter) -> Dispatcher:
    opener = TurnOpener(
        db=core.db,
        settings=core.settings,
        resolver=core.resolver,
        library=core.library,
        models=models.directory,
        catalogue=models.catalogue,
        tokens=models.tokens,
        bot_name=BOT_NAME,
        now=core.now,
    )
    count, timeout_ms = core.counter.count, core.settings.section_timeout_ms
    runner = TurnRunner(
        opener=opener,
        builder=PromptBuilder(sections=SECTIONS, count=count, section_timeout_ms=timeout_ms),
        agent=Agent(models.model, TOOLS, max_steps=core.settings.max_tool_steps),
        greeter=greeter,
        db=core.db,
        adapters=core.platforms,
        catalogue=core.catalogue,
        tokens=models.tokens,
        tasks=core.tasks,
        now=core.now,
        count=count,
    )
    return Dispatcher(runner.run, core.tasks, time.monotonic)


def _build_desk(
    core: Core, models: Models, dispatcher: Dispatcher, greeter: Greeter, commands: Sequence[Command]
) -> Desk:
    return Desk(
        db=core.db,
        settings=core.settings,
        resolver=core.resolver,
        library=core.library,
        models=models.directory,
        catalogue=core.catalogue,
        dispatcher=dispatcher,
        platforms=core.platforms,
        greeter=greeter,
        policy=AccessPolicy(access=core.settings.access),
        limits=models.catalogue.limits,
        quota=Quota(_messages_per_minute(core.settings, models), time.monotonic),
        commands=lambda: commands,
    )


def _build_pipeline(core: Core, desk: Desk, rng: random.Random) -> Pipeline:
    return Pipeline(
        db=core.db,
        desk=desk,
        dispatcher=desk.dispatcher,
        adapters=core.platforms,
        policy=desk.policy,
        loop_guard=LoopGuard(core.settings.bots),
        quota=desk.quota,
        refusals=Quota(REFUSALS_PER_MINUTE, time.monotonic),
        overheard_chars=core.settings.overheard_chars,
        count=core.counter.count,
        now=core.now,
        rng=rng,
    )


def _messages_per_minute(settings: Settings, models: Models) -> int:
    configured = settings.quota.messages_per_minute
    if configured == "auto":
        return AUTO_PER_MINUTE if models.cost_money else 0
    return configured


def configured_adapters(core: Core, menu: CommandMenu) -> dict[str, Adapter]:
    """The adapters that have a token. Each is imported only then: a platform's library takes memory."""
    return {name: make(core, menu) for name, make in ADAPTERS.items() if getattr(core.settings, name).token is not None}


def _discord(core: Core, menu: CommandMenu) -> Adapter:
    from adapters.discord.adapter import DiscordAdapter
    from adapters.discord.options import DiscordOptions

    given = core.settings.discord
    assert given.token is not None

    async def load_hash() -> str | None:
        return await core.db.read(ledger.recall, "discord-commands")

    async def save_hash(value: str) -> None:
        await core.db.run(ledger.remember, "discord-commands", value)

    return DiscordAdapter(
        token=given.token.get_secret_value(),
        menu=menu,
        spawn=core.tasks.spawn,
        api_base=given.api_base,
        gateway_url=given.gateway_url,
        options=DiscordOptions(load_hash=load_hash, save_hash=save_hash),
    )


def _telegram(core: Core, menu: CommandMenu) -> Adapter:
    from adapters.telegram.adapter import TelegramAdapter, WebhookOptions

    given = core.settings.telegram
    assert given.token is not None
    hook = given.webhook
    webhook = (
        WebhookOptions(
            url=hook.url,
            listen=hook.listen,
            port=hook.port,
            path=hook.path,
            secret_token=hook.secret_token.get_secret_value() if hook.secret_token else None,
        )
        if hook.url
        else None
    )
    return TelegramAdapter(
        token=given.token.get_secret_value(),
        menu=menu,
        spawn=core.tasks.spawn,
        base_url=given.base_url,
        base_file_url=given.base_file_url,
        webhook=webhook,
    )


ADAPTERS: dict[str, Callable[[Core, CommandMenu], Adapter]] = {"discord": _discord, "telegram": _telegram}
"""The chat platforms by the name of their settings group; add yours here."""

"""Makes every part once and hands it to those who need it; opens nothing."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.accounting import Estimator
from bot.app.clock import build_jobs
from bot.app.embedded import standing_by
from bot.app.erasing import build_eraser
from bot.app.faces import build_greeter
from bot.app.fetching import make_wants_files
from bot.app.hearing import build_pipeline
from bot.app.host import FAULT, AppHost, Services
from bot.app.memory import build_keeper
from bot.app.moderation import moderation
from bot.app.personas import granted_by, persona_problems
from bot.app.platforms import Platforms, configured_adapters
from bot.app.quota import build_purse, build_quota, metered
from bot.app.running import App, Core, Models
from bot.app.senses import build_senses, build_spoken
from bot.app.tools import Workshop, build_workshop
from bot.asking import make_ask_form
from bot.chat import Adapter, CommandMenu
from bot.commands import COMMANDS, make_complete
from bot.commands.command import Command, Desk
from bot.dispatch import Dispatcher
from bot.env import SettingsError
from bot.extensions import Added, add_extensions, find_modules
from bot.faces import Faces
from bot.gate import AccessPolicy
from bot.gauge import Gauge
from bot.greeting import Greeter
from bot.guard import Faults
from bot.interviews import Interviews
from bot.llm.catalogue import token_factor
from bot.llm.client import OpenAIModel
from bot.llm.configured import (
    LOCAL,
    LocalModel,
    configured_providers,
    default_model,
    model_catalogue,
    model_prices,
    model_tariffs,
    runs_on_this_machine,
)
from bot.llm.directory import ModelDirectory
from bot.llm.model import Model
from bot.llm.quirks import LearnedQuirk, Quirks
from bot.llm.router import Router
from bot.locale import Catalogue
from bot.lore import LoreReader
from bot.memory.keeper import Keeper
from bot.opening import TurnOpener
from bot.overrides import Resolver
from bot.personas.imported import ImportedPersonas, put_imported
from bot.personas.library import PersonaLibrary
from bot.portraits import Portraits
from bot.prompt.build import PromptBuilder
from bot.prompt.sections import SECTIONS
from bot.prompt.tokens import ModelTokens, TokenCounter
from bot.runner import TurnRunner
from bot.running_rounds import RunningRounds
from bot.scheduler import Scheduler
from bot.screening import Screen
from bot.settings import Settings
from bot.store import ledger
from bot.store.database import Database
from bot.tasks import Tasks
from bot.tools import Tool
from bot.warming import Warmer

BOT_NAME = "Familiar"
"""What it is called where no persona speaks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Parts:
    """What turns are answered with."""

    models: Models
    greeter: Greeter
    opener: TurnOpener
    builder: PromptBuilder
    workshop: Workshop
    keeper: Keeper


def utc_now() -> datetime:
    """The time, aware."""
    return datetime.now(UTC)


def build_app(
    settings: Settings,
    *,
    local: LocalModel | None = None,
    model: Model | None = None,
    adapters: Mapping[str, Adapter] | None = None,
    library: PersonaLibrary | None = None,
    counter: TokenCounter | None = None,
    commands: Sequence[Command] = COMMANDS,
    tools: Sequence[Tool] | None = None,
    now: Callable[[], datetime] = utc_now,
    rng: random.Random | None = None,
) -> App:
    """Make an app from settings; nothing is opened yet. What is passed in replaces what the settings would make.

    Raises:
        SettingsError: the settings name a persona or an extension that cannot be used.
    """
    core = _build_core(settings, library or PersonaLibrary(), counter or TokenCounter(), now)
    models = _build_models(core, local, model)
    commands = (*commands, *core.added.commands)
    parts = _build_parts(core, models, tools)
    runner = _build_runner(core, parts)
    dispatcher = Dispatcher(runner.run, runner.turn_away, core.tasks, time.monotonic)
    scheduler = Scheduler(core.tasks)
    desk = _build_desk(core, parts, dispatcher, scheduler, commands)
    menu = _build_menu(core, desk, commands)
    pipeline = build_pipeline(core, desk, rng or random.Random())  # noqa: S311 - when to chime in, no secret
    for name, adapter in (_build_adapters(core, menu) if adapters is None else adapters).items():
        core.platforms[name] = adapter
    _connect_host(core, parts)
    return App(
        core=core,
        servers=parts.workshop.servers,
        models=models,
        dispatcher=dispatcher,
        desk=desk,
        pipeline=pipeline,
        menu=menu,
        keeper=parts.keeper,
        scheduler=scheduler,
        jobs=build_jobs(core, models, parts.keeper, desk, BOT_NAME),
        warmer=Warmer(opener=parts.opener, builder=parts.builder, model=models.model, tokens=models.tokens),
    )


def _connect_host(core: Core, parts: _Parts) -> None:
    models = parts.models
    core.host.connect(
        Services(
            model=models.model,
            servers=models.servers,
            default_model=models.directory.default,
            opener=parts.opener,
            keeper=parts.keeper,
            estimate=models.estimate,
            purse=models.purse,
        )
    )


def _build_adapters(core: Core, menu: CommandMenu) -> dict[str, Adapter]:
    ours = configured_adapters(core.settings, core.db, core.tasks, menu, make_wants_files(core))
    return ours | {platform: make(menu) for platform, make in core.added.adapters.items()}


def _build_core(
    settings: Settings, library: PersonaLibrary, counter: TokenCounter, now: Callable[[], datetime]
) -> Core:
    put_imported(library, settings.sqlite_url)
    if problems := persona_problems(settings, library):
        raise SettingsError(problems)
    db, tasks, catalogue = Database(settings.sqlite_url), Tasks(), Catalogue()
    host = AppHost(db, now=now, count=counter.count)
    added = _build_added(settings, db, tasks, host, catalogue)
    for texts in added.texts:
        catalogue.add(texts)
    return Core(
        settings=settings,
        db=db,
        tasks=tasks,
        catalogue=catalogue,
        counter=counter,
        library=library,
        imported=ImportedPersonas(db, library),
        lore=LoreReader(db=db, count=counter.count, budget=settings.memory_token_budget),
        resolver=Resolver(settings, settings.profiles, granted_by(library)),
        platforms=Platforms(added.hooks),
        added=added,
        host=host,
        now=now,
    )


def _build_added(settings: Settings, db: Database, tasks: Tasks, host: AppHost, catalogue: Catalogue) -> Added:
    def keep(extension: str, fault: str) -> None:
        tasks.spawn("keep a fault", db.run(ledger.remember, FAULT + extension, fault))

    own = moderation(settings, host, catalogue)
    return add_extensions(settings, find_modules(settings.extensions), host, Faults(keep), own=own)


def _build_models(core: Core, local: LocalModel | None, model: Model | None) -> Models:
    async def save(learned: LearnedQuirk) -> None:
        await core.db.run(ledger.save_quirk, learned, core.now())

    async def drop(endpoint: str, model_name: str) -> None:
        await core.db.run(ledger.drop_quirks, endpoint, model_name)

    learned: list[LearnedQuirk] = []
    catalogue = model_catalogue(core.settings, local)
    providers = configured_providers(core.settings, local)
    tariffs = model_tariffs(core.settings, providers)
    purse = build_purse(core, tariffs)
    client = OpenAIModel(providers, Quirks(lambda: learned, save, drop), catalogue)
    default = default_model(core.settings, local)

    async def list_models(provider: str) -> Sequence[str]:
        # The embedded engine would name its file's path, which is nobody's business in a chat.
        return (local.name,) if local is not None and provider == LOCAL else await client.list_models(provider)

    return Models(
        model=Router(metered(core, model or standing_by(client, local), providers, tariffs, purse), catalogue.limits),
        servers=client,
        catalogue=catalogue,
        directory=ModelDirectory(tuple(providers), default, list_models),
        tokens=ModelTokens(token_factor),
        learned=learned,
        cost_money={name for name, provider in providers.items() if not runs_on_this_machine(provider)},
        prices=model_prices(core.settings, providers),
        tariffs=tariffs,
        estimate=Estimator(tariffs.of, core.counter.count),
        purse=purse,
    )


def _build_parts(core: Core, models: Models, tools: Sequence[Tool] | None) -> _Parts:
    greeter, builder = build_greeter(core), _build_builder(core)
    workshop = build_workshop(core, models, builder, tools)
    return _Parts(
        models=models,
        greeter=greeter,
        opener=_build_opener(core, models, greeter.faces),
        builder=builder,
        workshop=workshop,
        keeper=build_keeper(core, models, workshop.toolbox),
    )


def _build_opener(core: Core, models: Models, faces: Faces) -> TurnOpener:
    return TurnOpener(
        db=core.db,
        settings=core.settings,
        resolver=core.resolver,
        library=core.library,
        faces=faces,
        models=models.directory,
        catalogue=models.catalogue,
        tokens=models.tokens,
        lore=core.lore,
        bot_name=BOT_NAME,
        now=core.now,
        count=core.counter.count,
    )


def _build_builder(core: Core) -> PromptBuilder:
    return PromptBuilder(
        sections=(*SECTIONS, *core.added.sections),
        count=core.counter.count,
        section_timeout_ms=core.settings.section_timeout_ms,
        injected_budget=core.settings.memory_token_budget,
        result_ratio=core.settings.tool_result_max_ratio,
    )


def _build_runner(core: Core, parts: _Parts) -> TurnRunner:
    models = parts.models
    return TurnRunner(
        opener=parts.opener,
        builder=parts.builder,
        agent=parts.workshop.agent,
        greeter=parts.greeter,
        keeper=parts.keeper,
        hooks=core.hooks,
        screen=Screen(hooks=core.hooks, opener=parts.opener, db=core.db, now=core.now),
        put_in_words=build_senses(core, models, parts.opener),
        speak_after=build_spoken(core, models),
        rounds=RunningRounds(core.db),
        db=core.db,
        adapters=core.platforms,
        catalogue=core.catalogue,
        tokens=models.tokens,
        tasks=core.tasks,
        now=core.now,
        count=core.counter.count,
        estimate=models.estimate,
    )


def _build_desk(
    core: Core, parts: _Parts, dispatcher: Dispatcher, scheduler: Scheduler, commands: Sequence[Command]
) -> Desk:
    models, workshop = parts.models, parts.workshop
    gauge = Gauge(opener=parts.opener, builder=parts.builder, agent=workshop.agent, tokens=models.tokens)
    return Desk(
        db=core.db,
        settings=core.settings,
        resolver=core.resolver,
        library=core.library,
        imported=core.imported,
        portraits=Portraits(core.db),
        interviews=Interviews(core.now),
        lore=core.lore,
        models=models.directory,
        catalogue=core.catalogue,
        dispatcher=dispatcher,
        platforms=core.platforms,
        greeter=parts.greeter,
        keeper=parts.keeper,
        gauge=gauge,
        hooks=core.hooks,
        toolbox=workshop.toolbox,
        approvals=workshop.approvals,
        servers=workshop.health,
        tasks=core.tasks,
        policy=AccessPolicy(access=core.settings.access),
        limits=models.catalogue.limits,
        quota=build_quota(core, models),
        learned=models.servers.learned,
        forget=models.servers.forget,
        endpoints=models.model.health,
        tariff_of=models.tariffs.of,
        count=core.counter.count,
        commands=lambda: commands,
        eraser=build_eraser(core, dispatcher, gauge, parts.keeper),
        missed=scheduler.missed,
    )


def _build_menu(core: Core, desk: Desk, commands: Sequence[Command]) -> CommandMenu:
    return CommandMenu(
        specs=tuple(command.spec for command in commands),
        translate=core.catalogue.text,
        locales=core.catalogue.locales,
        complete=make_complete(desk, commands),
        ask_form=make_ask_form(desk, core.now),
    )

"""Makes what hears: the pipeline, with all that an inbound meets on its way in."""

from __future__ import annotations

import random
import time

from bot.app.erasing import let_desk_forget
from bot.app.running import Core
from bot.commands.command import Desk
from bot.gate import LoopGuard
from bot.introduction import Introducer
from bot.judging import Judge
from bot.news import NewsDesk
from bot.pipeline import Pipeline
from bot.quota import Rate
from bot.recording import Recorder
from bot.reposts import RecentReposts

REFUSALS_PER_MINUTE = 1
"""How often a stranger hears that the bot is not for them."""


def build_pipeline(core: Core, desk: Desk, rng: random.Random) -> Pipeline:
    """The pipeline; `rng` decides when to chime in."""
    introducer = Introducer(
        desk=desk, adapters=core.platforms, tasks=core.tasks, count=core.counter.count, now=core.now
    )

    def is_told(model: str) -> bool:  # what is in a picture, by whatever model
        return bool(core.settings.vision_model) or desk.sees(model)

    judge = Judge(desk=desk, loop_guard=LoopGuard(core.settings.bots), rng=rng)
    reposts = RecentReposts()
    let_desk_forget(core, desk, reposts)
    recorder = Recorder(
        desk=desk,
        judge=judge,
        introducer=introducer,
        news=NewsDesk(library=core.library, models=desk.models, sees=is_told),
        reposts=reposts,
        overheard_chars=core.settings.overheard_chars,
        count=core.counter.count,
    )
    return Pipeline(
        db=core.db,
        desk=desk,
        dispatcher=desk.dispatcher,
        adapters=core.platforms,
        policy=desk.policy,
        judge=judge,
        recorder=recorder,
        introducer=introducer,
        hooks=core.hooks,
        refusals=Rate(REFUSALS_PER_MINUTE, time.monotonic),
        now=core.now,
    )

"""What runs by the clock: which jobs there are, and what each needs."""

from __future__ import annotations

from bot.app.running import Core, Models
from bot.memory.keeper import Keeper
from bot.memory.summariser import Subject
from bot.memory.sweeper import SWEEP_EVERY, SWEEP_GRACE, Sweeper
from bot.opening import model_in_force, window_of
from bot.overrides import SessionSettings
from bot.scheduler import Job
from bot.store.sessions import SessionRow


def build_jobs(core: Core, models: Models, keeper: Keeper, bot_name: str) -> tuple[Job, ...]:
    """Every job, under the name that stays its own from start to start."""
    sweeper = build_sweeper(core, models, keeper, bot_name)
    return (Job(name="idle-sweep", run=lambda: sweeper.sweep(core.now()), every=SWEEP_EVERY, grace=SWEEP_GRACE),)


def build_sweeper(core: Core, models: Models, keeper: Keeper, bot_name: str) -> Sweeper:
    """What folds quiet sessions."""

    def subject_of(session: SessionRow, persona_id: str, settings: SessionSettings) -> Subject:
        assert session.conversation_id is not None
        persona = core.library.get(persona_id)
        model = model_in_force(models.directory, settings).name
        return Subject(
            session=session,
            conversation_id=session.conversation_id,
            persona_name=persona.name if persona else bot_name,
            settings=settings.values,
            model=model,
            window=window_of(models.catalogue.limits(model), settings.values),
        )

    return Sweeper(
        db=core.db,
        keeper=keeper,
        resolver=core.resolver,
        platforms=core.platforms,
        answer_within=core.settings.answer_within,
        subject_of=subject_of,
    )

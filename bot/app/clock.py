"""What runs by the clock: which jobs there are, and what each needs."""

from __future__ import annotations

from bot.app.running import Core, Models
from bot.commands.command import Desk
from bot.dispatch import TurnRequest
from bot.memory.due import RAISE_EVERY, RAISE_GRACE, Raiser
from bot.memory.eraser import LOOK_EVERY
from bot.memory.keeper import Keeper
from bot.memory.summariser import Subject
from bot.memory.sweeper import SWEEP_EVERY, SWEEP_GRACE, Sweeper
from bot.model_in_force import model_in_force, window_of
from bot.overrides import SessionSettings
from bot.reminding import REMIND_EVERY, REMIND_GRACE, Reminding
from bot.scheduler import Job
from bot.store.due import DueFollowUp
from bot.store.sessions import SessionRow


def build_jobs(core: Core, models: Models, keeper: Keeper, desk: Desk, bot_name: str) -> tuple[Job, ...]:
    """Every job, under the name that stays its own from start to start."""
    sweeper = build_sweeper(core, models, keeper, bot_name)
    raiser = build_raiser(core, desk)
    reminding = build_reminding(core, desk, bot_name)
    return (
        Job(name="idle-sweep", run=lambda: sweeper.sweep(core.now()), every=SWEEP_EVERY, grace=SWEEP_GRACE),
        Job(name="due-follow-ups", run=lambda: raiser.raise_due(core.now()), every=RAISE_EVERY, grace=RAISE_GRACE),
        Job(name="erasures", run=desk.eraser.look, every=LOOK_EVERY, grace=REMIND_GRACE),
        Job(name="reminders", run=lambda: reminding.tell_due(core.now()), every=REMIND_EVERY, grace=REMIND_GRACE),
    )


def build_reminding(core: Core, desk: Desk, bot_name: str) -> Reminding:
    """What tells people what they asked to be reminded of."""
    return Reminding(desk=desk, adapters=core.platforms, bot_name=bot_name)


def build_sweeper(core: Core, models: Models, keeper: Keeper, bot_name: str) -> Sweeper:
    """What folds quiet sessions."""

    def subject_of(session: SessionRow, persona_id: str, conversation_id: int, settings: SessionSettings) -> Subject:
        persona = core.library.get(persona_id)
        model = model_in_force(models.directory, settings).name
        return Subject(
            session=session,
            conversation_id=conversation_id,
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


def build_raiser(core: Core, desk: Desk) -> Raiser:
    """What lets the persona speak first about follow-ups."""

    def may_speak(due: DueFollowUp) -> bool:
        channel = due.session.channel
        is_free = not desk.dispatcher.is_running(due.session.id)
        may_hear = due.person_key is None or desk.policy.admits_unasked(due.person_key)
        return channel.platform in core.platforms and desk.policy.admits_channel(channel) and may_hear and is_free

    def speak(due: DueFollowUp) -> None:
        request = TurnRequest(
            session_id=due.session.id, author_key=due.owner_key or "", message_id=None, raises=due.item_id
        )
        desk.dispatcher.request_turn(request, burst_ms=0)

    return Raiser(db=core.db, resolver=core.resolver, may_speak=may_speak, speak=speak)

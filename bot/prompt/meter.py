"""Tells the log how full conversations are: at their first turn, when that changes much, and now and then. To those who
look for faults it tells what each prompt is made of.
"""

from __future__ import annotations

import structlog

from bot.prompt.draft import Frame
from bot.prompt.pruning import Fitted
from bot.prompt.usage import Bucket, PromptUsage
from bot.turn import Turn

log = structlog.get_logger(__name__)

EVERY_TURNS = 10
"""How often it is told when nothing changes."""


class Meter:
    """Knows of each conversation how many turns this process has seen and how full the last one was."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[int, Bucket]] = {}

    def note(self, turn: Turn, usage: PromptUsage) -> None:
        """Take the usage of a turn's first request; a break of the prefix is always told."""
        turns, bucket = self._seen.get(turn.conversation_id, (0, None))
        self._seen[turn.conversation_id] = (turns + 1, usage.bucket)
        session = turn.session.channel.session_key
        if usage.prefix_break is not None:
            log.info("prompt.prefix_broken", session=session, reason=usage.prefix_break.value)
        if usage.bucket is not bucket or (turns + 1) % EVERY_TURNS == 0:
            log.info(
                "prompt.usage",
                session=session,
                turn=turns + 1,
                bucket=usage.bucket.value,
                fill=f"{usage.used}/{usage.window}",
                percent=round(usage.ratio * 100),
                parts=dict(usage.parts),
            )


def log_counts(turn: Turn, fitted: Fitted, frame: Frame, *, counted: int, tools: int) -> None:
    """What `DEBUG_LOGGING` shows of a prompt: tokens as we count them, and what went; never what anybody said."""
    session = turn.session.channel.session_key
    images = len(fitted.cuts.images)
    log.debug(
        "prompt.built",
        session=session,
        model=turn.model,
        factor=round(frame.factor, 3),
        sections=counted - tools - fitted.tokens,
        tools=tools,
        history=fitted.tokens,
        room=frame.room,
        messages=sum(map(len, fitted.units)),
        images=images,
    )
    shortened = sorted(fitted.cuts.shortened.keys() - turn.cuts.shortened.keys())
    if fitted.dropped or shortened or fitted.stages or images < len(turn.images):
        log.debug(
            "prompt.pruned",
            session=session,
            stages=fitted.stages,
            dropped=fitted.dropped,
            start=fitted.cuts.start,
            shortened=shortened,
            images_left_out=len(turn.images) - images,
        )

"""Lets hooks decide what a model may read of a turn, and whether people may read its answer. Knows no platform."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bot.dispatch import TurnRequest
from bot.hook_calls import HookCalls
from bot.hooks import Refusal, Withheld
from bot.opening import TurnOpener
from bot.store.database import Database
from bot.store.tables import MessageKind
from bot.store.withholding import withhold
from bot.turn import Turn


class TurnRefused(Exception):
    """A turn has no answer, because a hook wants none. `reason` is for whoever waits."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class Screen:
    """Stands before the model and behind it."""

    hooks: HookCalls
    opener: TurnOpener
    db: Database
    now: Callable[[], datetime]

    async def admit(self, turn: Turn, request: TurnRequest) -> Turn:
        """The turn without what is withheld from the model.

        Raises:
            TurnRefused: what is to be answered is among that, or must not be answered.
        """
        while withheld := await self._withheld(turn):
            messages, reason = withheld
            await self.db.run(withhold, turn.session, messages, self.now())
            if messages & {*turn.burst}:
                raise TurnRefused(reason)
            turn = await self.opener.reopen(turn, request)  # which may bring what was said meanwhile
        return turn

    async def _withheld(self, turn: Turn) -> tuple[set[int], str] | None:
        """What of a turn is withheld, and why. The next time it is not there any more, so that this comes to an end."""
        rows = turn.history if turn.starter is None else (turn.starter, *turn.history)
        match await self.hooks.before_turn(turn):
            case Refusal(reason=reason):
                raise TurnRefused(reason)
            case Withheld(messages=messages, reason=reason):
                found = {row.id for row in rows if row.kind is MessageKind.SAID} & {*messages}
                return (found, reason) if found else None
        return None

    async def judged(self, turn: Turn, text: str) -> str:
        """What is answered in place of a text, which is most often the same.

        Raises:
            TurnRefused: it must not be shown.
        """
        said = await self.hooks.before_reply(turn, text)
        if isinstance(said, Refusal):
            raise TurnRefused(said.reason)
        return said

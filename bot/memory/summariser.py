"""Asks the summary model: which one that is, how much it takes, one corrective retry, each call in the ledger.

Knows nothing of what is asked: a caller makes the request and reads the reply.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

import structlog

from bot.accounting import Estimator, post_whole
from bot.llm.directory import ModelDirectory
from bot.llm.model import (
    INTERRUPTED,
    Bill,
    Completion,
    Finish,
    Model,
    ModelError,
    ModelRefused,
    ModelRequest,
    Purpose,
)
from bot.llm.whole import WholeAnswer
from bot.memory.delta import BadDelta
from bot.memory.terms import Terms
from bot.settings import PlaceSettings, Settings, memory_cap
from bot.store.database import Database
from bot.store.ledger import CallRecord
from bot.store.sessions import SessionRow

log = structlog.get_logger(__name__)

R = TypeVar("R")

MARGIN_TOKENS = 1_500
"""What rules, shape and, for servers that take none beside the prompt, the schema take: 1,200 and a reserve."""
OUTPUT_SHARE = 4
"""A small window goes at most to this part to the reply, whatever SUMMARY__MAX_TOKENS says."""
LEAST_ROOM_TOKENS = 256
"""What is asked about at least; in a window that is smaller still the server decides."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """Whose conversation is compacted, and by what rules. `window` is that of the model that answers there."""

    session: SessionRow
    conversation_id: int
    persona_name: str
    settings: PlaceSettings
    model: str
    window: int


FallbacksOf = Callable[[PlaceSettings, str], Sequence[str]]
"""`fallbacks_of(settings, model)`: the models that answer in place of another one where some settings hold."""

IsStillSo = Callable[[], Awaitable[bool]]
"""Whether what is asked about has not changed since it was read."""


class Outdated(Exception):
    """What was to be asked about has changed: asked now, a model would read what was deleted since."""


class Summariser:
    """`window_of` tells a model's window, `factor` its tokens to one of ours, `is_small` whether it fails at forms."""

    def __init__(
        self,
        *,
        db: Database,
        model: Model,
        settings: Settings,
        directory: ModelDirectory,
        window_of: Callable[[str], int],
        factor: Callable[[str], float],
        estimate: Estimator,
        now: Callable[[], datetime],
        is_small: Callable[[str], bool] = lambda _model: False,
        fallbacks_of: FallbacksOf = lambda _settings, _model: (),
    ) -> None:
        self._db, self._model, self._settings, self._now = db, model, settings, now
        self._estimate = estimate
        self._is_small, self._fallbacks_of = is_small, fallbacks_of
        self._window_of, self._factor = window_of, factor
        self._default = directory.default
        self._custom = _custom_model(settings, directory)
        self._is_told = False

    def model_for(self, subject: Subject) -> str:
        """The model that is asked about a conversation (`SUMMARY__MODEL_MODE`)."""
        if self._settings.summary.model_mode == "session":
            return subject.model
        return self._custom or self._default

    def is_small(self, subject: Subject) -> bool:
        """Whether that model is asked about each line by itself."""
        return self._is_small(self.model_for(subject))

    def cap(self, subject: Subject) -> int:
        """Tokens that the memory of a conversation may fill."""
        window = min(subject.window, self._window_of(self.model_for(subject)))
        return memory_cap(window, self._settings.summary.token_ratio)

    def room(self, subject: Subject) -> int:
        """Tokens, as we count them, that may be asked about in one call."""
        return self._room_in(self.model_for(subject))

    def _room_in(self, model: str) -> int:
        free = self._window_of(model) - self._output(model) - MARGIN_TOKENS
        return max(LEAST_ROOM_TOKENS, int(free / self._factor(model)))

    def fallbacks(self, subject: Subject) -> tuple[str, ...]:
        """The models that are asked about a conversation while that model cannot be, as far as they have its room and
        are good at forms.
        """
        model = self.model_for(subject)
        first = (self._default,) if model == self._custom != self._default else ()
        names = dict.fromkeys((*first, *self._fallbacks_of(subject.settings, model)))
        least = self._room_in(model)
        return tuple(name for name in names if not self._is_small(name) and self._room_in(name) >= least)

    def terms(self, subject: Subject) -> Terms:
        """What a request about a conversation must keep to."""
        model = self.model_for(subject)
        return Terms(model=model, max_output_tokens=self._output(model))

    def _output(self, model: str) -> int:
        return min(self._settings.summary.max_tokens, self._window_of(model) // OUTPUT_SHARE)

    async def ask(
        self,
        subject: Subject,
        request: Callable[[Terms], ModelRequest],
        read: Callable[[str], R],
        *,
        is_still_so: IsStillSo | None = None,
        is_alone: bool = False,
    ) -> R:
        """What `read` makes of the reply; a reply that it refuses gets one chance to be corrected. A custom model that
        refuses to be asked at all is stood in for by the default one, and any model that cannot be asked by its
        fallbacks, unless it `is_alone`. `is_still_so` is asked before each call.

        Raises:
            BadDelta: the second reply was bad as well.
            Outdated: it is no longer so.
            ModelError: the model could not be asked.
        """
        model, fallbacks = self.model_for(subject), () if is_alone else self.fallbacks(subject)

        def with_fallbacks(terms: Terms) -> ModelRequest:
            return replace(request(terms), fallbacks=fallbacks)

        try:
            return await self._ask(subject, model, with_fallbacks, read, is_still_so)
        except ModelRefused as error:
            if model != self._custom or model == self._default:
                raise
            if not self._is_told:
                self._is_told = True
                log.warning("summary.model_unavailable", model=model, instead=self._default, problem=str(error))
            return await self._ask(subject, self._default, request, read, is_still_so)

    async def _ask(
        self,
        subject: Subject,
        model: str,
        request: Callable[[Terms], ModelRequest],
        read: Callable[[str], R],
        is_still_so: IsStillSo | None,
    ) -> R:
        correction: tuple[str, str] | None = None
        while True:
            if is_still_so is not None and not await is_still_so():
                raise Outdated
            terms = Terms(model=model, max_output_tokens=self._output(model), correction=correction)
            done = await self._call(subject, request(terms))
            try:
                if done.finish is not Finish.STOP:
                    raise BadDelta(f"the reply was not finished ({done.finish.value})")
                return read(done.text)
            except BadDelta as error:
                if correction is not None:
                    raise
                correction = done.text, str(error)

    async def _call(self, subject: Subject, request: ModelRequest) -> Completion:
        bill = Bill(place_key=subject.session.channel.place_key, purpose=Purpose.SUMMARY)
        call = WholeAnswer(replace(request, bill=bill))
        try:
            await call.ask(self._model)
        finally:  # also of a call that failed or was cancelled something may have to be paid
            post_whole(self._db, call, _blank(subject, request.model), self._estimate, self._now())
        if call.completion is None:
            raise BadDelta("the model said nothing")
        return call.completion


def _custom_model(settings: Settings, directory: ModelDirectory) -> str | None:
    """The model of mode `custom`; `None` where another mode is meant, or it is not there, which is told once."""
    summary = settings.summary
    if summary.model_mode != "custom":
        return None
    name = directory.effective(summary.model or "")
    if summary.model and not directory.is_gone(name):
        return name
    problem = "SUMMARY__MODEL is empty" if not summary.model else "no configured server has that model"
    log.warning("summary.model_unavailable", model=summary.model or "", instead=directory.default, problem=problem)
    return None


def problem_of(error: BadDelta | ModelError) -> str:
    """Why nothing was folded, for people: what was wrong with a reply; of a model that could not be asked only the text
    of the catalogue that says so, since its words may name hosts (X13).
    """
    return f"model-{error.kind}" if isinstance(error, ModelError) else str(error)[:500]


def _blank(subject: Subject, model: str) -> CallRecord:
    return CallRecord(
        purpose=Purpose.SUMMARY,
        model=model,
        outcome=INTERRUPTED,
        session_id=subject.session.id,
        conversation_id=subject.conversation_id,
    )

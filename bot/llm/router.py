"""Lets another model answer where the server of the one that was asked does not, and leaves that server alone for a
while. Knows no server and no SDK: what it routes to is a `Model` as well.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TypeVar

import structlog

from bot.llm.catalogue import ModelLimits
from bot.llm.model import (
    Attempt,
    Completion,
    ContextTooLong,
    Handover,
    Model,
    ModelError,
    ModelEvent,
    ModelExhausted,
    ModelHeldBack,
    ModelRequest,
    ModelUnreachable,
    TextDelta,
)
from bot.llm.wire import without_images, without_tools

log = structlog.get_logger(__name__)

R = TypeVar("R")

FIRST_PAUSE_SECONDS = 30.0
"""How long a server is left alone after its first failure; each further one doubles it. Ours to choose."""

LONGEST_PAUSE_SECONDS = 600.0
"""A server that is back is found out within that time."""

LONGEST_WISH_SECONDS = 3_600.0
"""A server that asks for patience gets as much as this."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointHealth:
    """A server, or one model of it, that failed when it was last asked."""

    name: str
    """`provider` where no connection could be made or the account is empty, else `provider/model`."""
    problem: str
    """In words for the operator: they may name hosts."""
    seconds_left: int
    """Until it is asked again where another model can answer; 0 = at the next request."""


@dataclass(slots=True)
class _Pause:
    until: float
    seconds: float
    noted: float
    """When the newest fault was."""
    problem: str


class Router:
    """A `Model` that goes through `ModelRequest.fallbacks`. What has failed lately comes last."""

    def __init__(
        self, model: Model, limits: Callable[[str], ModelLimits], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._model, self._limits, self._clock = model, limits, clock
        self._pauses: dict[str, _Pause] = {}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Answer a request; see `Model.stream`. Nobody else is asked once text was yielded, nor when the model that was
        meant says that the request is wrong.
        """
        (order, fresh), told = self._order((request.model, *request.fallbacks)), request.model
        for place, name in enumerate(order, start=1):
            if name != told:
                yield Handover(model=name)
            told, has_shown, begun = name, False, self._clock()
            started = begun
            try:
                fitted, is_last = self._fitted(request, name), place >= fresh
                asked = replace(fitted, fallbacks=order[place:], are_fallbacks_away=is_last)
                async with aclosing(self._model.stream(asked)) as events:
                    async for event in events:
                        if isinstance(event, TextDelta | Completion):
                            has_shown = True
                            self._note_answer(name)
                        yield event
                        started = self._clock()
                return
            except ModelError as error:
                self._note_fault(name, error, since=begun)
                if has_shown or name == order[-1] or not _may_go_on(error, is_fallback=name != request.model):
                    raise
                _log_handover(name, error)
                total_ms = round((self._clock() - started) * 1000)
                yield Attempt(model=name, outcome=error.kind, total_ms=total_ms, fault=error)

    async def first_of(self, models: Sequence[str], ask: Callable[[str, tuple[str, ...], bool], Awaitable[R]]) -> R:
        """What the first of some models gives that can be asked, by the same rule as for answers.
        `ask(model, fallbacks, is_last)` asks one of them; the others can still be asked instead, unless `is_last` soon.

        Raises:
            ModelError: nobody gives it.
        """
        order, fresh = self._order(models)
        for place, name in enumerate(order, start=1):
            begun = self._clock()
            try:
                given = await ask(name, order[place:], place >= fresh)
            except ModelError as error:
                self._note_fault(name, error, since=begun)
                if name == order[-1] or not _may_go_on(error, is_fallback=name != models[0]):
                    raise
                _log_handover(name, error)
            else:
                self._note_answer(name)
                return given
        raise AssertionError("no model was named")

    async def close(self) -> None:
        """Release connections."""
        await self._model.close()

    def health(self) -> Sequence[EndpointHealth]:
        """What failed when it was last asked."""
        now = self._clock()
        return [
            EndpointHealth(name=name, problem=pause.problem, seconds_left=max(0, round(pause.until - now)))
            for name, pause in self._pauses.items()
        ]

    def _order(self, models: Sequence[str]) -> tuple[tuple[str, ...], int]:
        """The models to ask: what is left alone comes last, so that it is asked if nobody else can answer. And how many
        come before that: those are worth being asked soon.
        """
        names = tuple(dict.fromkeys(models))
        if len(names) == 1:
            return names, 1
        now = self._clock()
        paused = [name for name in names if any(pause.until > now for pause in self._pauses_of(name))]
        fresh = [name for name in names if name not in paused]
        for pause in self._pauses_of(fresh[0]) if fresh else ():
            pause.until = now + pause.seconds  # one request tries it; the others go round it meanwhile
        return (*fresh, *paused), len(fresh)

    def _pauses_of(self, model: str) -> Sequence[_Pause]:
        names = (model, model.partition("/")[0])
        return [self._pauses[name] for name in names if name in self._pauses]

    def _fitted(self, request: ModelRequest, name: str) -> ModelRequest:
        """The request as another model can take it.

        Raises:
            ContextTooLong: it does not fit into its window, as far as that is known.
        """
        if name == request.model:
            return request
        limits, messages = self._limits(name), request.messages
        if not _fits(request, limits):
            # Not every server would say so: some cut off how it begins, which is the persona (L20).
            raise ContextTooLong(name, "the prompt does not fit into its window.", limit=limits.context_window)
        if not limits.vision and not request.needs_images:
            messages = without_images(messages)
        if not limits.tools:
            messages = tuple(without_tools(messages))
        return replace(request, model=name, messages=messages, tools=request.tools if limits.tools else ())

    def _note_answer(self, name: str) -> None:
        for one in (name, name.partition("/")[0]):
            if self._pauses.pop(one, None):
                log.info("model.is_back", endpoint=one)

    def _note_fault(self, name: str, error: ModelError, *, since: float) -> None:
        """Leave who failed alone. Of many requests that were under way at once, the first fault counts."""
        if not isinstance(error, ModelUnreachable | ModelExhausted):
            return
        concerned, now = name.partition("/")[0] if error.is_of_server else name, self._clock()
        seconds, before = FIRST_PAUSE_SECONDS, self._pauses.get(concerned)
        if before is not None:
            is_new = before.noted <= since
            seconds = min(before.seconds * 2, LONGEST_PAUSE_SECONDS) if is_new else before.seconds
        wished = min(error.patience or 0.0, LONGEST_WISH_SECONDS) if isinstance(error, ModelUnreachable) else 0.0
        until = now + max(seconds, wished)
        self._pauses[concerned] = _Pause(until=until, seconds=seconds, noted=now, problem=error.problem)


def _fits(request: ModelRequest, limits: ModelLimits) -> bool:
    """Whether a model has room for a request, as far as that was counted."""
    output = min(request.max_output_tokens, limits.max_output_tokens or request.max_output_tokens)
    return request.bill is None or request.bill.input_tokens + output <= limits.context_window


def _may_go_on(error: ModelError, *, is_fallback: bool) -> bool:
    """Whether the next model is to be asked. A prompt that is too long for a fallback is made shorter by who asks."""
    if isinstance(error, ModelUnreachable | ModelExhausted):
        return True
    if isinstance(error, ModelHeldBack):
        return error.may_stand_in
    return is_fallback and not isinstance(error, ContextTooLong)


def _log_handover(name: str, error: ModelError) -> None:
    """A limit that is used up holds for each request of a day or a month, which is no news."""
    log_it = log.info if isinstance(error, ModelHeldBack) else log.warning
    log_it("model.handed_over", model=name, problem=str(error))

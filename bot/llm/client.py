"""Calls every OpenAI-compatible server: one connection per endpoint, our own retries, quirks learned on the way."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from bot.llm.answer import Answer, BrokenAnswer, WebPage
from bot.llm.catalogue import ModelCatalogue
from bot.llm.connection import FAULTS
from bot.llm.endpoints import Endpoints, Provider
from bot.llm.lessons import guess_for, quirk_for
from bot.llm.model import Attempt, Completion, Finish, ModelEvent, ModelRefused, ModelRequest, TextDelta
from bot.llm.quirks import Quirk, Quirks, known_of
from bot.llm.refusals import Refusal, error_for
from bot.llm.wire import chat_body

log = structlog.get_logger(__name__)

MOST_RETRIES = 2
"""Further attempts after faults that pass by themselves; one where another model can stand in."""

MOST_ADAPTATIONS = 6
"""Further attempts after refusals, one per quirk."""

BACKOFF_SECONDS = 0.5
"""First wait after such a fault; the next one is twice as long. Both vary by half."""

LONGEST_RETRY_AFTER_SECONDS = 10.0
"""Who asks for more patience is not waited for."""

LONGEST_RETRY_AFTER_WITH_FALLBACKS_SECONDS = 2.0
"""The same where another model can answer at once; ours to choose."""

CLOSING_SECONDS = 5.0
"""How long a server that said why its answer ended may take to count it and to close the stream; ours to choose."""

REASONING_ROOM = 8_192
"""Tokens added to the output limit where a model reasons within it (L18), at most a quarter of the window."""


@dataclass(kw_only=True, slots=True)
class _Call:
    """One request on its way through attempts; times in seconds of the event loop's clock."""

    request: ModelRequest
    provider: Provider
    model: str
    quirks: set[Quirk]
    deadline: float
    first_token: float
    """Seconds that an attempt may take to begin."""
    room: int
    """Tokens that may be added to the output limit for reasoning."""
    tried: list[Quirk] = field(default_factory=list)
    guessed: Quirk | None = None
    habits: set[Quirk] = field(default_factory=set)
    """New quirks: tried (one by guess), and shown by the answer. They are remembered once a request passed."""
    retries: int = 0
    has_shown: bool = False
    started: float = 0.0
    """When the newest attempt began, by the client's clock."""
    body: dict[str, Any] = field(default_factory=dict)
    short: Completion | None = None
    """The answer that had no room to be said (L18), should the attempt with more room fail."""


class OpenAIModel(Endpoints):
    """`Model` for all configured providers; `provider/model` is split at the first slash."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        quirks: Quirks,
        catalogue: ModelCatalogue,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(providers)
        self._quirks, self._catalogue = quirks, catalogue
        self._clock, self._sleep, self._jitter = clock, sleep, jitter
        self._replay_fields: dict[str, str] = {}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Answer a request; see `Model.stream`. Nothing is tried again once text was yielded."""
        call = self._begin(request)
        while True:
            try:
                async with aclosing(self._attempt(call)) as events:
                    async for event in events:
                        if isinstance(event, TextDelta):
                            call.has_shown = True
                            yield event
                        else:
                            completion = event
            except FAULTS as error:
                total_ms = self._ms_since(call.started)
                refusal = call.provider.fault(error, first_token=call.first_token)
                if call.short is not None:
                    yield replace(call.short, usage=None)  # told before; that of this attempt is unknown
                elif refusal.filtered and not call.has_shown:
                    yield Completion(text="", finish=Finish.FILTERED, model=request.model)
                else:
                    await self._prepare_next(call, refusal)
                    kind = error_for(refusal, request.model).kind
                    yield Attempt(model=request.model, outcome=kind, total_ms=total_ms)
                    continue
                return
            if not self._needs_room(call, completion):
                await self._remember(call)
                yield completion
                return
            yield Attempt(
                model=request.model,
                outcome=completion.finish.value,
                usage=completion.usage,
                first_token_ms=completion.first_token_ms,
                total_ms=completion.total_ms,
            )

    def learned(self, model: str) -> frozenset[Quirk]:
        """What the server of `provider/model` refused, or its answers showed; nothing where no such server is."""
        provider, _, name = model.partition("/")
        given = self._providers.get(provider)
        return self._quirks.learned(given.endpoint, name) if given else frozenset()

    async def forget(self, model: str) -> None:
        """Forget that, so that the next request tries everything again."""
        provider, _, name = model.partition("/")
        await self._quirks.forget(self._providers[provider].endpoint, name)

    def time_to_begin(self, request: ModelRequest) -> float:
        """Seconds that an answer may take to begin: fewer where another model can answer, unless this one may reason
        first, which many servers do without a word.
        """
        provider = self.provider_of(request.model)
        is_told = self._thinking(request).get("can_stop_thinking", False) and not request.thinking
        may_think = request.thinking or (self._catalogue.limits(request.model).thinking and not is_told)
        return provider.patience(provider.first_token_timeout, is_last=may_think or request.is_last)

    def _begin(self, request: ModelRequest) -> _Call:
        provider, model = self.provider_of(request.model), request.model.partition("/")[2]
        known = known_of(provider.kind, model)
        return _Call(
            request=request,
            provider=provider,
            model=model,
            quirks=set(self._quirks.known(provider.endpoint, model) | (known.quirks if known else frozenset())),
            deadline=asyncio.get_running_loop().time() + provider.total_timeout,
            first_token=self.time_to_begin(request),
            room=min(REASONING_ROOM, self._catalogue.limits(request.model).context_window // 4),
        )

    async def _attempt(self, call: _Call) -> AsyncGenerator[TextDelta | Completion, None]:
        if call.request.needs_images and Quirk.NO_IMAGES in call.quirks:
            raise ModelRefused(call.request.model, "it takes no images.", "Name another model to look at them.")
        call.started, first_token_ms = self._clock(), 0
        answer = Answer(hold=Quirk.THINKS_UNOPENED in call.quirks)
        call.body = chat_body(
            replace(call.request, parameters={**call.provider.parameters, **call.request.parameters}),
            call.model,
            frozenset(call.quirks),
            output_limit=self._output_limit(call),
            **self._thinking(call.request),
            replay_field=self._replay_fields.get(call.request.model),
        )
        async with aclosing(self._chunks(call, answer)) as chunks:
            async for chunk in chunks:
                text = answer.take(chunk)
                if answer.has_begun and not first_token_ms:
                    first_token_ms = self._ms_since(call.started)
                if text:
                    yield TextDelta(text=text)
        if text := answer.end():
            yield TextDelta(text=text)
        if not answer.has_begun and answer.finish is None:
            raise BrokenAnswer("the stream ended before the answer began")
        self._note_habits(call, answer)
        completion = answer.completion(first_token_ms=first_token_ms, total_ms=self._ms_since(call.started))
        yield replace(completion, model=call.request.model)

    async def _chunks(self, call: _Call, answer: Answer) -> AsyncGenerator[object, None]:
        """The chunks of an answer, each in time: the first token, and after it every silence, has its limit."""
        connection, loop = self.connection(call.provider), asyncio.get_running_loop()
        if "stream" not in call.body:
            async with asyncio.timeout_at(call.deadline):
                whole = await connection.ask(call.body)
            yield whole
            return
        patience = min(call.deadline, loop.time() + call.first_token)
        async with asyncio.timeout_at(patience):
            stream = await connection.open_stream(call.body)
        kind = stream.response.headers.get("content-type", "")
        try:
            if "json" in kind:
                async with asyncio.timeout_at(call.deadline):
                    body = await stream.response.aread()
                if body.lstrip().startswith(b"{"):
                    yield json.loads(body)  # whole, although a stream was wanted: as good an answer
                    return
            while True:
                async with asyncio.timeout_at(patience):
                    chunk = await anext(stream)
                yield chunk
                if answer.has_begun:
                    silence = call.provider.first_token_timeout
                    silence = silence if answer.finish is None else min(silence, CLOSING_SECONDS)
                    patience = min(call.deadline, loop.time() + silence)
        except StopAsyncIteration:
            if "html" in kind and not answer.has_begun:
                raise WebPage from None
        except TimeoutError:
            if answer.finish is None:
                raise
        finally:
            await stream.close()

    async def _prepare_next(self, call: _Call, refusal: Refusal) -> None:
        """Change what has to change for another attempt, and wait if that is what helps.

        Raises:
            ModelError: another attempt is useless, or no longer allowed.
        """
        if refusal.overflow is not None and _reasons(call) and call.room:
            call.room = 0  # some servers count the output limit into the window
            return
        quirk = None
        if not call.has_shown and refusal.overflow is None and len(call.tried) < MOST_ADAPTATIONS:
            quirk = quirk_for(refusal, call.body)
            if quirk is None and call.retries and (quirk := guess_for(refusal, call.body)):
                call.guessed = quirk
        if quirk is not None:
            call.quirks.add(quirk)
            call.tried.append(quirk)
            return
        most, longest = MOST_RETRIES, LONGEST_RETRY_AFTER_SECONDS
        if not call.request.is_last:
            most, longest = 1, LONGEST_RETRY_AFTER_WITH_FALLBACKS_SECONDS
        too_long = refusal.patience is not None and refusal.patience > longest
        if call.has_shown or not refusal.passes or refusal.overflow or too_long or call.retries == most:
            raise error_for(refusal, call.request.model, secret=call.provider.api_key.get_secret_value())
        backoff = BACKOFF_SECONDS * 2**call.retries * (0.5 + self._jitter())
        call.retries += 1
        log.info("model.retry", model=call.request.model, status=refusal.status, attempt=call.retries)
        await self._sleep(backoff if refusal.patience is None else refusal.patience)

    async def _remember(self, call: _Call) -> None:
        """A request passed: what was changed for it is what the endpoint needs."""
        endpoint = call.provider.endpoint
        for quirk in call.tried:
            log.info("model.quirk_learned", endpoint=endpoint, model=call.model, quirk=quirk.value)
            await self._quirks.learn(endpoint, call.model, quirk, is_guess=quirk is call.guessed)
        await self._quirks.note_habits(endpoint, call.model, call.habits)

    def _needs_room(self, call: _Call, completion: Completion) -> bool:
        """Whether reasoning used up the output limit, and one attempt with a larger one is due (L18)."""
        said_nothing = not completion.text.strip() and not completion.tool_calls and not call.has_shown
        if completion.finish is not Finish.LENGTH or not said_nothing or _reasons(call):
            return False
        call.short = completion
        call.quirks.add(Quirk.NEEDS_ROOM)
        call.habits.add(Quirk.NEEDS_ROOM)
        return True

    def _thinking(self, request: ModelRequest) -> dict[str, Any]:
        """How its reasoning is switched. Off is said only to models that are known to reason."""
        provider = self.provider_of(request.model)
        if provider.thinking:
            return {"style": provider.thinking}
        known = known_of(provider.kind, request.model.partition("/")[2])
        if known is None or not (request.thinking or self._catalogue.limits(request.model).thinking):
            return {}
        return {"style": known.thinking, "can_stop_thinking": known.can_stop_thinking}

    def _output_limit(self, call: _Call) -> int:
        limit = call.request.max_output_tokens + (call.room if _reasons(call) else 0)
        return min(limit, self._catalogue.limits(call.request.model).max_output_tokens or limit)

    def _note_habits(self, call: _Call, answer: Answer) -> None:
        if answer.reasoning_field:
            self._replay_fields[call.request.model] = answer.reasoning_field
        if answer.speech.unopened:
            call.habits.add(Quirk.THINKS_UNOPENED)

    def _ms_since(self, started: float) -> int:
        return round((self._clock() - started) * 1000)


def _reasons(call: _Call) -> bool:
    return call.request.thinking or Quirk.NEEDS_ROOM in call.quirks

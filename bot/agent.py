"""Lets the model answer a turn: streams the visible text, runs the tools it calls, and ends after a limit of rounds.

Knows no platform and no store; what is visible has gone through `bot.llm.stream`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from bot.hook_calls import HookCalls
from bot.llm.model import (
    INTERRUPTED,
    Attempt,
    Bill,
    Completion,
    Finish,
    Handover,
    Model,
    ModelError,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolSpec,
)
from bot.llm.stream import clean_reply, reply_filter
from bot.prompt.build import Prompt, PromptBuilder
from bot.prompt.messages import ToolExchange
from bot.prompt.usage import PromptUsage
from bot.tool_calls import ToolCalls
from bot.tools import Tool
from bot.tools.toolbox import Toolbox
from bot.turn import Turn


class Show(Protocol):
    """Receives the whole visible text so far, each time it has grown, and what is being done until more comes."""

    async def __call__(self, text: str, *, doing: str = "") -> None:
        """Show that."""


Keep = Callable[[ToolExchange], Awaitable[None]]
"""Receives each round of tools as it ends, before the model is asked again."""


async def _keep_nothing(_exchange: ToolExchange) -> None:
    """Where nobody could go on from it."""


@dataclass(slots=True)
class Asked:
    """One call of a turn: what its request fills, what was attempted in vain, and how it ended, if it has."""

    usage: PromptUsage
    counted: int = 0
    """Tokens of the request as we count them."""
    attempts: list[Attempt] = field(default_factory=list)
    completion: Completion | None = None
    outcome: str = INTERRUPTED
    model: str = ""
    """Who is asked, where it is another model than the turn's."""
    rounds: int = 0
    """How many rounds of tools had run before."""
    written: str = ""
    """What has come of an answer."""

    def complete(self, completion: Completion) -> None:
        """Note the answer to it."""
        self.completion, self.outcome = completion, completion.finish.value


@dataclass(slots=True)
class Answer:
    """What came of a turn so far. Filled while it runs, so that an interrupted turn keeps what it had."""

    text: str = ""
    finish: Finish = Finish.INCOMPLETE
    exchanges: list[ToolExchange] = field(default_factory=list)
    calls: list[Asked] = field(default_factory=list)

    @property
    def completions(self) -> list[Completion]:
        """What was answered to the calls that ended well."""
        return [call.completion for call in self.calls if call.completion is not None]

    def fail(self, outcome: str) -> None:
        """Note how the newest call failed, if one was under way."""
        if self.calls and self.calls[-1].completion is None:
            self.calls[-1].outcome = outcome


class Agent:
    """The model/tool loop."""

    def __init__(
        self,
        model: Model,
        toolbox: Toolbox,
        *,
        builder: PromptBuilder,
        max_steps: int,
        hooks: HookCalls | None = None,
        calls: ToolCalls | None = None,
    ) -> None:
        self._model, self._builder, self._hooks = model, builder, hooks or HookCalls()
        self._toolbox, self._max_steps = toolbox, max_steps
        self._calls = calls or ToolCalls(hooks=self._hooks)

    def tools_for(self, turn: Turn) -> tuple[Tool, ...]:
        """The tools that this turn may use: those without a group, and those whose group is on where it is told, as far
        as they are there for its persona. None where the model cannot call any.
        """
        on = self._toolbox.on(turn.settings.values.tool_groups) if turn.limits.tools else ()
        return tuple(shaped for tool in on if (shaped := tool.shaped(turn)) is not None)

    async def answer(
        self, turn: Turn, prompt: Prompt, answer: Answer, show: Show, keep: Keep = _keep_nothing
    ) -> Prompt:
        """Fill `answer` until the model has nothing more to say or call. An answer that has tool rounds already, from
        a first try whose prompt became too long (M17) or that a crash cut off, goes on behind them. Returns the prompt
        of the last request.

        Raises:
            ModelError: a call failed; the text shown so far is in `answer`.
        """
        offered = prompt.basis.tools
        for step in range(len(answer.exchanges), self._max_steps + 1):
            # After the last round the model must answer with what it has.
            tools = offered if step < self._max_steps else ()
            if step:
                prompt = self._builder.extend(prompt, answer.exchanges, tools=tools)
            sent, tools = await self._as_hooks_want(turn, prompt, tools, answer.exchanges)
            answer.calls.append(Asked(sent.usage, sent.counted, rounds=len(answer.exchanges)))
            await self._hooks.on_usage(turn, sent.usage)
            completion = await self._call(turn, sent, tools, answer, show)
            await self._hooks.after_model(turn, completion)
            if not completion.tool_calls or not tools:
                answer.finish = completion.finish
                break
            runnable = self._runnable(tools)
            tell = partial(_show_doing, show, answer.text)
            results = await self._calls.run_all(replace(turn, usage=sent.usage), runnable, completion.tool_calls, tell)
            caller = answer.calls[-1].model or turn.model
            exchange = ToolExchange(
                calls=tuple(replace(call, by=caller) for call in completion.tool_calls),
                results=tuple(self._builder.cap_result(prompt, result) for result in results),
                text=completion.text,
                reasoning=completion.reasoning,
            )
            answer.exchanges.append(exchange)
            await keep(exchange)
        return sent

    def _runnable(self, offered: Sequence[ToolSpec]) -> Mapping[str, Tool]:
        """What of the offered tools is ours to run, in their order; hooks may offer what is not."""
        tools = {tool.spec.name: tool for tool in self._toolbox.tools()}
        return {spec.name: tools[spec.name] for spec in offered if spec.name in tools}

    async def _as_hooks_want(
        self, turn: Turn, prompt: Prompt, tools: tuple[ToolSpec, ...], exchanges: Sequence[ToolExchange]
    ) -> tuple[Prompt, tuple[ToolSpec, ...]]:
        if not self._hooks.rewrites_requests:
            return prompt, tools
        given = replace(self._builder.input_of(prompt, exchanges), tools=tools)
        wanted = await self._hooks.before_model(turn, given)
        if wanted is given:
            return prompt, tools
        wanted = wanted if tools else replace(wanted, tools=())
        return self._builder.rewrite(prompt, exchanges, wanted), wanted.tools

    async def _call(
        self, turn: Turn, prompt: Prompt, tools: tuple[ToolSpec, ...], answer: Answer, show: Show
    ) -> Completion:
        request = ModelRequest(
            model=turn.model,
            messages=prompt.messages,
            max_output_tokens=turn.reserve,
            tools=tools,
            thinking=turn.settings.values.thinking,
            fallbacks=turn.fallbacks,
            bill=_bill(turn, prompt),
        )
        # Text before a tool call stays above the text that comes after it.
        before = f"{answer.text}\n\n" if answer.text else ""
        names = _names_of_persona(turn)
        heard = (*turn.participants, *(peer.name for peer in turn.peers))
        others = [name for name in heard if name not in names]
        visible, said, asked = reply_filter(names, others), "", answer.calls[-1]
        async with aclosing(self._model.stream(request)) as events:
            async for event in _noted(events, asked):
                match event:
                    case TextDelta(text=text):
                        more = visible.feed(text)
                    case Completion():
                        asked.complete(event)
                        more = visible.flush()
                        if event.replaces_deltas:
                            # What was streamed turned out to be reasoning; only the whole text counts (L03).
                            said = clean_reply(event.text, names, others)
                            answer.text = (before + said).rstrip()
                            return event
                if more:
                    said += more
                    answer.text = before + said
                    await show(answer.text)
                if isinstance(event, Completion):
                    return replace(event, finish=Finish.REPEATING) if visible.repeats else event
                if visible.stopped:
                    return self._stopped_early(answer, Finish.REPEATING if visible.repeats else Finish.STOP)
        raise AssertionError("a model stream ended without a completion")

    @staticmethod
    def _stopped_early(answer: Answer, finish: Finish) -> Completion:
        """The filter saw the model speak for others or run in circles: what came before stands as the answer."""
        completion = Completion(text=answer.text, finish=finish)
        answer.calls[-1].complete(completion)
        return completion


async def _noted(events: AsyncGenerator[ModelEvent, None], asked: Asked) -> AsyncIterator[TextDelta | Completion]:
    """What is said; who was asked, and in vain, is noted on the way."""
    try:
        async for event in events:
            match event:
                case Attempt():
                    asked.attempts.append(event)
                case Handover(model=model):
                    asked.model = model
                case TextDelta(text=text):
                    asked.written += text
                    yield event
                case Completion():
                    yield event
    except ModelError as error:
        asked.model = error.model
        raise


def _bill(turn: Turn, prompt: Prompt) -> Bill:
    """Whom a request counts against. Bots, and personas that one another call, are told nothing (D07)."""
    is_awaited = bool(turn.burst or turn.continues) and not turn.asker.is_bot
    return replace(turn.bill, input_tokens=prompt.usage.used - prompt.usage.max_tokens, is_awaited=is_awaited)


async def _show_doing(show: Show, text: str, doing: str) -> None:
    await show(text, doing=doing)


def _names_of_persona(turn: Turn) -> tuple[str, ...]:
    """What the model may write before its own lines: what people call the persona, and the card's full name (L15)."""
    full = (turn.persona.card.name,) if turn.persona else ()
    return tuple(dict.fromkeys((turn.persona_name, *full)))

"""Lets the model answer a turn: streams the visible text, runs the tools it calls, and ends after a limit of rounds.

Knows no platform and no store; what is visible has gone through `bot.llm.stream`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from bot.hook_calls import HookCalls
from bot.hooks import Origin
from bot.llm.model import (
    INTERRUPTED,
    Attempt,
    Completion,
    Finish,
    Model,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolSpec,
)
from bot.llm.stream import clean_reply, reply_filter
from bot.prompt.build import Prompt, PromptBuilder
from bot.prompt.messages import ToolExchange
from bot.prompt.usage import PromptUsage
from bot.tools import Tool
from bot.tools.tool import ToolError
from bot.turn import Turn

log = structlog.get_logger(__name__)

SHOWN_ARGUMENTS = 300
"""Characters of broken arguments that the model is shown, so that it sees where it stopped; ours to choose."""

Show = Callable[[str], Awaitable[None]]
"""Receives the whole visible text so far, each time it has grown."""


@dataclass(slots=True)
class Asked:
    """One call of a turn: what its request fills, what was attempted in vain, and how it ended, if it has."""

    usage: PromptUsage
    counted: int = 0
    """Tokens of the request as we count them."""
    attempts: list[Attempt] = field(default_factory=list)
    completion: Completion | None = None
    outcome: str = INTERRUPTED

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
    """The model/tool loop, in its plain form."""

    def __init__(
        self,
        model: Model,
        tools: Sequence[Tool],
        *,
        builder: PromptBuilder,
        max_steps: int,
        hooks: HookCalls | None = None,
    ) -> None:
        self._model, self._builder, self._hooks = model, builder, hooks or HookCalls()
        self._tools = {tool.spec.name: tool for tool in tools}
        self._max_steps = max_steps

    def tools_for(self, turn: Turn) -> tuple[Tool, ...]:
        """The tools that this turn may use: those without a group, and those whose group is on where it is told. None
        where the model cannot call any.
        """
        groups = turn.settings.values.tool_groups
        return tuple(tool for tool in self._tools.values() if tool.is_on(groups)) if turn.limits.tools else ()

    async def answer(self, turn: Turn, prompt: Prompt, answer: Answer, show: Show) -> Prompt:
        """Fill `answer` until the model has nothing more to say or call. An answer that has tool rounds already, from
        a first try whose prompt became too long, goes on behind them (M17). Returns the prompt of the last request.

        Raises:
            ModelError: a call failed; the text shown so far is in `answer`.
        """
        for step in range(len(answer.exchanges), self._max_steps + 1):
            # After the last round the model must answer with what it has.
            tools = tuple(tool.spec for tool in self.tools_for(turn)) if step < self._max_steps else ()
            if step:
                prompt = self._builder.extend(prompt, answer.exchanges, tools=tools)
            sent, tools = await self._as_hooks_want(turn, prompt, tools, answer.exchanges)
            answer.calls.append(Asked(sent.usage, sent.counted))
            await self._hooks.on_usage(turn, sent.usage)
            completion = await self._call(turn, sent, tools, answer, show)
            await self._hooks.after_model(turn, completion)
            if not completion.tool_calls or not tools:
                answer.finish = completion.finish
                break
            calls, informed = completion.tool_calls, replace(turn, usage=sent.usage)
            results = await asyncio.gather(*(self._run_tool(informed, tools, call) for call in calls))
            exchange = ToolExchange(
                calls=calls,
                results=tuple(self._builder.cap_result(prompt, result) for result in results),
                text=completion.text,
                reasoning=completion.reasoning,
            )
            answer.exchanges.append(exchange)
        return sent

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
        )
        # Text before a tool call stays above the text that comes after it.
        before = f"{answer.text}\n\n" if answer.text else ""
        names = _names_of_persona(turn)
        others = [name for name in turn.participants if name not in names]
        visible, said, asked = reply_filter(names, others), "", answer.calls[-1]
        async with aclosing(self._model.stream(request)) as events:
            async for event in events:
                match event:
                    case TextDelta(text=text):
                        more = visible.feed(text)
                    case Attempt():
                        asked.attempts.append(event)
                        continue
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
                    return event
                if visible.stopped:
                    return self._stopped_early(answer)
        raise AssertionError("a model stream ended without a completion")

    @staticmethod
    def _stopped_early(answer: Answer) -> Completion:
        """The filter saw the model speak for others or run in circles: what came before stands as the answer."""
        completion = Completion(text=answer.text, finish=Finish.STOP)
        answer.calls[-1].complete(completion)
        return completion

    async def _run_tool(self, turn: Turn, offered: Sequence[ToolSpec], call: ToolCall) -> str:
        """The result of one call as the model reads it; a fault of the tool or of the call is told, never raised."""
        names = [spec.name for spec in offered if spec.name in self._tools]
        if call.name not in names:
            return f"Error: there is no tool {call.name!r}. The tools are: {', '.join(names)}."
        if (refusal := await self._hooks.before_tool(turn, call)) is not None:
            return f"Error: {refusal.reason}"
        try:
            result = await self._tools[call.name].run(turn, _arguments_of(call))
        except ToolError as error:
            result = f"Error: {error}"
        except Exception as error:
            log.error("tool.failed", tool=call.name, error=repr(error), exc_info=error)
            await self._hooks.on_error(Origin.TOOL, turn.session.channel, error)
            result = "Error: the tool failed. Go on without it."
        return await self._hooks.after_tool(turn, call, result)


def _arguments_of(call: ToolCall) -> Mapping[str, Any]:
    """The arguments of a call; none where a server wrote nothing, or null (L09).

    Raises:
        ToolError: they are cut or broken, so that the tool must not run (L10).
    """
    try:
        arguments = json.loads(call.arguments.strip() or "null")
    except (ValueError, RecursionError) as error:
        begun = call.arguments[:SHOWN_ARGUMENTS]
        raise ToolError(f"The arguments are no valid JSON ({error}), the tool did not run: {begun}") from error
    if not isinstance(arguments, dict | None):
        raise ToolError("The arguments must be a JSON object.")
    return arguments or {}


def _names_of_persona(turn: Turn) -> tuple[str, ...]:
    """What the model may write before its own lines: what people call the persona, and the card's full name (L15)."""
    full = (turn.persona.card.name,) if turn.persona else ()
    return tuple(dict.fromkeys((turn.persona_name, *full)))

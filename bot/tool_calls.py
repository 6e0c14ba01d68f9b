"""Runs what a model called: what may run here, with the consent of whoever asked where it takes that, within its time.

A fault of a tool or of a call is a result like any other, which the model reads. Knows no model and no platform.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from bot.hook_calls import HookCalls
from bot.hooks import Origin
from bot.llm.model import ToolCall
from bot.tools.tool import Tool, ToolError
from bot.turn import Turn

log = structlog.get_logger(__name__)

SHOWN_ARGUMENTS = 300
"""Characters of broken arguments that the model is shown, so that it sees where it stopped; ours to choose."""

MOST_AT_ONCE = 32
"""Calls of one round that run; a model that has lost its way writes hundreds, and each takes room. Ours to choose."""

PROGRESS_AFTER_SECONDS = 1.0
"""How long people see the typing sign alone before they are told what takes so long; ours to choose."""

NOTHING = "(nothing)"
"""What the model reads of a tool that said nothing: some servers refuse an empty result."""

TOO_MANY = f"Error: it did not run, as no more than {MOST_AT_ONCE} calls run at once."

Tell = Callable[[str], Awaitable[None]]
"""Receives what people are to read while tools run."""


AskConsent = Callable[[Turn, Tool, ToolCall], Awaitable[bool]]
"""Lets whoever asked decide whether a tool may run (X04)."""

Wording = Callable[[Turn, str, str], str]
"""`wording(turn, message_id, tool)`: a text of the catalogue in the language of the turn, with a tool's name in it."""


async def _nobody_consents(_turn: Turn, _tool: Tool, _call: ToolCall) -> bool:
    return False


def _unworded(_turn: Turn, message_id: str, _tool: str) -> str:
    return message_id


@dataclass(frozen=True, kw_only=True)
class ToolCalls:
    """`run_all` runs the calls of one round."""

    hooks: HookCalls = field(default_factory=HookCalls)
    ask: AskConsent = _nobody_consents
    wording: Wording = _unworded
    progress_after: float = PROGRESS_AFTER_SECONDS

    async def run_all(
        self, turn: Turn, tools: Mapping[str, Tool], calls: Sequence[ToolCall], tell: Tell
    ) -> tuple[str, ...]:
        """The result of each call, as the model reads it. They run side by side; `tools` are those that may run. What
        takes long is told once.
        """
        left_out = len(calls[MOST_AT_ONCE:])
        running = asyncio.gather(*(self._run(turn, tools, call) for call in calls[:MOST_AT_ONCE]))
        try:
            await asyncio.wait({running}, timeout=self.progress_after)
            if not running.done() and (doing := self._doing(turn, tools, calls)):
                await tell(doing)
            return (*await running, *[TOO_MANY] * left_out)
        finally:
            if not running.done():  # whoever asked said /stop
                running.cancel()
                await asyncio.wait({running})

    def _doing(self, turn: Turn, tools: Mapping[str, Tool], calls: Sequence[ToolCall]) -> str:
        """What people read of tools that are slow. Of one that asks they have read a question."""
        called = (tools[call.name] for call in calls if call.name in tools)
        slow = ((tool.progress, tool.spec.name) for tool in called if tool.progress and not tool.asks)
        return "\n".join(dict.fromkeys(self.wording(turn, progress, name) for progress, name in slow))

    async def _run(self, turn: Turn, tools: Mapping[str, Tool], call: ToolCall) -> str:
        tool = tools.get(call.name)
        if tool is None:
            log.info("tool.refused", tool=call.name[:SHOWN_ARGUMENTS], session=turn.session.channel.session_key)
            return f"Error: there is no tool {call.name[:SHOWN_ARGUMENTS]!r}. The tools are: {', '.join(tools)}."
        if (refusal := await self.hooks.before_tool(turn, call)) is not None:
            return f"Error: {refusal.reason}"
        result = await self._result(turn, tool, call) or NOTHING
        return _writable(await self.hooks.after_tool(turn, call, result))

    async def _result(self, turn: Turn, tool: Tool, call: ToolCall) -> str:
        try:
            arguments = arguments_of(call)
            if tool.asks and not await self.ask(turn, tool, call):
                raise ToolError("this was not allowed. Do not try it again unless you are asked to.")
            async with asyncio.timeout(tool.seconds):
                return await tool.run(turn, arguments)
        except ToolError as error:
            return f"Error: {error}"
        except TimeoutError:
            log.warning("tool.late", tool=call.name, seconds=tool.seconds)
            return "Error: the tool took too long and was ended. Go on without it."
        except asyncio.CancelledError as error:
            caller = asyncio.current_task()
            if caller is None or caller.cancelling():
                raise
            return await self._failed(turn, call, RuntimeError(f"the tool cancelled itself: {error!r}"))
        except Exception as error:
            return await self._failed(turn, call, error)

    async def _failed(self, turn: Turn, call: ToolCall, error: Exception) -> str:
        log.error("tool.failed", tool=call.name, error=repr(error), exc_info=error)
        await self.hooks.on_error(Origin.TOOL, turn.session.channel, error)
        return "Error: the tool failed. Go on without it."


def arguments_of(call: ToolCall) -> Mapping[str, Any]:
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
    # What stands for half a character, as `\ud83d`, can be written into no database.
    return dict(json.loads(_writable(json.dumps(arguments or {}, ensure_ascii=False))))


def _writable(text: str) -> str:
    return text.encode(errors="replace").decode()

"""Calls the hooks of all extensions, one after another; what they are is said in `bot.hooks`. Never raises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import structlog

from bot.chat import ChannelRef, Inbound, Outbound
from bot.guard import Faults, Guard
from bot.hooks import (
    DROP,
    Answered,
    Clearing,
    CompactionNews,
    Drop,
    Failure,
    Folding,
    Hooks,
    ModelInput,
    Origin,
    Refusal,
    Withheld,
)
from bot.llm.model import Completion, ToolCall
from bot.prompt.usage import PromptUsage
from bot.turn import Turn

V = TypeVar("V")
log = structlog.get_logger(__name__)

ANSWERS: dict[str, tuple[type, ...]] = {
    "on_inbound": (Inbound, Drop),
    "before_turn": (Withheld, Refusal),
    "before_model": (ModelInput,),
    "after_model": (),
    "before_tool": (Refusal,),
    "after_tool": (str,),
    "before_reply": (str, Refusal),
    "wants_reply": (bool,),
    "on_outbound": (Outbound, Drop),
    "after_turn": (),
    "on_usage": (),
    "before_folding": (Withheld, Refusal),
    "on_compaction": (),
    "on_memory_cleared": (),
    "on_error": (),
}
"""Every hook, and what it may answer besides `None`."""


class HookCalls:
    """`hooks` are those of each extension with its name. Without any, a call costs nothing worth mention."""

    def __init__(self, hooks: Sequence[tuple[str, Hooks]] = (), faults: Faults | None = None) -> None:
        faults = faults or Faults()
        self._guards = {
            name: [
                Guard(extension=owner, what=name, run=run, seconds=given.seconds, faults=faults, expects=expects)
                for owner, given in hooks
                if (run := getattr(given, name)) is not None
            ]
            for name, expects in ANSWERS.items()
        }
        self.rewrites_requests = bool(self._guards["before_model"])
        self.sees_folding = bool(self._guards["before_folding"])
        self.sees_outbound = bool(self._guards["on_outbound"])

    async def on_inbound(self, inbound: Inbound) -> Inbound | None:
        """What is to be heard; `None` = nothing."""
        return await self._passed_on("on_inbound", inbound)

    async def before_turn(self, turn: Turn) -> Withheld | Refusal | None:
        """All that no model may read of a turn, or why it must not be answered at all."""
        return await self._withheld("before_turn", turn)

    async def before_folding(self, folding: Folding) -> Withheld | Refusal | None:
        """The same of what is to be noted."""
        return await self._withheld("before_folding", folding)

    async def _withheld(self, name: str, value: Turn | Folding) -> Withheld | Refusal | None:
        withheld: list[Withheld] = []
        for guard in self._guards[name]:
            match await guard.try_call(value):
                case Refusal() as refusal:
                    return refusal
                case Withheld() as some:
                    withheld.append(some)
        if not withheld:
            return None
        messages = tuple(dict.fromkeys(message for some in withheld for message in some.messages))
        return Withheld(messages=messages, reason=withheld[0].reason)

    async def before_model(self, turn: Turn, given: ModelInput) -> ModelInput:
        """What the model is to be asked with."""
        return await self._revised("before_model", given, turn)

    async def after_model(self, turn: Turn, completion: Completion) -> None:
        """Tell what the model answered."""
        await self._tell("after_model", turn, completion)

    async def before_tool(self, turn: Turn, call: ToolCall) -> Refusal | None:
        """Why a tool must not run; the first refusal counts."""
        for guard in self._guards["before_tool"]:
            refusal: Refusal | None = await guard.try_call(turn, call)
            if refusal is not None:
                return refusal
        return None

    async def after_tool(self, turn: Turn, call: ToolCall, result: str) -> str:
        """What a tool is to have said."""
        return await self._revised("after_tool", result, turn, call)

    async def holds_reply(self, turn: Turn) -> bool:
        """Whether an answer may be shown only once it is whole."""
        return bool(await self._wanting(turn))

    async def before_reply(self, turn: Turn, text: str) -> str | Refusal:
        """What is to be answered; the first refusal counts."""
        for guard in await self._wanting(turn):
            said: str | Refusal | None = await guard.try_call(turn, text)
            if isinstance(said, Refusal):
                return said
            text = text if said is None else said
        return text

    async def _wanting(self, turn: Turn) -> list[Guard]:
        """The hooks that are to have a turn's answer; one of which that is not known has it."""
        wants = {guard.extension: guard for guard in self._guards["wants_reply"]}
        return [
            guard
            for guard in self._guards["before_reply"]
            if (asked := wants.get(guard.extension)) is None or await asked.try_call(turn) is not False
        ]

    async def on_outbound(self, channel: ChannelRef, outbound: Outbound) -> Outbound | None:
        """What is to be sent; `None` = nothing."""
        return await self._passed_on("on_outbound", outbound, channel)

    async def after_turn(self, turn: Turn, answered: Answered) -> None:
        """Tell that a turn has ended."""
        await self._tell("after_turn", turn, answered)

    async def on_usage(self, turn: Turn, usage: PromptUsage) -> None:
        """Tell what a request fills."""
        await self._tell("on_usage", turn, usage)

    async def on_compaction(self, news: CompactionNews) -> None:
        """Tell how far a compaction is."""
        await self._tell("on_compaction", news)

    async def on_memory_cleared(self, clearing: Clearing) -> None:
        """Tell that somebody cleared memory."""
        await self._tell("on_memory_cleared", clearing)

    async def on_error(self, origin: Origin, channel: ChannelRef | None, error: Exception) -> None:
        """Tell that something failed."""
        await self._tell("on_error", Failure(origin=origin, channel=channel, error=error))

    async def _passed_on(self, name: str, value: V, *before: Any) -> V | None:
        """The value as each hook in turn makes it, until one drops it; they take `before` before it."""
        for guard in self._guards[name]:
            said = await guard.try_call(*before, value)
            if said is DROP:
                log.info("extension.dropped", extension=guard.extension, what=name)
                return None
            value = value if said is None else said
        return value

    async def _revised(self, name: str, value: V, *before: Any) -> V:
        """The same of hooks that cannot drop it."""
        revised = await self._passed_on(name, value, *before)
        assert revised is not None
        return revised

    async def _tell(self, name: str, *values: Any) -> None:
        for guard in self._guards[name]:
            await guard.try_call(*values)

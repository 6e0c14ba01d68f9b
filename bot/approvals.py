"""Asks whoever asked for something whether a tool may do it, by buttons, and waits for the answer (X04).

An answer counts once, and only in the process that asked. Who may give it is decided by the command behind the buttons.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from bot.chat import Adapter, Button, Outbound, PartState, SentPart, Translate
from bot.llm.model import ToolCall
from bot.tools.tool import Tool
from bot.turn import Turn

log = structlog.get_logger(__name__)

ASK_SECONDS = 120.0
"""How long an answer is waited for; then it is no. Ours to choose."""
SHOWN_CHARS = 600
"""Of what a tool is to be called with: its beginning and its end, so that nothing is agreed to by a harmless start."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Question:
    """A question that waits for its answer."""

    token: str
    """Cannot be guessed; its buttons carry it."""
    session_id: int
    asker_key: str
    tool: str
    answer: asyncio.Future[bool]


class Approvals:
    """The open questions. `translate` words them."""

    def __init__(self, adapters: Mapping[str, Adapter], translate: Translate, *, seconds: float = ASK_SECONDS) -> None:
        self._adapters, self._translate, self._seconds = adapters, translate, seconds
        self._open: dict[str, Question] = {}

    async def ask(self, turn: Turn, tool: Tool, call: ToolCall) -> bool:
        """Whether a call may run. No where nobody is there to be asked, or nobody answers."""
        if turn.asker.is_bot or turn.raises is not None:
            return False
        question = Question(
            token=secrets.token_hex(8),  # letters and figures alone: a command reads "-x" as an option
            session_id=turn.session.id,
            asker_key=turn.asker.key,
            tool=tool.spec.name,
            answer=asyncio.get_running_loop().create_future(),
        )
        self._open[question.token] = question
        parts: tuple[SentPart, ...] = ()
        try:
            stream = await self._adapters[turn.session.channel.platform].open_reply(turn.session.channel)
            parts = await stream.finish(self._worded(question, turn, call))
            if not any(part.state is PartState.SENT for part in parts):
                return False
            async with asyncio.timeout(self._seconds):
                return await question.answer
        except TimeoutError:
            log.info("tool.not_answered", tool=question.tool, session=turn.session.channel.session_key)
            return False
        finally:
            del self._open[question.token]
            if not question.answer.done() or question.answer.cancelled():
                await self._take_away(turn, parts)  # an answer has taken the place of the others

    def find(self, session_id: int, token: str | None) -> Question | None:
        """An open question of a session; without a token the newest one."""
        here = {key: one for key, one in self._open.items() if one.session_id == session_id and not one.answer.done()}
        return here.get(token) if token else next(reversed(here.values()), None)

    @staticmethod
    def answer(question: Question, *, is_allowed: bool) -> bool:
        """Answer a question; whether it still waited."""
        if question.answer.done():
            return False
        question.answer.set_result(is_allowed)
        return True

    def _worded(self, question: Question, turn: Turn, call: ToolCall) -> Outbound:
        language = turn.settings.values.language
        locale = turn.asker.locale if language == "auto" else language
        shown = _shown(call.arguments)
        text = self._translate("tools-ask", locale)
        buttons = tuple(
            Button(label=self._translate(f"tools-{word}-label", locale), command=f"tools {word} {question.token}")
            for word in ("allow", "refuse")
        )
        return Outbound(text=f"{text}\n```\n{question.tool} {shown}\n```", buttons=(buttons,))

    async def _take_away(self, turn: Turn, parts: tuple[SentPart, ...]) -> None:
        channel = turn.session.channel
        ids = [part.message_id for part in parts if part.message_id is not None]
        if ids:
            await self._adapters[channel.platform].delete(channel, ids)


def _shown(arguments: str) -> str:
    """What a tool is to be called with, on one line and with every character to be seen."""
    line = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in " ".join(arguments.split()))
    line = line.replace("`", "'")
    half = SHOWN_CHARS // 2
    return line if len(line) <= SHOWN_CHARS else f"{line[:half]} … {line[-half:]}"

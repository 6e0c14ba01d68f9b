"""Runs one turn from opening to settling: opens it, lets the agent answer, shows the answer, stores how it ended.

The steps of DESIGN 4.8 to 4.13. Knows no platform beyond `bot.chat.Adapter`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

import structlog

from bot.agent import Agent, Answer, ToolExchange
from bot.chat import Adapter, Outbound, ReplyStream, SentPart
from bot.dispatch import Interrupted, Interruption, TurnControl, TurnRequest
from bot.greeting import Greeter
from bot.llm.model import Completion, ContextTooLong, Finish, ModelError
from bot.locale import Catalogue
from bot.opening import TurnOpener
from bot.prompt.build import Prompt, PromptBuilder
from bot.prompt.tokens import ModelTokens
from bot.store import ledger, replies
from bot.store.database import Database, Tx
from bot.store.ledger import CallRecord
from bot.store.replies import NewReply, Settled, ToolRound
from bot.store.tables import MessageKind
from bot.tasks import Tasks
from bot.turn import Turn

log = structlog.get_logger(__name__)

CUT_MARK = " …"
"""Shown at the end of an answer that was stopped."""

RETRY_BUDGET_RATIO = 0.7
"""How much of the budget the one retry takes after the server found the prompt too long (M17)."""


@dataclass(slots=True)
class _Progress:
    """One reply on its way: its row, once something of it is shown."""

    turn: Turn
    kind: MessageKind = MessageKind.REPLY
    begun: asyncio.Task[int] | None = None

    async def reply_id(self) -> int | None:
        """The reply's row; `None` while nothing has been shown."""
        return await self.begun if self.begun else None


@dataclass(frozen=True, kw_only=True)
class TurnRunner:
    """`run` is what the dispatcher calls; everything it needs comes by constructor."""

    opener: TurnOpener
    builder: PromptBuilder
    agent: Agent
    greeter: Greeter
    db: Database
    adapters: Mapping[str, Adapter]
    catalogue: Catalogue
    tokens: ModelTokens
    tasks: Tasks
    now: Callable[[], datetime]
    count: Callable[[str], int]

    async def run(self, request: TurnRequest, control: TurnControl) -> None:
        """Answer one burst."""
        turn = await self.opener.open(request)
        if turn is None:
            return
        await self._greet_once(turn)
        progress = _Progress(turn)
        stream = await self._open_reply(turn, request, control, progress)
        answer = Answer()
        try:
            prompt = await control.guard(self._answer(turn, answer, stream))
        except Interrupted as interrupted:
            await self._end_interrupted(interrupted.why, control, answer, stream, progress)
        except ModelError as error:
            log.warning("turn.failed", session=turn.session.channel.session_key, model=turn.model, error=str(error))
            await self._fail(error.kind, answer, stream, progress)
        else:
            await self._finish(prompt, answer, stream, progress)

    async def _greet_once(self, turn: Turn) -> None:
        """In a private chat the persona greets before its first answer."""
        if turn.session.channel.is_dm and turn.burst and not turn.is_greeted:
            await self.greeter.greet(
                turn.session, turn.conversation_id, turn.persona, user=turn.asker.name, position=turn.burst[0] - 1
            )

    async def _open_reply(
        self, turn: Turn, request: TurnRequest, control: TurnControl, progress: _Progress
    ) -> ReplyStream:
        async def before_send() -> None:
            await control.demand_wanted()
            new = _new_reply(turn, progress.kind)
            # A task of its own: whoever is cancelled meanwhile, the row gets there, and everybody can wait for it.
            progress.begun = self.tasks.spawn("begin reply", self.db.run(replies.begin_reply, new, self.now()))
            await asyncio.shield(progress.begun)

        return await self.adapters[turn.session.channel.platform].open_reply(
            turn.session.channel,
            reply_to=request.reply_to if turn.is_group else None,
            handle=request.reply_handle,
            before_send=before_send,
            max_parts=turn.settings.values.max_reply_messages,
        )

    async def _answer(self, turn: Turn, answer: Answer, stream: ReplyStream) -> Prompt:
        factor = self.tokens.factor(turn.model)
        tools = [tool.spec for tool in self.agent.tools_for(turn)]
        prompt = await self.builder.build(turn, factor=factor, tools=tools)
        try:
            await self.agent.answer(turn, prompt, answer, stream.update)
        except ContextTooLong as error:
            if error.given:
                self.tokens.learn(turn.model, int(prompt.tokens / factor), error.given)
            log.warning("turn.context_too_long", model=turn.model, limit=error.limit, given=error.given)
            budget = int(min(turn.budget, error.limit or turn.budget) * RETRY_BUDGET_RATIO)
            prompt = await self.builder.build(turn, factor=self.tokens.factor(turn.model), tools=tools, budget=budget)
            await self.agent.answer(turn, prompt, answer, stream.update)
        if prompt.dropped:
            self.opener.starts[turn.conversation_id] = prompt.start
        return prompt

    async def _finish(self, prompt: Prompt, answer: Answer, stream: ReplyStream, progress: _Progress) -> None:
        self._learn(progress.turn, prompt, answer)
        if not answer.text.strip():
            await self._fail(_EMPTY.get(answer.finish, "empty"), answer, stream, progress)
            return
        parts = await stream.finish(Outbound(text=answer.text))
        await self._settle(answer, parts, progress, prompt=prompt)

    async def _fail(self, kind: str, answer: Answer, stream: ReplyStream, progress: _Progress) -> None:
        """Tell people that there is no answer; what was shown before stays, marked as cut."""
        turn = progress.turn
        if progress.begun is None:
            progress.kind = MessageKind.NOTICE
        if turn.asker.is_bot:
            await stream.discard()  # a notice in answer to a bot could keep two bots talking (D07)
            parts: tuple[SentPart, ...] = ()
        else:
            parts = await stream.fail(Outbound(text=self.catalogue.text(f"model-{kind}", _locale(turn))))
        await self._settle(answer, parts, progress, cut=True)

    async def _end_interrupted(
        self, why: Interruption, control: TurnControl, answer: Answer, stream: ReplyStream, progress: _Progress
    ) -> None:
        if control.has_shown:
            parts = await stream.finish(Outbound(text=answer.text + CUT_MARK))
            await self._settle(answer, parts, progress, cut=True)
            return
        await stream.discard()
        if why in (Interruption.STOP, Interruption.RESET):
            # Nobody waits for this burst any more; it must not be answered after a restart.
            await self.db.run(replies.close_burst, _new_reply(progress.turn, MessageKind.NOTICE), self.now())

    async def _settle(
        self,
        answer: Answer,
        parts: tuple[SentPart, ...],
        progress: _Progress,
        *,
        prompt: Prompt | None = None,
        cut: bool = False,
    ) -> None:
        turn = progress.turn
        text = answer.text if progress.kind is MessageKind.REPLY else ""
        rounds = tuple(self._tool_round(exchange) for exchange in answer.exchanges)
        settled = Settled(text=text, tokens=self.count(text), parts=parts, cut=cut, rounds=rounds)
        calls = [_call_record(turn, completion, prompt) for completion in answer.completions]
        new = _new_reply(turn, progress.kind)
        await self.db.run(_store_settled, await progress.reply_id(), new, settled, calls, self.now())

    def _tool_round(self, exchange: ToolExchange) -> ToolRound:
        pairs = tuple(zip(exchange.calls, exchange.results, strict=True))
        return ToolRound(
            calls=exchange.calls,
            results=tuple((call.id, call.name, result) for call, result in pairs),
            call_tokens=sum(self.count(call.name + call.arguments) for call in exchange.calls),
            result_tokens=tuple(self.count(result) for result in exchange.results),
        )

    def _learn(self, turn: Turn, prompt: Prompt, answer: Answer) -> None:
        first = answer.completions[0] if answer.completions else None
        if first is not None and first.usage is not None and first.usage.input_tokens:
            plain = int(prompt.tokens / self.tokens.factor(turn.model))
            self.tokens.learn(turn.model, plain, first.usage.input_tokens)


_EMPTY = {Finish.FILTERED: "filtered", Finish.LENGTH: "length"}


def _locale(turn: Turn) -> str | None:
    language = turn.settings.values.language
    return turn.asker.locale if language == "auto" else language


def _new_reply(turn: Turn, kind: MessageKind) -> NewReply:
    return NewReply(
        session=turn.session,
        conversation_id=turn.conversation_id,
        persona_id=turn.persona_id,
        persona_name=turn.persona_name,
        position=turn.position,
        burst=turn.burst,
        kind=kind,
    )


def _call_record(turn: Turn, completion: Completion, prompt: Prompt | None) -> CallRecord:
    return CallRecord(
        purpose="chat",
        model=turn.model,
        outcome=completion.finish.value,
        session_id=turn.session.id,
        conversation_id=turn.conversation_id,
        persona_id=turn.persona_id,
        author_key=turn.asker.key,
        usage=completion.usage,
        estimated_tokens=prompt.tokens if prompt else 0,
        first_token_ms=completion.first_token_ms,
        total_ms=completion.total_ms,
    )


def _store_settled(
    tx: Tx, reply_id: int | None, new: NewReply, settled: Settled, calls: list[CallRecord], now: datetime
) -> None:
    if reply_id is None:
        reply_id = replies.begin_reply(tx, new, now)
    replies.settle_reply(tx, reply_id, settled, now)
    for call in calls:
        ledger.record_call(tx, call, now)

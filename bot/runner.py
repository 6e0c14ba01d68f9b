"""Runs one turn from opening to settling: opens it, lets the agent answer, shows the answer, stores how it ended.

The steps of DESIGN 4.8 to 4.13. Knows no platform beyond `bot.chat.Adapter`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import structlog

from bot.accounting import Estimate
from bot.agent import Agent
from bot.apology import own_error_text
from bot.cascade import follow
from bot.chat import Adapter, Outbound, ReplyStream, SentPart
from bot.cut import HINTS, stopped, unfinished
from bot.dispatch import Interrupted, Interruption, TurnControl, TurnRequest
from bot.greeting import Greeter
from bot.hook_calls import HookCalls
from bot.hooks import Answered, Origin
from bot.llm.model import ContextTooLong, Finish, ModelError, ModelUnreachable
from bot.locale import Catalogue
from bot.memory.keeper import Keeper
from bot.opening import TurnOpener
from bot.personas.fields import as_line
from bot.progress import Progress, PutInWords, SpeakAfter
from bot.prompt.build import Prompt, PromptBuilder
from bot.prompt.meter import Meter
from bot.prompt.tokens import ModelTokens
from bot.quota import Admission, OverBudget, Ruling
from bot.running_rounds import RunningRounds
from bot.screening import Screen, TurnRefused
from bot.settling import answer_rows, new_reply, store_settled, store_unshown, tool_round
from bot.store import replies
from bot.store.database import Database, DiskFull
from bot.store.parts import note_part
from bot.store.replies import Settled
from bot.store.tables import MessageKind
from bot.tasks import Tasks
from bot.token_lessons import learn_from_answer, learn_from_refusal, smaller_budget
from bot.turn import Turn

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class TurnRunner:
    """`run` is what the dispatcher calls; everything it needs comes by constructor."""

    opener: TurnOpener
    builder: PromptBuilder
    agent: Agent
    greeter: Greeter
    keeper: Keeper
    hooks: HookCalls
    screen: Screen
    put_in_words: PutInWords
    speak_after: SpeakAfter
    rounds: RunningRounds
    db: Database
    adapters: Mapping[str, Adapter]
    catalogue: Catalogue
    tokens: ModelTokens
    tasks: Tasks
    now: Callable[[], datetime]
    count: Callable[[str], int]
    estimate: Estimate
    meter: Meter = field(default_factory=Meter)

    async def run(self, request: TurnRequest, control: TurnControl) -> Sequence[TurnRequest]:
        """Answer one burst, or tell that it cannot be answered; where nothing is to be answered, say nothing. Returns
        the turns of other personas that follow from the answer.
        """
        try:
            turn = await self._open_turn(request)
            if turn is None:
                await self.turn_away(request)
                return ()
            progress = Progress(turn, request, control, self.estimate)
            stream = await self._open_reply(progress, request)
        except Exception as error:
            log.error("turn.not_opened", session=request.session_id, exc_info=error)
            await self.hooks.on_error(Origin.TURN, request.channel, error)
            await self._tell_unopened(request, "disk-full" if isinstance(error, DiskFull) else ModelError.kind)
            return ()
        try:
            await self._carry_out(progress, stream)
            for ruling in progress.held_back:
                self.tasks.spawn("tell of a limit", self._tell_ruling(progress, ruling))
        except DiskFull as error:
            await self._leave_unstored(progress, stream, error)
        except asyncio.CancelledError:
            await self._take_back_unseen(progress, stream)
            raise
        return progress.following

    async def _carry_out(self, progress: Progress, stream: ReplyStream) -> None:
        turn = progress.turn
        try:
            prompt = await progress.control.guard(self._answer(progress, stream))
        except Interrupted as interrupted:
            await self._end_interrupted(progress, stream, interrupted.why)
        except TurnRefused as refused:
            log.info("turn.refused", session=turn.session.channel.session_key)
            await self._refuse(progress, stream, refused.reason)
        except OverBudget as error:
            log.info("turn.over_budget", session=turn.session.channel.session_key, model=error.model)
            await self._hold_back(progress, stream, error.ruling)
        except ModelError as error:
            log.warning("turn.failed", session=turn.session.channel.session_key, model=turn.model, error=str(error))
            await self._break_off(progress, stream, error)
            await self.hooks.on_error(Origin.MODEL, turn.session.channel, error)
        except DiskFull:
            raise
        except Exception as error:
            log.error("turn.broken", session=turn.session.channel.session_key, exc_info=error)
            await self._fail(progress, stream, ModelError.kind)
            await self.hooks.on_error(Origin.TURN, turn.session.channel, error)
        else:
            await self._finish(progress, stream, prompt)

    async def _take_back_unseen(self, progress: Progress, stream: ReplyStream) -> None:
        """The process ends while the platform still keeps us waiting: what nobody has seen is answered after the
        restart (S13).
        """
        may_be_seen = await stream.discard()
        reply_id = await progress.reply_id()
        taken_back = None if may_be_seen else reply_id
        await self.db.run(store_unshown, None, taken_back, progress.take_calls(), self.now())

    async def _leave_unstored(self, progress: Progress, stream: ReplyStream, error: DiskFull) -> None:
        """Nothing more can be kept of this turn. What nobody has seen stays to be answered, with what is said next or
        after a restart; what was seen is not said again.
        """
        log.error("turn.disk_full", session=progress.turn.session.channel.session_key, problem=str(error))
        await self.hooks.on_error(Origin.TURN, progress.turn.session.channel, error)
        if not await stream.discard():
            await self._tell_unopened(progress.request, "disk-full")

    async def turn_away(self, request: TurnRequest) -> None:
        """Take back the sign that an answer to a command is coming (D10)."""
        if request.channel is not None and request.reply_handle is not None:
            adapter = self.adapters[request.channel.platform]
            await (await adapter.open_reply(request.channel, handle=request.reply_handle)).discard()

    async def _tell_unopened(self, request: TurnRequest, kind: str) -> None:
        if request.author_is_bot or request.channel is None:
            return
        reply_to = None if request.channel.is_dm else request.reply_to
        adapter = self.adapters[request.channel.platform]
        stream = await adapter.open_reply(request.channel, reply_to=reply_to, handle=request.reply_handle)
        await stream.fail(Outbound(text=self.catalogue.text(f"model-{kind}", request.locale)))

    async def _open_turn(self, request: TurnRequest) -> Turn | None:
        turn = await self.opener.open(request)
        if turn is not None and await self._greet_once(turn):
            turn = await self.opener.open(request)  # now with the greeting in its history
        return turn

    async def _greet_once(self, turn: Turn) -> bool:
        """In a private chat the persona greets before its first answer; tells whether it did."""
        if not turn.session.channel.is_dm or not turn.burst or turn.is_greeted:
            return False
        return await self.greeter.greet(
            turn.session, turn.conversation_id, turn.persona, user=turn.asker.name, position=turn.burst[0] - 1
        )

    async def _open_reply(self, progress: Progress, request: TurnRequest) -> ReplyStream:
        async def before_send() -> None:
            await progress.control.demand_wanted()
            if not progress.is_begun:
                # A task of its own: whoever is cancelled meanwhile, the row gets there, and everybody can wait for it.
                new = new_reply(progress.turn, progress.kind)
                progress.begun = self.tasks.spawn("begin reply", self.db.run(replies.begin_reply, new, self.now()))
            assert progress.begun is not None
            await asyncio.shield(progress.begun)

        channel = progress.turn.session.channel
        return await self.adapters[channel.platform].open_reply(
            channel,
            reply_to=request.reply_to if progress.turn.is_group else None,
            handle=request.reply_handle,
            before_send=before_send,
            part_shown=partial(self._note_part, progress),
            max_parts=progress.turn.settings.values.max_reply_messages,
            speaker=progress.turn.speaker,
        )

    async def _note_part(self, progress: Progress, part: SentPart) -> None:
        """Keep where people see a part of a growing answer; a fault of the database must not end what they read."""
        reply_id = await progress.reply_id()
        if reply_id is not None:
            await asyncio.wait({self.tasks.spawn("note part", self.db.run(note_part, reply_id, part))})

    async def _answer(self, progress: Progress, stream: ReplyStream) -> Prompt:
        told = await self.put_in_words(progress.turn, progress.request)
        progress.turn = turn = await self.screen.admit(told, progress.request)
        progress.is_held = await self.hooks.holds_reply(turn)
        prompt = await self._ask(progress, stream)
        if progress.answer.text.strip():
            progress.answer.text = await self.screen.judged(turn, progress.answer.text)
        progress.is_held = False
        return prompt

    async def _ask(self, progress: Progress, stream: ReplyStream) -> Prompt:
        turn, factor = progress.turn, self.tokens.factor(progress.turn.model)
        tools = [tool.spec for tool in self.agent.tools_for(turn)]
        prompt = await self.builder.build(turn, factor=factor, tools=tools)
        if not self.keeper.has_room(turn, prompt):
            progress.was_folded = True
            if await self.keeper.make_room(turn):
                reopened = await self.opener.reopen(turn, progress.request)
                turn = progress.turn = await self.screen.admit(reopened, progress.request)
                prompt = await self.builder.build(turn, factor=factor, tools=tools)
        self.meter.note(turn, prompt.usage)
        show = partial(_show_doing_alone, stream) if progress.is_held else stream.update
        ask = partial(self.agent.answer, turn, answer=progress.answer, show=show, keep=partial(self.rounds.keep, turn))
        progress.answer.exchanges = await self.rounds.resume(turn, is_recovered=progress.request.channel is None)
        try:
            last = await ask(prompt)
        except ContextTooLong as error:
            log.warning("turn.context_too_long", model=turn.model, limit=error.limit, given=error.given)
            progress.is_retry = True
            progress.answer.fail(error.kind)
            is_lesson = learn_from_refusal(self.tokens, progress, error)
            budget, factor = smaller_budget(progress, error), self.tokens.factor(turn.model)
            prompt = await self.builder.build(turn, factor=factor, tools=tools, budget=budget)
            last = await ask(prompt)
            if is_lesson:
                return prompt  # the next one fits by what was learned, and need not be as short as this
        self.opener.remember(turn, last)
        return prompt

    async def _finish(self, progress: Progress, stream: ReplyStream, prompt: Prompt) -> None:
        learn_from_answer(self.tokens, progress)
        finish = progress.answer.finish
        if finish is Finish.FILTERED or not as_line(progress.answer.text):
            await self._fail(progress, stream, _EMPTY.get(finish, "empty"))
            return
        is_cut = finish in HINTS
        parts = await stream.finish(Outbound(text=self._unfinished(progress) if is_cut else progress.answer.text))
        await self._settle(progress, parts, cut=is_cut)
        if not progress.was_folded:  # one compaction for each turn, whatever came of it (M03)
            answer = answer_rows(progress.turn, progress.answer.text, progress.answer.exchanges, self.count)
            self.keeper.after_turn(progress.turn, prompt, answer)

    def _unfinished(self, progress: Progress) -> str:
        """An answer that was cut short, with a hint of why; to a bot it is as if it was stopped."""
        turn, answer = progress.turn, progress.answer
        hint = HINTS.get(answer.finish, HINTS[Finish.INCOMPLETE])
        return stopped(answer.text) if turn.asker.is_bot else unfinished(answer.text, self._text(hint, turn))

    async def _break_off(self, progress: Progress, stream: ReplyStream, error: ModelError) -> None:
        """A call failed. What had come of an answer by then can be gone on from, as where a stream just ends (L22)."""
        if not isinstance(error, ModelUnreachable) or not as_line(progress.said):
            await self._fail(progress, stream, error.kind)
            return
        progress.answer.fail(error.kind)
        await self._settle(progress, await stream.finish(Outbound(text=self._unfinished(progress))), cut=True)

    async def _fail(self, progress: Progress, stream: ReplyStream, kind: str) -> None:
        """Tell people that there is no answer; what was shown before stays, marked as cut."""
        progress.answer.fail(kind)
        await self._close(progress, stream, own_error_text(progress.turn) or self._text(f"model-{kind}", progress.turn))

    async def _refuse(self, progress: Progress, stream: ReplyStream, reason: str) -> None:
        """Tell people that there is to be no answer; of what was made of one nothing is kept."""
        progress.answer.text, progress.answer.exchanges = "", []
        await self._close(progress, stream, reason)

    async def _hold_back(self, progress: Progress, stream: ReplyStream, ruling: Ruling) -> None:
        """A limit has no room for the answer. Whoever was told of that already reads no more of it (X10)."""
        progress.answer.fail(OverBudget.kind)
        if ruling.admission is Admission.NOTICE:
            await self._close(progress, stream, self._text(ruling.notice, progress.turn, **ruling.facts))
            return
        if not progress.said:
            progress.kind = MessageKind.NOTICE
        await self._settle(progress, await self._cut_off(progress, stream), cut=True)

    async def _cut_off(self, progress: Progress, stream: ReplyStream) -> tuple[SentPart, ...]:
        """End without a word of why: what was shown of an answer stays; what a tool was doing goes."""
        if progress.control.has_shown:
            return await stream.finish(Outbound(text=stopped(progress.said) if progress.said else ""))
        await stream.discard()
        return ()

    async def _close(self, progress: Progress, stream: ReplyStream, told: str) -> None:
        """Answer by a notice, which no prompt reads."""
        if not (progress.is_begun and progress.said):
            progress.kind = MessageKind.NOTICE
        parts: tuple[SentPart, ...] = ()
        if progress.turn.asker.is_bot or progress.turn.raises is not None or progress.request.follows is not None:
            await stream.discard()  # nobody waits for it, and in answer to a bot it could keep two talking (D07)
        else:
            parts = await stream.fail(Outbound(text=told))
        await self._settle(progress, parts, cut=True)

    async def _end_interrupted(self, progress: Progress, stream: ReplyStream, why: Interruption) -> None:
        parts = await self._cut_off(progress, stream)
        if progress.control.has_shown and progress.said:
            await self._settle(progress, parts, cut=True)
            return
        # After these nobody waits for this burst any more; it must not be answered after a restart.
        is_closed = why in (Interruption.STOP, Interruption.RESET)
        closed = new_reply(progress.turn, MessageKind.NOTICE) if is_closed else None
        await self.db.run(store_unshown, closed, await progress.reply_id(), progress.take_calls(), self.now())

    async def _settle(self, progress: Progress, parts: tuple[SentPart, ...], *, cut: bool = False) -> None:
        progress.control.is_settling = True
        self.rounds.end(progress.turn)
        text = progress.said if progress.kind is MessageKind.REPLY else ""
        rounds = tuple(tool_round(exchange, self.count) for exchange in progress.answer.exchanges)
        settled = Settled(text=text, tokens=self.count(text), parts=parts, cut=cut, rounds=rounds)
        new = new_reply(progress.turn, progress.kind)
        reply_id = await progress.reply_id()
        await self.db.run(store_settled, reply_id, new, settled, progress.take_calls(), self.now())
        if text and not cut and reply_id is not None:
            self.speak_after(progress.turn, reply_id, text, parts)
            progress.following = follow(progress.turn, progress.request, reply_id, text)
        if text:
            await self.hooks.after_turn(progress.turn, Answered(text=text, is_cut=cut, parts=parts))

    async def _tell_ruling(self, progress: Progress, ruling: Ruling) -> None:
        """Say beside an answer why another model gives it."""
        turn, channel = progress.turn, progress.turn.session.channel
        reply_to = progress.request.reply_to if turn.is_group else None
        stream = await self.adapters[channel.platform].open_reply(channel, reply_to=reply_to)
        await stream.finish(Outbound(text=self._text(ruling.notice, turn, **ruling.facts)))

    def _text(self, message_id: str, turn: Turn, **facts: str | int) -> str:
        language = turn.settings.values.language
        return self.catalogue.text(message_id, turn.asker.locale if language == "auto" else language, **facts)


async def _show_doing_alone(stream: ReplyStream, _text: str, *, doing: str = "") -> None:
    """Show nothing of an answer that is not whole yet but what it waits for."""
    if doing:
        await stream.update("", doing=doing)


_EMPTY = {Finish.FILTERED: "filtered", Finish.LENGTH: "length"}

"""Builds a turn's request: sections from stable to volatile, the history between them, within the budget.

The history is only ever appended to, so that one request is a prefix of the next (DESIGN 7).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import structlog

from bot.hooks import ModelInput
from bot.llm.model import ModelError, ModelMessage, Role, ToolSpec
from bot.prompt.draft import MESSAGE_OVERHEAD_TOKENS, SEPARATOR, Costs, Frame, Injected
from bot.prompt.messages import LEAD, ToolExchange, is_running, message_of, rows_of, thoughts_of, with_late
from bot.prompt.meter import log_counts
from bot.prompt.prefix import sent_of
from bot.prompt.pruning import Fitted, fit
from bot.prompt.rewriting import Whole, as_made, joined, late_of, rewritten, whole_of
from bot.prompt.sections import Hold, Section, Slot
from bot.prompt.shortening import cap
from bot.prompt.tool_room import fit_tools
from bot.prompt.usage import PrefixBreak, PromptUsage, counted_parts, scaled
from bot.turn import Cuts, Sent, Turn

log = structlog.get_logger(__name__)

COUNTS_KEPT = 1_024
"""Texts whose count is remembered: sections, names and quotes come again with every turn of a conversation."""

SMALLEST_ROOM = 128
"""Tokens that must be left for what people say; with less there is no talking."""


class NoRoom(ModelError):
    """The persona, the rules and the tools leave no room in the window: the operator must change one of them."""

    kind = "no-room"

    def __init__(self, turn: Turn, *, sections: int, tools: int) -> None:
        problem = (
            f"persona {turn.persona_name!r} and rules ({sections:,} tokens) with tools ({tools:,}) leave no room in "
            f"the {turn.budget:,} tokens that a prompt may fill (window {turn.window:,}, of which {turn.reserve:,} are "
            "for the answer, the rest for safety)."
        )
        super().__init__(turn.model, problem, "Take a shorter card, a larger CONTEXT_TOKENS or CONTEXT_WINDOW.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Basis:
    """What a prompt is made of before anything is left out, so that the turn's tool rounds can be added to it."""

    turn: Turn
    written: tuple[tuple[Section, str], ...]
    """The sections that have something to say, in order."""
    tools: tuple[ToolSpec, ...]
    tool_tokens: int
    frame: Frame
    verbatim: Mapping[int, ModelMessage] = field(default_factory=dict)
    """The messages that rows stand for which hooks made, by the rows' ids."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """The messages of a request, and what they cost: `counted` as we count, `tokens` as the model presumably does."""

    messages: tuple[ModelMessage, ...]
    counted: int
    tokens: int
    fixed: int
    """Of `tokens`, those of sections and tools."""
    whole: int
    """What it would be with nothing left out."""
    dropped: int
    """History messages that did not fit; they stay in the store."""
    cuts: Cuts
    """What the next prompts of the conversation leave out as well."""
    usage: PromptUsage
    sent: Sent
    """What the next prompt of the conversation should begin with."""
    basis: Basis


class PromptBuilder:
    """What building needs besides the turn: the registered sections, a token counter, a time limit per section, the
    tokens that injected sections may fill together where room is short, and the part of a window that one result of a
    tool may take.
    """

    def __init__(
        self,
        *,
        sections: Sequence[Section],
        count: Callable[[str], int],
        section_timeout_ms: int,
        injected_budget: int = 4096,
        result_ratio: float = 0.15,
    ) -> None:
        self._sections, self._section_timeout_ms = sections, section_timeout_ms
        self._injected_budget, self._result_ratio = injected_budget, result_ratio
        self._count = lru_cache(COUNTS_KEPT)(count)

    def forget(self) -> None:
        """Keep in mind no text that was counted."""
        self._count.cache_clear()

    async def build(
        self, turn: Turn, *, factor: float, tools: Sequence[ToolSpec] = (), budget: int | None = None
    ) -> Prompt:
        """The prompt of a turn, with as many of the tools as have room. `factor` is the model's safety factor; `budget`
        replaces the turn's when that was too much for the server (M17).

        Raises:
            NoRoom: what does not depend on the talk fills the budget.
        """
        texts = await asyncio.gather(*(self._section(section, turn) for section in self._sections))
        written = tuple((section, text) for section, text in zip(self._sections, texts, strict=True) if text)
        total = int((turn.budget if budget is None else budget) / factor)
        offered, tool_tokens = fit_tools(tools, total, self._tool_cost)
        frame = self._frame(written, tool_tokens + self._starter_tokens(turn), total, factor)
        if budget is not None:
            frame = replace(frame, room=max(frame.room, SMALLEST_ROOM))  # a server's word about its window may be wrong
        elif frame.room < SMALLEST_ROOM and turn.history and frame.room < _least(turn):
            sections = int((frame.firm - tool_tokens) * factor)
            raise NoRoom(turn, sections=sections, tools=int(tool_tokens * factor))
        basis = Basis(turn=turn, written=written, tools=offered, tool_tokens=tool_tokens, frame=frame)
        return self._assemble(basis, turn)

    def extend(self, prompt: Prompt, exchanges: Sequence[ToolExchange], *, tools: Sequence[ToolSpec]) -> Prompt:
        """The prompt of a turn's next request, with all its tool rounds so far behind what was asked, and without what
        has no room beside them.
        """
        basis, tool_tokens = prompt.basis, self._tool_tokens(tools)
        more = tool_tokens - basis.tool_tokens
        frame = replace(basis.frame, firm=basis.frame.firm + more, room=basis.frame.room - more)
        basis = replace(basis, tools=tuple(tools), tool_tokens=tool_tokens, frame=frame)
        rows = tuple(rows_of(basis.turn, exchanges, self._count))
        turn = replace(basis.turn, history=basis.turn.history + rows, cuts=prompt.cuts)
        next_prompt = self._assemble(basis, turn, exchanges)
        usage = replace(
            next_prompt.usage, prefix_break=_break_within(prompt, next_prompt), baseline=prompt.usage.baseline
        )
        return replace(next_prompt, usage=usage, sent=replace(next_prompt.sent, baseline=prompt.usage.baseline))

    def input_of(self, prompt: Prompt, exchanges: Sequence[ToolExchange]) -> ModelInput:
        """What a prompt and the turn's tool rounds would be with nothing left out, for hooks."""
        return ModelInput(messages=self._whole(prompt.basis, exchanges).messages, tools=prompt.basis.tools)

    def rewrite(self, prompt: Prompt, exchanges: Sequence[ToolExchange], wanted: ModelInput) -> Prompt:
        """The prompt with what hooks want in place of `input_of` it, fitted like any other."""
        basis, tool_tokens = prompt.basis, self._tool_tokens(wanted.tools)
        new = rewritten(
            self._whole(basis, exchanges),
            basis.written,
            replace(basis.turn, cuts=prompt.cuts),
            wanted.messages,
            self._count,
        )
        frame = self._frame(new.written, tool_tokens, basis.frame.room + basis.frame.firm, basis.frame.factor)
        made = self._assemble(
            replace(
                basis,
                written=new.written,
                tools=wanted.tools,
                tool_tokens=tool_tokens,
                frame=replace(frame, room=max(frame.room, min(SMALLEST_ROOM, basis.frame.room))),
                verbatim=new.verbatim,
            ),
            new.turn,
            exchanges,
        )
        # What goes of these rows says nothing about those of the next turn, and may change what is sent at any place.
        cuts = replace(made.cuts, start=prompt.cuts.start, gap=prompt.cuts.gap)
        why = made.usage.prefix_break and PrefixBreak.HOOK
        return replace(
            made,
            cuts=cuts,
            usage=replace(made.usage, prefix_break=why),
            sent=replace(made.sent, burst=basis.turn.burst, cuts=cuts),
        )

    def _whole(self, basis: Basis, exchanges: Sequence[ToolExchange]) -> Whole:
        return whole_of(basis.turn, basis.written, exchanges, self._count)

    def cap_result(self, prompt: Prompt, text: str) -> str:
        """What a tool said, within its part of the window (K02, K05)."""
        basis = prompt.basis
        limit = int(basis.turn.window * self._result_ratio / basis.frame.factor)
        return cap(text, limit, self._count)

    def _assemble(self, basis: Basis, turn: Turn, exchanges: Sequence[ToolExchange] = ()) -> Prompt:
        frame, factor = basis.frame, basis.frame.factor
        thoughts = {call: text for call, text in thoughts_of(exchanges).items() if call not in basis.verbatim}
        fitted = _with_starter(turn, fit(turn, frame, self._count, thoughts), self._starter_tokens(turn))
        texts = tuple(_as_they_go(basis, fitted))
        system, history, running = _written(turn, fitted, texts, basis.verbatim)
        late = late_of(texts)
        late = replace(late, tail=SEPARATOR.join(filter(None, (late.tail, fitted.note))))
        stable = {section.name: text for section, text in texts if section.slot is Slot.STABLE}
        sent, prefix_break = sent_of(replace(turn, cuts=fitted.cuts), (*system, *history), basis.tools, stable)
        parts = self._parts(basis, fitted, texts)
        usage = _with_baseline(turn, _usage(turn, fitted, scaled(parts, factor), prefix_break))
        counted = sum(parts.values())
        around = frame.firm + frame.examples + sum(section.tokens for section in frame.injected)
        log_counts(turn, fitted, frame, counted=counted, tools=basis.tool_tokens)
        return Prompt(
            messages=(*system, *with_late(history, late), *running),
            counted=counted,
            tokens=int(counted * factor),
            fixed=int(around * factor),
            whole=int((around + fitted.whole) * factor),
            dropped=fitted.dropped,
            cuts=fitted.cuts,
            usage=usage,
            sent=replace(sent, baseline=usage.baseline),
            basis=basis,
        )

    def _frame(self, written: Sequence[tuple[Section, str]], more: int, total: int, factor: float) -> Frame:
        """What stands around the history; `more` are tokens that go with every request besides sections."""
        cost = dict.fromkeys(Hold, 0)
        injected = []
        for section, text in written:
            tokens = self._cost(text)
            cost[section.hold] += tokens
            if section.hold is Hold.INJECTED:
                is_volatile = section.slot is not Slot.STABLE
                injected.append(Injected(name=section.name, text=text, tokens=tokens, is_volatile=is_volatile))
        firm = cost[Hold.FIRM] + more + self._markers(written)
        return Frame(
            firm=firm,
            examples=cost[Hold.EXAMPLE],
            injected=tuple(injected),
            injected_budget=self._injected_budget,
            room=total - firm,
            factor=factor,
        )

    def _parts(self, basis: Basis, fitted: Fitted, texts: Sequence[tuple[Section, str]]) -> dict[str, int]:
        """Tokens of each part as we count them."""
        parts = counted_parts((section.name, self._cost(text)) for section, text in texts)
        parts["platform"] += self._markers(basis.written) + (self._cost(fitted.note) if fitted.note else 0)
        parts["history"] += fitted.tokens - fitted.result_tokens
        parts["tool_results"] += fitted.result_tokens
        parts["tool_definitions"] += basis.tool_tokens
        return parts

    def _markers(self, written: Iterable[tuple[Section, str]]) -> int:
        """What it costs that sections stand in messages: something for each slot in use, and the words of a lead."""
        slots = {section.slot for section, _ in written}
        return MESSAGE_OVERHEAD_TOKENS * len(slots) + (self._count(LEAD) if Slot.LEAD in slots else 0)

    def _cost(self, text: str) -> int:
        return self._count(text) + self._count(SEPARATOR)

    def _starter_tokens(self, turn: Turn) -> int:
        return Costs(turn=turn, count=self._count).row(turn.starter) if turn.starter else 0

    def _tool_tokens(self, tools: Sequence[ToolSpec]) -> int:
        return sum(map(self._tool_cost, tools))

    def _tool_cost(self, tool: ToolSpec) -> int:
        return self._count(str(tool.parameters) + tool.description) + MESSAGE_OVERHEAD_TOKENS

    async def _section(self, section: Section, turn: Turn) -> str | None:
        limit = self._section_timeout_ms / 1000 if self._section_timeout_ms and section.is_timed else None
        try:
            async with asyncio.timeout(limit):
                text = await section.build(turn)
            return text if text is None or section.budget is None else cap(text, section.budget, self._count)
        except TimeoutError:
            log.warning("prompt.section_late", section=section.name)
        except Exception as error:
            log.warning("prompt.section_failed", section=section.name, error=repr(error))
        return None


def _with_starter(turn: Turn, fitted: Fitted, tokens: int) -> Fitted:
    """A thread's starter stands first, also when all that was said at its time is folded or left out (D16)."""
    starter = turn.starter
    if starter is None or any(row.id == starter.id for unit in fitted.units for row in unit):
        return fitted
    return replace(fitted, units=[(starter,), *fitted.units], tokens=fitted.tokens + tokens)


def _least(turn: Turn) -> int:
    """What the last message needs."""
    return turn.history[-1].tokens + MESSAGE_OVERHEAD_TOKENS


def _as_they_go(basis: Basis, fitted: Fitted) -> Iterator[tuple[Section, str]]:
    """The sections that go with the request, and what is left of their texts."""
    injected = {section.name: section.text for section in fitted.injected}
    for section, text in basis.written:
        if section.hold is Hold.INJECTED and section.name in injected:
            yield section, injected[section.name]
        elif section.hold is Hold.FIRM or (section.hold is Hold.EXAMPLE and not fitted.cuts.without_examples):
            yield section, text


_Messages = Sequence[ModelMessage]


def _written(
    turn: Turn,
    fitted: Fitted,
    texts: Sequence[tuple[Section, str]],
    verbatim: Mapping[int, ModelMessage],
) -> tuple[_Messages, _Messages, _Messages]:
    """The system message where there is one, the history up to what is answered, and the turn's own tool rounds."""
    stable = joined(texts, Slot.STABLE)
    system = [ModelMessage(role=Role.SYSTEM, text=stable)] if stable else []
    rows = [row for unit in fitted.units for row in unit]
    history = [
        as_made(row, verbatim[row.id]) if row.id in verbatim else message_of(row, turn, fitted.images, fitted.thoughts)
        for row in rows
    ]
    asked = next((at for at, row in enumerate(rows) if is_running(row)), len(rows))
    return system, history[:asked], history[asked:]


def _usage(turn: Turn, fitted: Fitted, parts: Mapping[str, int], prefix_break: PrefixBreak | None) -> PromptUsage:
    return PromptUsage(
        window=turn.window,
        max_tokens=turn.reserve,
        budget=turn.budget,
        parts={**parts, "reserve": turn.reserve},
        messages=sum(map(len, fitted.units)),
        dropped=fitted.dropped,
        prefix_break=prefix_break,
    )


def _with_baseline(turn: Turn, usage: PromptUsage) -> PromptUsage:
    """With what was used at first after the newest compaction: that is this, or the conversation's requests know it."""
    is_first = turn.sent is None or turn.sent.watermark != turn.watermark
    return replace(usage, baseline=usage.used if is_first or turn.sent is None else turn.sent.baseline)


def _break_within(before: Prompt, now: Prompt) -> PrefixBreak | None:
    """Why a turn's next request does not begin with the one before."""
    if before.basis.tools != now.basis.tools:
        return PrefixBreak.TOOLS
    is_same = now.messages[: len(before.messages)] == before.messages
    return None if is_same else PrefixBreak.PRUNING

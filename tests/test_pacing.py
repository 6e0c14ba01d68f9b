"""A growing answer on a scripted transport, under a clock that only the tests move."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from adapters.pacing import PacedReply, Refused, Uncertain, Unreachable, Wait
from bot.chat import Outbound, PartState, SentPart
from bot.tasks import Tasks

SENT, UNCERTAIN, FAILED = PartState.SENT, PartState.UNCERTAIN, PartState.FAILED
CURSOR = "▌"


class Clock:
    """Seconds that pass when a test says so; whoever sleeps wakes in order."""

    def __init__(self) -> None:
        self.now = 100.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + seconds, next(self._numbers), woken))
        await woken

    async def advance(self, seconds: float) -> None:
        end = self.now + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= end + 1e-9:
            moment, _, woken = heapq.heappop(self._sleepers)
            self.now = max(self.now, moment)
            if not woken.done():
                woken.set_result(None)
            await settle()
        self.now = end


async def settle() -> None:
    """Let everything run that can run without time passing."""
    for _ in range(30):
        await asyncio.sleep(0)


Fault = Wait | Unreachable | Uncertain | Refused


@dataclass
class Stage:
    """The scripted platform: what was asked of it and when, and what people see. `faults` come before success."""

    clock: Clock
    limit: int = 20
    drafts: bool = False
    faults: dict[str, list[Fault | None]] = field(default_factory=dict)
    delivers_uncertain: bool = True
    gate: asyncio.Event | None = None
    """Requests that show something wait for it."""
    log: list[tuple[float, str, str]] = field(default_factory=list)
    messages: dict[str, str] = field(default_factory=dict)
    draft_text: str = ""

    def render(self, outbound: Outbound, *, final: bool) -> list[str]:
        text = outbound.text.strip() + ("" if final or not outbound.text.strip() else CURSOR)
        return [text[i : i + self.limit] for i in range(0, len(text), self.limit)]

    async def send(self, part: str, ordinal: int) -> str:
        message_id = f"m{len([entry for entry in self.log if entry[1] == 'send'])}"
        await self._carry_out("send", part, lambda: self.messages.__setitem__(message_id, part))
        return message_id

    async def edit(self, message_id: str, part: str, ordinal: int) -> None:
        await self._carry_out("edit", part, lambda: self.messages.__setitem__(message_id, part))

    async def draft(self, part: str) -> None:
        def show() -> None:
            self.draft_text = part

        await self._carry_out("draft", part, show)

    async def delete(self, message_id: str) -> None:
        await self._carry_out("delete", message_id, lambda: self.messages.pop(message_id, None))

    async def typing(self) -> None:
        await self._carry_out("typing", "", lambda: None)

    async def _carry_out(self, verb: str, what: str, effect: Callable[[], object]) -> None:
        self.log.append((round(self.clock.now - 100, 3), verb, what))
        if self.gate and verb != "typing":
            await self.gate.wait()
        script = self.faults.get(verb, [])
        fault = script.pop(0) if script else None
        if fault is None or (isinstance(fault, Uncertain) and self.delivers_uncertain):
            effect()
        if fault is not None:
            raise fault

    def verbs(self, *, without: str = "typing") -> list[str]:
        return [verb for _, verb, _ in self.log if verb != without]

    def times(self, verb: str) -> list[float]:
        return [moment for moment, logged, _ in self.log if logged == verb]

    @property
    def seen(self) -> str:
        return "".join(self.messages.values())


@pytest.fixture
async def clock() -> Clock:
    return Clock()


@pytest.fixture
async def stage(clock: Clock) -> Stage:
    return Stage(clock)


@pytest.fixture
async def open_reply(clock: Clock, stage: Stage) -> AsyncIterator[Callable[..., PacedReply[str]]]:
    """Opens replies, and sees to it that each leaves no task."""
    tasks = Tasks()

    def open_one(**options: Any) -> PacedReply[str]:
        return PacedReply(stage, spawn=tasks.spawn, clock=clock, sleep=clock.sleep, **options)

    yield open_one
    await settle()
    left = [task.get_name() for task in tasks._running]
    await tasks.close()
    assert left == []


async def finish(reply: PacedReply[str], clock: Clock, text: str, *, within: float = 300) -> tuple[SentPart, ...]:
    return await ended(reply.finish(Outbound(text=text)), clock, within)


async def ended(ending: Any, clock: Clock, within: float = 300) -> tuple[SentPart, ...]:
    task = asyncio.ensure_future(ending)
    await clock.advance(within)
    assert task.done()
    return await task


def states(parts: tuple[SentPart, ...]) -> list[PartState]:
    assert [part.ordinal for part in parts] == list(range(len(parts)))
    return [part.state for part in parts]


# --- While it grows


async def test_a_fast_answer_is_one_request(open_reply: Any, stage: Stage, clock: Clock) -> None:
    reply = open_reply()
    await reply.update("Hel")
    await clock.advance(0.2)
    parts = await finish(reply, clock, "Hello")
    assert stage.log == [(0.2, "send", "Hello")]
    assert parts == (SentPart(ordinal=0, message_id="m0", state=SENT),)


async def test_the_typing_sign_comes_after_the_quiet_time_and_is_repeated(
    open_reply: Any, stage: Stage, clock: Clock
) -> None:
    reply = open_reply()
    await clock.advance(10)
    assert stage.log == [(0.3, "typing", ""), (4.8, "typing", ""), (9.3, "typing", "")]
    await finish(reply, clock, "Done")
    assert stage.verbs(without="") == ["typing", "typing", "typing", "send"]


async def test_the_typing_sign_rests_while_text_grows_and_returns_when_it_stalls(
    open_reply: Any, stage: Stage, clock: Clock
) -> None:
    reply = open_reply()
    for second in range(6):
        await reply.update("word " * (second + 1))
        await clock.advance(1)
    assert stage.times("typing") == []
    await clock.advance(9)
    assert len(stage.times("typing")) == 2
    await reply.discard()


@pytest.mark.parametrize("fault", [Refused(), Unreachable(), Uncertain()])
async def test_D14_a_typing_sign_that_fails_does_no_harm(
    open_reply: Any, stage: Stage, clock: Clock, fault: Fault
) -> None:
    stage.faults["typing"] = [fault] * 9
    reply = open_reply()
    await clock.advance(20)
    assert len(stage.times("typing")) == (1 if isinstance(fault, Refused) else 5)
    assert states(await finish(reply, clock, "Hello")) == [SENT]


async def test_D24_three_hundred_chunks_in_ten_seconds_are_at_most_eleven_edits(
    open_reply: Any, stage: Stage, clock: Clock
) -> None:
    stage.limit = 2000
    reply = open_reply()
    for number in range(300):
        await reply.update("x" * (number + 1))
        await clock.advance(10 / 300)
    await finish(reply, clock, "x" * 300)
    assert stage.verbs().count("send") == 1
    assert stage.verbs().count("edit") <= 11
    moments = stage.times("send") + stage.times("edit")
    assert all(later - earlier >= 0.999 for earlier, later in itertools.pairwise(moments[:-1]))
    assert stage.seen == "x" * 300


async def test_only_parts_that_changed_are_edited(open_reply: Any, stage: Stage, clock: Clock) -> None:
    reply = open_reply()
    text = "a" * 20 + "b" * 20 + "c" * 20
    for length in (15, 30, 35, 50):
        await reply.update(text[:length])
        await clock.advance(1)
    parts = await finish(reply, clock, text)
    assert [entry[1:] for entry in stage.log] == [
        ("send", "a" * 15 + CURSOR),
        ("edit", "a" * 20),
        ("send", "b" * 10 + CURSOR),
        ("edit", "b" * 15 + CURSOR),
        ("edit", "b" * 20),
        ("send", "c" * 10 + CURSOR),
        ("edit", "c" * 20),
    ]
    assert [part.message_id for part in parts] == ["m0", "m1", "m2"]


async def test_a_final_text_that_is_shown_already_needs_no_request(open_reply: Any, stage: Stage, clock: Clock) -> None:
    stage.limit = 6
    reply = open_reply()
    await reply.update("Hello!?")
    await clock.advance(1)
    assert states(await finish(reply, clock, "Hello!")) == [SENT]
    assert [entry[1:] for entry in stage.log] == [("send", "Hello!"), ("send", "?" + CURSOR), ("delete", "m1")]


async def test_drafts_show_the_growing_text_and_only_the_final_text_is_sent(
    open_reply: Any, stage: Stage, clock: Clock
) -> None:
    stage.drafts = True
    reply = open_reply()
    for length in (10, 30):
        await reply.update("a" * length)
        await clock.advance(1)
    assert stage.draft_text == "a" * 10 + CURSOR
    parts = await finish(reply, clock, "a" * 30)
    assert stage.verbs() == ["draft", "draft", "send", "send"]
    assert states(parts) == [SENT, SENT]
    assert stage.seen == "a" * 30


# --- Faults while it grows


async def test_T07_a_wait_stops_every_request_and_ends_in_one_edit_with_the_full_text(
    open_reply: Any, stage: Stage, clock: Clock
) -> None:
    stage.limit = 2000
    stage.faults["edit"] = [None, None, None, Wait(35)]
    reply = open_reply()
    for number in range(60):
        await reply.update("word " * (number + 1))
        await clock.advance(1)
        if len(stage.times("edit")) == 4:
            break
    blocked = stage.times("edit")[-1]
    await reply.update("word " * 100)
    await clock.advance(34)
    assert stage.log[-1][0] == blocked
    await clock.advance(1)
    assert stage.log[-1] == (blocked + 35, "edit", ("word " * 100).strip() + CURSOR)
    await finish(reply, clock, "word " * 100)
    assert stage.times("send") == [0.3]
    assert stage.seen == ("word " * 100).strip()


async def test_T22_the_final_text_waits_as_long_as_the_platform_asks(
    open_reply: Any, stage: Stage, clock: Clock
) -> None:
    stage.faults["edit"] = [Wait(35)]
    reply = open_reply()
    await reply.update("Hello")
    await clock.advance(1)
    await reply.update("Hello you")
    await clock.advance(1)
    parts = await finish(reply, clock, "Hello you all")
    assert [entry for entry in stage.log if entry[1] != "typing"] == [
        (0.3, "send", "Hello" + CURSOR),
        (1.3, "edit", "Hello you" + CURSOR),
        (36.3, "edit", "Hello you all"),
    ]
    assert states(parts) == [SENT]


async def test_a_wait_for_the_typing_sign_holds_the_text_back(open_reply: Any, stage: Stage, clock: Clock) -> None:
    stage.faults["typing"] = [Wait(5)]
    reply = open_reply()
    await clock.advance(1)
    await finish(reply, clock, "Hello")
    assert stage.log == [(0.3, "typing", ""), (5.3, "send", "Hello")]


@pytest.mark.parametrize("verb", ["send", "edit"])
async def test_an_unreachable_platform_is_tried_again_with_the_next_update(
    open_reply: Any, stage: Stage, clock: Clock, verb: str
) -> None:
    stage.faults[verb] = [Unreachable()] * 3
    reply = open_reply()
    for text in ("a", "ab", "abc", "abcd", "abcde", "abcdef"):
        await reply.update(text)
        await clock.advance(1)
    assert states(await finish(reply, clock, "abcdef")) == [SENT]
    assert stage.messages == {f"m{3 if verb == 'send' else 0}": "abcdef"}


async def test_an_edit_that_is_refused_ends_the_updates_and_the_final_text_is_a_new_message(
    open_reply: Any, stage: Stage, clock: Clock
) -> None:
    reply = open_reply()
    await reply.update("Hello")
    await clock.advance(1)
    del stage.messages["m0"]  # somebody deleted it
    stage.faults["edit"] = [Refused(), Refused()]
    for number in range(5):
        await reply.update("Hello " + "y" * number)
        await clock.advance(1)
    parts = await finish(reply, clock, "Hello you")
    assert stage.verbs() == ["send", "edit", "edit", "send", "delete"]
    assert states(parts) == [SENT]
    assert stage.seen == "Hello you"


async def test_parts_behind_a_replaced_one_are_replaced_as_well_to_keep_the_order(
    open_reply: Any, stage: Stage, clock: Clock
) -> None:
    reply = open_reply()
    await reply.update("a" * 19)
    await clock.advance(1)
    stage.faults["edit"] = [Unreachable(), Refused()]
    await reply.update("a" * 20 + "b" * 20 + "c")
    parts = await finish(reply, clock, "a" * 20 + "b" * 20 + "c")
    assert list(stage.messages.values()) == ["a" * 20, "b" * 20, "c"]
    assert "m0" not in stage.messages
    assert states(parts) == [SENT, SENT, SENT]


async def test_an_uncertain_update_is_not_sent_again_but_the_final_text_is_whole(
    open_reply: Any, stage: Stage, clock: Clock
) -> None:
    stage.faults["send"] = [Uncertain()]
    stage.delivers_uncertain = False
    reply = open_reply()
    for number in range(5):
        await reply.update("Hello " + "y" * number)
        await clock.advance(1)
    assert stage.verbs() == ["send"]
    assert states(await finish(reply, clock, "Hello you")) == [SENT]
    assert stage.seen == "Hello you"


# --- The final text


@pytest.mark.parametrize(
    ("faults", "expected", "verbs"),
    [
        ([Unreachable()], [SENT], ["send"] * 2),
        ([Unreachable()] * 3, [SENT], ["send"] * 4),
        ([Unreachable()] * 4, [FAILED], ["send"] * 4),
        ([Wait(60)], [SENT], ["send"] * 2),
        ([Wait(60), Wait(50)], [SENT], ["send"] * 3),
        ([Wait(60), Wait(61)], [FAILED], ["send"] * 2),
        ([Wait(3600)], [FAILED], ["send"]),
        ([Refused()], [FAILED], ["send"]),
    ],
)
async def test_the_final_text_is_insisted_on_within_the_patience(
    open_reply: Any, stage: Stage, clock: Clock, faults: list[Fault | None], expected: list[PartState], verbs: list[str]
) -> None:
    stage.faults["send"] = list(faults)
    assert states(await finish(open_reply(), clock, "Hello")) == expected
    assert stage.verbs() == verbs


async def test_repetitions_keep_growing_distances(open_reply: Any, stage: Stage, clock: Clock) -> None:
    stage.faults["send"] = [Unreachable()] * 4
    await finish(open_reply(), clock, "Hello")
    assert stage.times("send") == [0, 1, 3, 7]


async def test_T14_an_uncertain_part_is_never_sent_again_and_the_rest_follows(
    open_reply: Any, stage: Stage, clock: Clock
) -> None:
    stage.faults["send"] = [None, Uncertain()]
    parts = await finish(open_reply(), clock, "a" * 20 + "b" * 20 + "c")
    assert states(parts) == [SENT, UNCERTAIN, SENT]
    assert [part.message_id for part in parts] == ["m0", None, "m2"]
    assert list(stage.messages.values()) == ["a" * 20, "b" * 20, "c"]


async def test_T14_an_uncertain_update_that_showed_the_final_part_is_left_alone(
    open_reply: Any, stage: Stage, clock: Clock
) -> None:
    stage.faults["send"] = [Uncertain()]
    reply = open_reply()
    await reply.update("a" * 20 + "b")
    await clock.advance(1)
    parts = await finish(reply, clock, "a" * 20 + "bb")
    assert states(parts) == [UNCERTAIN, SENT]
    assert stage.seen == "a" * 20 + "bb"


async def test_an_uncertain_final_edit_is_uncertain(open_reply: Any, stage: Stage, clock: Clock) -> None:
    reply = open_reply()
    await reply.update("Hello")
    await clock.advance(1)
    stage.faults["edit"] = [Uncertain()]
    parts = await finish(reply, clock, "Hello you")
    assert parts == (SentPart(ordinal=0, message_id="m0", state=UNCERTAIN),)


async def test_parts_behind_a_failed_one_are_not_tried_and_what_was_shown_stays(
    open_reply: Any, stage: Stage, clock: Clock
) -> None:
    reply = open_reply()
    await reply.update("a" * 19)
    await clock.advance(1)
    stage.faults = {"edit": [Refused()], "send": [Refused()]}
    parts = await finish(reply, clock, "a" * 20 + "b" * 20 + "c")
    assert states(parts) == [FAILED, FAILED, FAILED]
    assert stage.verbs() == ["send", "edit", "send"]
    assert stage.seen == "a" * 19 + CURSOR


@pytest.mark.parametrize("blank", ["", "\n \n"])
async def test_D12_a_blank_text_sends_nothing(open_reply: Any, stage: Stage, clock: Clock, blank: str) -> None:
    reply = open_reply()
    await reply.update(blank)
    await clock.advance(2)
    assert await finish(reply, clock, blank) == ()
    assert stage.verbs() == []


async def test_a_request_under_way_is_awaited_before_the_final_one(open_reply: Any, stage: Stage, clock: Clock) -> None:
    stage.gate = asyncio.Event()
    reply = open_reply()
    await reply.update("Hello")
    await clock.advance(1)
    finishing = asyncio.ensure_future(reply.finish(Outbound(text="Hello you")))
    await settle()
    assert stage.verbs() == ["send"]
    stage.gate.set()
    assert states(await finishing) == [SENT]
    assert stage.messages == {"m0": "Hello you"}


async def test_updates_after_the_end_are_ignored(open_reply: Any, stage: Stage, clock: Clock) -> None:
    reply = open_reply()
    await finish(reply, clock, "Hello")
    await reply.update("Hello again")
    await clock.advance(5)
    assert stage.seen == "Hello"


# --- Other ends


async def test_a_failure_before_anything_was_shown_is_told_alone(open_reply: Any, stage: Stage, clock: Clock) -> None:
    reply = open_reply()
    await reply.update("Hel")
    assert states(await ended(reply.fail(Outbound(text="It failed.")), clock)) == [SENT]
    assert stage.messages == {"m0": "It failed."}


@pytest.mark.parametrize("drafts", [False, True])
async def test_a_failure_keeps_what_was_shown_and_is_told_after_it(
    open_reply: Any, stage: Stage, clock: Clock, drafts: bool
) -> None:
    stage.drafts = drafts
    reply = open_reply()
    await reply.update("Hel")
    await clock.advance(1)
    parts = await ended(reply.fail(Outbound(text="It failed.")), clock)
    assert states(parts) == [SENT, SENT]
    assert stage.messages == {"m0": "Hel", "m1": "It failed."}


async def test_a_discarded_reply_sends_nothing_more(open_reply: Any, stage: Stage, clock: Clock) -> None:
    reply = open_reply()
    await reply.update("Hel")
    await reply.discard()
    await clock.advance(30)
    assert stage.log == []


@pytest.mark.parametrize("shows_updates", [False, True])
@pytest.mark.parametrize("drafts", [False, True])
async def test_S16_the_core_is_told_once_and_before_anything_is_visible(
    open_reply: Any, stage: Stage, clock: Clock, shows_updates: bool, drafts: bool
) -> None:
    stage.drafts = drafts
    told: list[list[str]] = []

    async def before_send() -> None:
        told.append(stage.verbs())

    reply = open_reply(before_send=before_send)
    if shows_updates:
        await reply.update("Hel")
        await clock.advance(1)
        await reply.update("Hello " * 9)
        await clock.advance(1)
    await finish(reply, clock, "Hello " * 9)
    assert told == [[]]


async def test_nothing_is_sent_when_the_core_cannot_be_told(open_reply: Any, stage: Stage, clock: Clock) -> None:
    async def before_send() -> None:
        raise OSError("disk full")

    reply = open_reply(before_send=before_send)
    await reply.update("Hel")
    await clock.advance(1)
    with pytest.raises(OSError, match="disk full"):
        await reply.finish(Outbound(text="Hello"))
    assert stage.verbs() == []


async def test_a_reply_can_be_discarded_while_the_core_holds_it_back(
    open_reply: Any, stage: Stage, clock: Clock
) -> None:
    async def before_send() -> None:
        await asyncio.Event().wait()

    reply = open_reply(before_send=before_send)
    await reply.update("Hel")
    await clock.advance(1)
    await reply.discard()
    assert stage.verbs() == []


@pytest.mark.parametrize("moment", ["request under way", "waiting for the platform"])
async def test_a_cancelled_finish_leaves_no_task(open_reply: Any, stage: Stage, clock: Clock, moment: str) -> None:
    if moment == "request under way":
        stage.gate = asyncio.Event()
    else:
        stage.faults["edit"] = [Wait(100)]
    reply = open_reply()
    await reply.update("Hel")
    await clock.advance(1)
    finishing = asyncio.ensure_future(reply.finish(Outbound(text="Hello")))
    await settle()
    finishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await finishing


async def test_the_pace_is_a_choice(open_reply: Any, stage: Stage, clock: Clock) -> None:
    reply = open_reply(quiet=timedelta(seconds=1), interval=timedelta(seconds=3))
    for number in range(9):
        await reply.update("x" * (number + 1))
        await clock.advance(1)
    await finish(reply, clock, "x" * 10)
    assert stage.times("send") == [1]
    assert stage.times("edit") == [4, 7, 9]

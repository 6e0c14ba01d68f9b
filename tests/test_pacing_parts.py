"""What a reply tells of its messages while it has more to come, so that a crash leaves none that nobody knows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from adapters.pacing import Refused, Uncertain
from bot.chat import Outbound, PartState, SentPart
from tests.pacing_stage import Fault, Play


@pytest.fixture
async def play() -> AsyncIterator[Play]:
    async with Play() as play:
        yield play


class Notes:
    """Keeps what it is told, beside what people could see at that time."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self.told: list[tuple[int, str | None]] = []

    async def __call__(self, part: SentPart) -> None:
        """One message is shown."""
        assert part.state is PartState.SENT
        assert part.message_id in self._play.stage.messages
        self.told.append((part.ordinal, part.message_id))


@pytest.mark.parametrize(
    ("text", "faults", "told"),
    [
        ("one request", [], []),
        ("a" * 20 + "b", [], [(0, "m0")]),
        ("a" * 20 + "b" * 20 + "c", [], [(0, "m0"), (1, "m1")]),
        ("a" * 20 + "b" * 20 + "c", [Uncertain()], [(1, "m1")]),
        ("a" * 20 + "b" * 20 + "c", [None, Refused()], [(0, "m0")]),
        ("", [], []),
    ],
)
async def test_of_an_answer_shown_at_its_end_all_messages_but_the_last_are_told(
    play: Play, text: str, faults: list[Fault | None], told: list[tuple[int, str]]
) -> None:
    notes = Notes(play)
    play.stage.faults["send"] = faults
    await play.finish(play.open_reply(part_shown=notes), text)
    assert notes.told == told


async def test_S16_each_message_of_a_growing_answer_is_told_once(play: Play) -> None:
    notes = Notes(play)
    reply = play.open_reply(part_shown=notes)
    for length, told in ((5, [(0, "m0")]), (15, [(0, "m0")]), (35, [(0, "m0"), (1, "m1")])):
        await reply.update("x" * length)
        await play.clock.advance(2)
        assert notes.told == told
    await play.finish(reply, "x" * 36)
    assert notes.told == [(0, "m0"), (1, "m1")]


async def test_a_message_that_took_the_place_of_another_is_told_when_more_follows(play: Play) -> None:
    notes = Notes(play)
    reply = play.open_reply(part_shown=notes)
    await reply.update("x" * 5)
    await play.clock.advance(2)
    play.stage.faults["edit"] = [Refused()]
    parts = await play.finish(reply, "x" * 30)
    assert notes.told == [(0, "m0"), (0, "m1")]
    assert [part.message_id for part in parts] == [*play.stage.messages] == ["m1", "m2"]


async def test_drafts_have_no_ids_to_tell(play: Play) -> None:
    notes = Notes(play)
    play.stage.drafts = True
    reply = play.open_reply(part_shown=notes)
    await reply.update("x" * 15)
    await play.clock.advance(2)
    assert play.stage.draft_text
    await play.finish(reply, "x" * 16)
    assert notes.told == []


async def test_what_follows_a_failed_answer_is_told_like_any_end(play: Play) -> None:
    notes = Notes(play)
    reply = play.open_reply(part_shown=notes, quiet=timedelta(0))
    await reply.update("half of it")
    await play.clock.advance(1)
    await play.ended(reply.fail(Outbound(text="no more")))
    assert notes.told == [(0, "m0")]

"""Limits by day and month: what is spent is counted, what is used up costs no call, and nobody overspends."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import select

from bot.chat import ChannelRef, InboundKind, Visibility
from bot.llm.model import ModelMessage, Role, Usage
from bot.quota import OverBudget
from bot.quota.purse import RESERVED_FOR
from bot.store import budgets
from bot.store.budgets import Reservation
from bot.store.database import Database
from bot.store.memory_tables import compactions
from bot.store.sessions import session_by_id
from bot.testing import NOW, Reply, ScriptedModel, make_author, make_channel, make_inbound
from tests.conftest import MakeApp
from tests.folding import GIST, SMALL
from tests.spending import PRICED, USED, ask, open_limited, quota, settle, spent
from tests.talking import ALICE, BOB, DM, GROUP

UNTIL = {"day": "2026-11-02 00:00 UTC", "month": "2026-12-01 00:00 UTC"}


@pytest.mark.parametrize("whose", ["person", "place", "total"])
@pytest.mark.parametrize("period", ["day", "month"])
async def test_X10_what_is_used_up_costs_no_call_and_is_told_once(make_app: MakeApp, whose: str, period: str) -> None:
    chat = await open_limited(make_app, quota=quota(**{whose: {f"tokens_per_{period}": 3_000}}))
    told = await ask(chat, 6)
    assert len(chat.model.requests) == 3
    assert (told[:3], told[4:]) == ([["ok"]] * 3, [[], []]), "one notice in all"
    assert UNTIL[period] in told[3][0]


async def test_X10_a_persons_limit_is_their_own_and_a_places_is_shared(make_app: MakeApp) -> None:
    limits = quota(person={"tokens_per_day": 2_000}, place={"tokens_per_day": 5_000})
    chat = await open_limited(make_app, quota=limits)
    mine = await ask(chat, 3, channel=GROUP)
    assert [len(chat.model.requests), "you may use" in mine[2][0]] == [2, True]
    for author in (BOB, make_author("Carol")):
        theirs = await ask(chat, 2, author=author, channel=GROUP)
    assert len(chat.model.requests) == 5, "the place has no more"
    assert "used here" in theirs[1][0]
    assert await ask(chat, 1, author=make_author("Dave"), channel=GROUP) == [[]], "a place hears it once"
    assert await ask(chat, 1, author=make_author("Dave")) == [["ok"]], "another place has its own"


async def test_the_whole_bots_limit_stops_all_spending_and_each_place_hears_so_once(make_app: MakeApp) -> None:
    limits = quota(total={"tokens_per_day": 1_000}, exempt_users=["fake:alice"])
    chat = await open_limited(make_app, quota=limits)
    await ask(chat, 1)
    told = [await ask(chat, 2, author=author, channel=channel) for author, channel in ((BOB, GROUP), (ALICE, DM))]
    assert len(chat.model.requests) == 1, "nobody is exempt from it"
    assert all("all that I may spend until 2026-11-02" in first[0] and second == [] for first, second in told)


@pytest.mark.parametrize("exempt", [{"exempt_users": ["fake:alice"]}, {"exempt_roles": ["fake:7"]}])
async def test_those_who_are_exempt_have_no_limits_but_the_whole_bots(
    make_app: MakeApp, exempt: dict[str, list[str]]
) -> None:
    tight = {"tokens_per_day": 1_000}
    chat = await open_limited(make_app, quota=quota(person=tight, place=tight, place_messages_per_minute=1, **exempt))
    await ask(chat, 4, author=replace(ALICE, roles=frozenset({"7"})), channel=GROUP)
    assert len(chat.model.requests) == 4
    await ask(chat, 3, author=BOB, channel=GROUP)
    assert len(chat.model.requests) == 5, "Bob's own limit is whole: what she spent counted against nobody's"


async def test_whoever_comes_near_a_limit_is_told_once_and_answered_all_the_same(make_app: MakeApp) -> None:
    chat = await open_limited(make_app, quota=quota(person={"tokens_per_day": 5_000}, warn_at=0.6))
    told = await ask(chat, 5)
    assert [len(one) for one in told] == [1, 1, 1, 2, 1]
    assert told[3][0].startswith("You have used 60 % of what you may use until 2026-11-02")
    assert told[3][1] == "ok"


async def test_a_new_day_begins_by_the_time_zone_of_the_settings(make_app: MakeApp) -> None:
    limits = quota(person={"tokens_per_day": 1_000})
    chat = await open_limited(make_app, timezone="Asia/Tokyo", quota=limits)
    told = await ask(chat, 2)
    assert "2026-11-02 00:00 Asia/Tokyo" in told[1][0]
    assert await spent(chat) == {("person", "2026-11-01", "tokens"): 1_000}


async def test_a_limit_that_is_set_today_counts_what_was_spent_before(make_app: MakeApp) -> None:
    before = await open_limited(make_app, quota=quota())
    await ask(before, 2)
    assert await spent(before) == {}, "without a limit nothing is counted"
    await before.app.close()
    after = await open_limited(make_app, quota=quota(person={"tokens_per_month": 3_000}))
    await ask(after, 2)
    assert len(after.model.requests) == 1


async def test_totals_survive_reset_and_restart(make_app: MakeApp) -> None:
    limits = quota(person={"tokens_per_day": 2_000})
    before = await open_limited(make_app, quota=limits)
    await ask(before, 1)
    await before.say("/reset")
    await before.app.close()
    after = await open_limited(make_app, quota=limits)
    told = await ask(after, 3)
    assert len(after.model.requests) == 1
    assert (told[0], told[2]) == (["ok"], [])


async def test_money_is_limited_like_tokens(make_app: MakeApp) -> None:
    chat = await open_limited(make_app, providers=PRICED, quota=quota(place={"money_per_day": 2}))
    told = await ask(chat, 3)
    assert len(chat.model.requests) == 2
    assert "2.00 USD" in told[2][0]
    assert await spent(chat) == {("place", "2026-11-01", "USD"): 2_000_000_000}


async def test_a_model_whose_price_nobody_knows_is_not_asked_where_money_is_limited(make_app: MakeApp) -> None:
    unknown = {"test": {"base_url": "https://models.example/v1"}}
    chat = await open_limited(make_app, providers=unknown, quota=quota(total={"money_per_month": 5}))
    told = await ask(chat, 2)
    assert chat.model.requests == []
    assert (told[0][0].startswith("What I spend is limited in money"), told[1]) == (True, [])


async def test_a_model_at_home_costs_nothing(make_app: MakeApp) -> None:
    chat = await open_limited(make_app, quota=quota(person={"money_per_day": 0.01}))
    assert await ask(chat, 3) == [["ok"]] * 3


async def test_a_command_for_one_more_answer_is_refused_before_anything_is_taken_back(make_app: MakeApp) -> None:
    chat = await open_limited(make_app, quota=quota(person={"tokens_per_day": 1_000}))
    await ask(chat, 1)
    for command in ("/retry", "/continue"):
        (told,) = await chat.say(command)
        assert told.startswith("What you may use until")
    assert len(chat.model.requests) == 1
    (shown,) = await chat.say("/history")
    assert "ok" in shown, "the answer stands"


@pytest.mark.parametrize("most", [1_000, 1_100])
async def test_where_nothing_is_left_no_notes_are_taken_and_requests_are_pruned(make_app: MakeApp, most: int) -> None:
    limits = quota(place={"tokens_per_day": most}, exempt_users=["fake:alice"])
    chat = await open_limited(make_app, quota=limits, context_tokens=2_048, reserve_ratio=0.0)
    await ask(chat, 1, author=BOB, channel=GROUP)
    for number in range(30):
        await chat.say(f"{number} " + "words of all kinds " * 20, channel=GROUP)
    assert len(chat.model.requests) == 31, "whoever is exempt is answered"
    assert "29 words" in chat.last_prompt[-1][1]
    assert not any("0 words" in text for _, text in chat.last_prompt[:3]), "old messages have no room"
    assert chat.model.summaries == []
    assert await chat.app.core.db.read(lambda tx: tx.execute(select(compactions)).all()) == [], "nothing was tried"


async def test_notes_count_to_the_place_and_the_whole_and_to_nobody_in_it(make_app: MakeApp) -> None:
    gist = Reply(text=GIST, usage=Usage(input_tokens=70, output_tokens=7))
    limit = {"tokens_per_day": 1_000_000}
    model = ScriptedModel([Reply(text="ok", usage=USED)], summaries=[gist])
    chat = await open_limited(make_app, model, quota=quota(person=limit, place=limit, total=limit), **SMALL)
    for number in range(30):
        await chat.say(f"{number} " + "words of all kinds " * 20)
    await settle(chat)
    noted, answered = 77 * len(model.summaries), 1_000 * len(model.requests)
    counted = {scope: amount for (scope, _, _), amount in (await spent(chat)).items()}
    assert noted
    assert counted == {"person": answered, "place": answered + noted, "total": answered + noted}


async def test_what_nobody_waits_for_takes_nobodys_notice(make_app: MakeApp) -> None:
    chat = await open_limited(make_app, quota=quota(total={"tokens_per_day": 1_000}))
    await ask(chat, 1)
    session = await chat.app.core.db.read(lambda tx: session_by_id(tx, 1))
    with pytest.raises(OverBudget):
        await chat.app.core.host.ask(session, [ModelMessage(role=Role.USER, text="in the background")])
    (told,) = await ask(chat, 1)
    assert "all that I may spend" in told[0]


async def test_T09_T23_what_a_place_has_spent_moves_with_it(make_app: MakeApp) -> None:
    old, new = (ChannelRef(platform="fake", place=place, visibility=Visibility.PRIVATE) for place in ("-4", "-100"))
    chat = await open_limited(make_app, quota=quota(place={"tokens_per_day": 3_000}))
    await ask(chat, 2, channel=old)
    await ask(chat, 1, channel=new)
    moved = replace(make_inbound("", channel=old, kind=InboundKind.MIGRATION), migrated_to=new)
    await chat.app.pipeline.deliver(moved)
    (told,) = await ask(chat, 1, channel=new)
    assert (len(chat.model.requests), "used here" in told[0]) == (3, True)


async def test_a_call_that_outlasts_what_it_had_reserved_lets_go_of_nobody_elses_reservation(db: Database) -> None:
    alices = Reservation(author_key=ALICE.key, place_key="", tokens=1, cost=0, currency=None, expires_at=NOW)
    bobs = replace(alices, author_key=BOB.key, expires_at=NOW + RESERVED_FOR)
    first = await db.run(budgets.reserve, alices)
    await db.run(budgets.drop_expired, NOW)
    assert await db.run(budgets.reserve, bobs) == first
    assert await db.run(budgets.release, first, alices.expires_at) == (None, "")
    assert await db.run(budgets.release, first, bobs.expires_at) == (BOB.key, "")


async def test_X10_a_flood_everywhere_is_told_once_a_minute_in_each_place(make_app: MakeApp) -> None:
    chat = await open_limited(make_app, quota=quota(total_messages_per_minute=2))
    rooms = [make_channel(f"room{number}", dm=True) for number in range(4)]
    told = [[await ask(chat, 1, channel=room) for room in rooms] for _ in range(2)]
    assert len(chat.model.requests) == 2
    assert [["So much is being asked" in "".join(*one) for one in row] for row in told] == [
        [False, False, True, True],
        [True, True, False, False],
    ]

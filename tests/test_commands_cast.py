"""/cast: who may bring personas together, whose a word is, and where it counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.cast import MOST_MEMBERS
from bot.env import SettingsError
from bot.personas.library import PersonaLibrary
from bot.testing import make_channel
from tests.conftest import MakeApp
from tests.talking import BOB, GROUP, Chat, open_chat

THREAD, OTHER = make_channel(thread="t"), make_channel("other")


async def open_cast(make_app: MakeApp, **settings: Any) -> Chat:
    return await open_chat(make_app, access={"admins": ["fake:alice"]}, **settings)


async def listed(chat: Chat, **more: Any) -> str:
    return "\n".join(await chat.choose("cast list", **{"channel": GROUP, **more}))


async def test_a_persona_is_added_listed_and_removed(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    assert await listed(chat) == "One persona speaks here. /cast add brings another one."
    await chat.choose("cast add", channel=GROUP, persona="thrupp", words="moss, 苔藓")
    told = await listed(chat)
    assert "- **Bryony** – answers what is said to nobody in particular" in told
    assert "- **Thrupp** (moss, 苔藓)" in told
    assert len(await chat.say("the moss is green", channel=GROUP, mentions_me=False)) == 1
    await chat.choose("cast remove", channel=GROUP, persona="Thrupp")
    assert await chat.say("the moss is green", channel=GROUP, mentions_me=False) == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"persona": "familiar", "words": "moss"}, "“moss” already calls Thrupp. A word can call only one."),
        ({"persona": "familiar", "words": "BRYONY"}, "“BRYONY” already calls Bryony. A word can call only one."),
        ({"persona": "familiar", "words": "a:b"}, "A word that calls a persona has no colon in it."),
        ({"persona": "thrupp"}, "Thrupp speaks here already. With -w you can give it words that call it."),
    ],
)
async def test_each_word_calls_one_persona_and_a_second_claim_is_told_whose_it_is(
    make_app: MakeApp, given: dict[str, Any], told: str
) -> None:
    chat = await open_cast(make_app, cast=("thrupp: moss",))
    assert await chat.choose("cast add", channel=GROUP, **given) == [told]


async def test_what_is_no_member_cannot_be_removed_nor_can_the_main_persona(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    assert await chat.choose("cast remove", channel=GROUP, persona="thrupp") == ["Thrupp does not speak here."]
    told = await chat.choose("cast remove", channel=GROUP, persona="bryony")
    assert told == ["Bryony is the persona of this chat; /persona use lets another one take its place."]


async def test_a_cast_has_an_end(make_app: MakeApp, tmp_path: Path) -> None:
    for number in range(MOST_MEMBERS + 1):
        (tmp_path / "cards" / f"c{number}").mkdir(parents=True)
        card = json.dumps({"name": f"Card {number}", "description": "x"})
        (tmp_path / "cards" / f"c{number}" / "card.json").write_text(card)
    chat = await open_cast(make_app, library=PersonaLibrary([tmp_path / "cards"]))
    for number in range(1, MOST_MEMBERS + 1):
        told = await chat.choose("cast add", channel=GROUP, persona=f"c{number}")
    assert told == ["At most 10 personas speak in one place. Remove one first."]
    everybody = ", ".join(f"c{number}" for number in range(1, MOST_MEMBERS + 1))
    assert await chat.choose("session set", channel=GROUP, key="cast", value=everybody) == told


async def test_who_may_not_manage_a_place_changes_no_cast_there(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    await chat.choose("cast add", channel=GROUP, author=BOB, persona="thrupp")
    assert "One persona" in await listed(chat)


@pytest.mark.parametrize(("reach", "heard_in"), [("here", [GROUP, THREAD]), ("place", [GROUP, THREAD, OTHER])])
async def test_a_cast_counts_in_threads_too_and_in_a_whole_place_if_that_is_wanted(
    make_app: MakeApp, reach: str, heard_in: list[Any]
) -> None:
    chat = await open_cast(make_app)
    at: dict[str, Any] = {"for": reach}
    await chat.choose("cast add", channel=GROUP, persona="thrupp", **at)
    answered = [spot for spot in (GROUP, THREAD, OTHER) if await chat.say("Thrupp?", channel=spot, mentions_me=False)]
    assert answered == heard_in


async def test_a_cast_can_be_set_by_names_like_every_other_key(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    await chat.say("/session set cast Thrupp: moss, Familiar", channel=GROUP)
    assert "- **Thrupp** (moss)" in await listed(chat)
    assert "- **Familiar**" in await listed(chat)


async def test_who_loses_their_place_in_a_cast_by_a_setting_is_told(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    left = "{} speaks here no more. `/cast add {}` lets it speak beside the others again."
    await chat.choose("cast add", channel=GROUP, persona="thrupp")
    told, *_ = await chat.choose("session set", channel=GROUP, persona="familiar")
    assert told.endswith(left.format("Bryony", "Bryony"))
    told, *_ = await chat.choose("session reset", channel=GROUP, persona="yes")
    assert left.format("Familiar", "Familiar") in told
    told, *_ = await chat.choose("session set", channel=GROUP, persona="familiar", key="cast", value="thrupp")
    assert "no more" not in told


async def test_a_card_in_CAST_that_is_not_there_is_told_at_the_start(make_app: MakeApp) -> None:
    with pytest.raises(SettingsError, match="CAST names no card"):
        await open_cast(make_app, cast=("nobody: moss",))


def folder_of(folder: Path, **names: str) -> Path:
    """Cards by their ids, each with a name and a greeting."""
    for persona_id, name in names.items():
        (folder / persona_id).mkdir(parents=True)
        card = {"name": name, "description": f"{name}.", "first_mes": f"{name} is here.", "group_only_greetings": []}
        (folder / persona_id / "card.json").write_text(json.dumps(card))
    return folder


async def test_two_personas_of_one_name_in_CAST_are_told_at_the_start(make_app: MakeApp, tmp_path: Path) -> None:
    library = PersonaLibrary([folder_of(tmp_path / "cards", a="Rex", b="rex", c="Vera")])
    with pytest.raises(SettingsError, match=r"CAST names b, but another one there is called 'rex' as well; leave one"):
        await open_cast(make_app, library=library, persona="a", cast=("c", "b"))


async def test_of_two_of_one_name_the_first_is_called_and_the_other_told_to_be_left_out(
    make_app: MakeApp, tmp_path: Path
) -> None:
    library = PersonaLibrary([folder_of(tmp_path / "cards", a="Ann", b="Rex", c="Rex")])
    chat = await open_cast(make_app, library=library, persona="a", cast=("b",))
    taken = "“Rex” already calls Rex. A word can call only one."
    assert await chat.choose("cast add", channel=GROUP, persona="c") == [taken]
    assert await chat.choose("session set", channel=GROUP, key="cast", value="b, c") == [taken]
    assert await chat.choose("persona use", channel=GROUP, persona="c") == [taken]
    await chat.choose("session set", channel=GROUP, persona="c")
    assert len(await chat.say("Rex?", channel=GROUP, mentions_me=False)) == 1
    assert "- Rex (b) is left out: another one here has that name." in await listed(chat)
    (told,) = await chat.choose("cast remove", channel=GROUP, persona="b")
    assert told.startswith("Rex speaks here no more.")
    assert "left out" not in await listed(chat)


@pytest.mark.parametrize("switch", ["separate", "shared", "carry"])
async def test_whoever_joins_greets_once(make_app: MakeApp, tmp_path: Path, switch: str) -> None:
    library = PersonaLibrary([folder_of(tmp_path / "cards", a="Ann", b="Rex")])
    chat = await open_cast(make_app, library=library, persona="a", persona_switch=switch)
    await chat.say("hello", channel=GROUP)
    told, greeting = await chat.choose("cast add", channel=GROUP, persona="b")
    assert told == "Rex speaks here as well now, when called by name or replied to."
    assert greeting == "Rex is here."
    assert chat.last_reply.speaker is not None
    assert chat.last_reply.speaker.name == "Rex"
    await chat.choose("cast remove", channel=GROUP, persona="b")
    assert len(await chat.choose("cast add", channel=GROUP, persona="b", words="dog")) == 1
    assert len(await chat.choose("cast add", channel=GROUP, persona="b", words="hound")) == 1
    await chat.say("Rex?", channel=GROUP, mentions_me=False)
    assert ("assistant", "Rex is here.") in chat.last_prompt


async def test_who_takes_the_first_place_lets_the_one_before_stay(make_app: MakeApp, tmp_path: Path) -> None:
    library = PersonaLibrary([folder_of(tmp_path / "cards", a="Ann", b="Bob", c="Cid")])
    chat = await open_cast(make_app, library=library, persona="a", cast=("b: bee",))
    told, greeting = await chat.choose("persona use", channel=GROUP, persona="c")
    assert told == (
        "From now on **Cid** speaks here.\n"
        "Ann still speaks here, when called by name or replied to; `/cast remove Ann` ends that."
    )
    assert greeting == "Cid is here."
    assert [member.removeprefix("- ") for member in (await listed(chat)).splitlines()[1:]] == [
        "**Cid** – answers what is said to nobody in particular",
        "**Ann**",
        "**Bob** (bee)",
    ]
    await chat.choose("persona use", channel=GROUP, persona="b")
    assert "- **Bob** (bee) – answers" in await listed(chat)
    (told,) = await chat.choose("persona use", channel=GROUP, persona="none")
    stay = "These still speak here, when called by name or replied to: Cid, Ann. `/cast remove NAME` ends that for one."
    assert told.splitlines()[1] == stay

"""/persona import, export, edit, versions, revert and remove, through the real pipeline."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bot.chat import Attachment, AttachmentKind, InboundKind, Outbound
from bot.errors import UserError
from bot.personas.formats import read_file
from bot.testing import FakeAdapter, make_author, make_channel, make_inbound
from tests.conftest import MakeApp
from tests.talking import ALICE, BOB, DM, GROUP, Chat, open_chat

MIRA = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {
        "name": "Mira",
        "description": "Mira keeps a lighthouse.",
        "first_mes": "The lamp is lit, {{user}}.",
        "tags": ["calm"],
        "extensions": {"familiar": {"model": "test/other", "tool_groups": ["web"]}, "other": {"kept": 1}},
    },
}


def upload(card: object, name: str = "mira.json", **more: Any) -> tuple[Attachment, ...]:
    """A file as an adapter offers it to a command."""
    data = card if isinstance(card, bytes) else json.dumps(card).encode()

    async def fetch(limit: int) -> bytes:
        if len(data) > limit:
            raise UserError("file-too-large", limit="20 MB")
        return data

    return (Attachment(kind=AttachmentKind.OTHER, name=name, size=len(data), note="file", fetch=fetch, **more),)


def plain(name: str, **fields: object) -> dict[str, object]:
    return {"name": name, "description": f"{name} is somebody.", **fields}


def answered(chat: Chat) -> Outbound:
    assert chat.last_reply.outbound
    return chat.last_reply.outbound


def button(chat: Chat, number: int = 0) -> str:
    return [button for row in answered(chat).buttons for button in row][number].command


async def bring(chat: Chat, card: object = MIRA, **more: Any) -> str:
    """Import a card at once; returns its id."""
    await chat.ask("/persona import --yes", attachments=upload(card), **more)
    return button(chat).removeprefix("persona use ")


@pytest.mark.parametrize(
    ("entries", "told"), [([], ""), ([{}], "- With a lorebook of 1 entry\n"), ([{}] * 2, "of 2 entries")]
)
async def test_the_lorebook_of_a_card_is_told_before_the_yes(make_app: MakeApp, entries: list[Any], told: str) -> None:
    entries = [{"keys": ["sea"], "content": "It is high.", **entry} for entry in entries]
    chat = await open_chat(make_app)
    shown = await chat.ask("/persona import", attachments=upload(plain("Mira", character_book={"entries": entries})))
    assert told in shown
    assert ("lorebook" in shown) == bool(entries)


async def test_a_card_is_shown_with_its_warnings_and_speaks_only_after_a_yes(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    told = await chat.ask("/persona import", attachments=upload({**MIRA["data"], "alternate_greetings": "Hi."}))  # type: ignore[dict-item]  # a mapping
    assert "**Mira**, as I read it from mira.json (JSON):" in told
    assert "- Tags: calm" in told
    assert "alternate_greetings: should be a list" in told
    assert "test/other, web" in told
    yes = button(chat)
    assert "Mira" not in await chat.ask("/persona")
    (told,) = await chat.press(yes)
    assert "**Mira** can speak now, as p_" in told
    _, greeting = await chat.press(button(chat))
    assert greeting == "The lamp is lit, Alice."
    assert await chat.say("hello") == ["ok"]
    assert "Mira keeps a lighthouse." in str(chat.model.requests[-1])


async def test_a_yes_that_comes_with_the_file_still_hears_of_the_warnings(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    odd = plain("Mira", alternate_greetings="Hi.")
    told = await chat.ask("/persona import --yes", attachments=upload(odd))
    assert "can speak now" in told
    assert "One thing to know:\n- alternate_greetings: should be a list" in told


async def test_an_imported_persona_is_there_after_a_restart_and_may_be_the_configured_one(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, access={"admins": ["fake:alice"]})
    await chat.ask("/persona import --yes --everywhere", attachments=upload(MIRA))
    await chat.app.close()
    chat = await open_chat(make_app, persona="mira")
    await chat.say("hello", channel=make_channel("elsewhere", dm=True))
    assert "Mira keeps a lighthouse." in str(chat.model.requests[-1])


async def test_a_place_sees_its_own_cards_and_those_of_all_places(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, access={"admins": ["fake:alice"]})
    own = await bring(chat, plain("Mira"), channel=GROUP)
    await chat.ask("/persona import --yes --everywhere", attachments=upload(plain("Sol")), channel=GROUP)
    listed = await chat.ask("/persona list mira", channel=GROUP) + await chat.ask("/persona list sol", channel=GROUP)
    assert "**Mira**" in listed
    assert "**Sol**" in listed
    assert "**Sol**" in await chat.ask("/persona list sol", channel=DM)
    for line in (f"/persona use {own}", f"/session set persona {own}", f"/persona info {own}", "/persona use mira"):
        assert "I know no persona" in await chat.ask(line, channel=DM)
    assert await chat.offers("persona use", "persona", "Mir", channel=DM) == []
    assert await chat.offers("persona use", "persona", "Mir", channel=GROUP) == ["Mira"]


async def test_two_cards_of_one_name_are_told_apart_by_their_ids(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    one, two = await bring(chat, plain("Mira")), await bring(chat, plain("Mira", scenario="A harbour."))
    told = await chat.ask("/persona use mira")
    assert one in told
    assert two in told
    assert "**Mira** speaks here" in await chat.ask(f"/persona use {two.upper()}")


@pytest.mark.parametrize(
    "line", ["import", "import -e", "edit name Eve", "versions", "revert", "remove Mira", "export"]
)
async def test_only_administrators_touch_the_cards_of_a_place_and_only_operators_those_of_all(
    make_app: MakeApp, line: str
) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(managers=["alice"], channel_managers=["bob"]))
    await bring(chat, channel=GROUP)
    await chat.ask("/persona use mira", channel=GROUP)
    asked: dict[str, Any] = {"channel": GROUP, "attachments": upload(plain("Eve"))}
    for nobody in (BOB, make_author("Eve")):
        told = await chat.ask(f"/persona {line}", author=nobody, **asked)
        assert "Only people who manage" in told or "Only whoever runs me" in told
    told = await chat.ask(f"/persona {line}", **asked)
    assert ("Only whoever runs me" in told) is (line == "import -e")
    assert "Only people who manage" not in told


async def test_a_shipped_card_goes_out_to_everybody_and_is_changed_by_nobody(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(managers=["alice"]), persona="bryony")
    await chat.ask("/persona export", author=BOB, channel=GROUP)
    file = answered(chat).file
    assert file
    assert (file.name, read_file(file.content).card.name) == ("Bryony Tuck.json", "Bryony Tuck")
    assert "cannot be changed here" in await chat.ask("/persona edit name Eve", channel=GROUP)
    assert "cannot be changed here" in await chat.ask("/persona remove bryony", channel=GROUP)


@pytest.mark.parametrize("form", ["json", "png", "charx"])
async def test_what_is_exported_reads_back_as_the_same_card_without_what_was_accepted(
    make_app: MakeApp, form: str
) -> None:
    chat = await open_chat(make_app, access={"tool_groups": ["web"]})
    await chat.ask("/persona import --yes --accept", attachments=upload(MIRA))
    brought = read_file(json.dumps(MIRA).encode()).card
    await chat.ask(f"/persona export {form} -p mira")
    file = answered(chat).file
    assert file
    assert file.name == f"Mira.{form}"
    read = read_file(file.content).card
    same = {"modification_date": 0}  # when it left, which V3 wants an export to say
    assert read.model_copy(update=same) == brought.model_copy(update=same)
    assert "accepted" not in str(read)
    imported = await bring(chat, file.content)
    persona = chat.app.core.library.get(imported)
    assert persona
    assert not persona.granted


async def test_every_change_is_a_version_that_can_be_gone_back_to(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await bring(chat)
    await chat.ask("/persona use mira")
    await chat.ask("/persona edit scenario A harbour\nin the rain, and nobody about.")
    await chat.ask("/persona edit tags calm, salty --persona mira")
    assert "> A harbour\n> in the rain, and nobody about." in await chat.ask("/persona edit scenario")
    await chat.say("hello")
    assert "A harbour\nin the rain" in str(chat.model.requests[-1].messages[0].text)
    told = await chat.ask("/persona versions")
    assert [line[4:5] for line in told.splitlines() if line.startswith("- ")] == ["3", "2", "1"]
    assert "tags · Alice" in told
    assert "Mira** is again as in version 1" in await chat.ask("/persona revert 1")
    assert "is empty" in await chat.ask("/persona edit scenario")
    await chat.ask("/persona revert")
    assert "calm, salty" in await chat.ask("/persona edit tags")
    assert "There are: 1, 2, 3, 4, 5." in await chat.ask("/persona revert 77")


async def test_the_button_below_a_change_takes_back_that_change(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await bring(chat)
    await chat.ask("/persona edit name Vera --persona mira")
    take_back = button(chat)
    await chat.ask("/persona edit scenario A harbour. -p vera")
    await chat.press(take_back)
    assert "Mira" in await chat.ask("/persona list mira")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("edit scenario", "is empty"), ("edit name --clear", "needs a name"), ("edit name \u202e", "needs a name"),
        ("edit description Mira keeps a lighthouse.", "says that already"), ("revert", "no version before"),
        ("edit greeting Hi", "greeting"),
    ],
)  # fmt: skip
async def test_an_edit_that_says_nothing_changes_nothing(make_app: MakeApp, line: str, told: str) -> None:
    chat = await open_chat(make_app)
    persona_id = await bring(chat)
    await chat.ask("/persona use mira")
    assert told in await chat.ask(f"/persona {line}")
    persona = chat.app.core.library.get(persona_id)
    assert persona
    assert persona.version == 1


async def test_a_removed_card_leaves_its_conversation_and_the_default_persona_answers_with_one_notice(
    make_app: MakeApp,
) -> None:
    chat = await open_chat(make_app, persona="bryony")
    persona_id = await bring(chat)
    await chat.ask("/persona use mira")
    await chat.say("Remember the boat.")
    assert "Shall I take **Mira** away?" in await chat.ask("/persona remove mira")
    assert "Mira** is gone" in (await chat.press(button(chat)))[0]
    take_back = button(chat)
    notice, *_, answer = await chat.say("hello")
    assert "“Mira”" in notice
    assert "Bryony" in notice
    assert answer == "ok"
    assert await chat.say("again") == ["ok"]
    assert "Remember the boat." not in str(chat.model.requests[-1])
    assert await chat.press(take_back) == ["**Mira** is back."]
    await chat.say("hello again")
    assert "Remember the boat." in str(chat.model.requests[-1])
    assert await bring(chat) != persona_id


@pytest.mark.parametrize(
    ("data", "name", "told"),
    [
        (b"{", "x.json", "damaged"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "photo.jpg", "send it as a file"),
        (b"PK\x05\x06" + bytes(18), "x.charx", "I cannot use x.charx."),
        (b"x" * (20 << 20) + b"x", "x.png", "at most 20 MB"),
        (b"\0\1\2\3" * 100, "../../evil\u202e.bin", "I cannot use"),
    ],
)
async def test_a_file_that_is_no_card_is_refused_in_words_and_leaves_nothing(
    make_app: MakeApp, data: bytes, name: str, told: str
) -> None:
    chat = await open_chat(make_app)
    media_type = "image/jpeg" if name.endswith("jpg") else "application/octet-stream"
    assert told in await chat.ask("/persona import -y", attachments=upload(data, name, media_type=media_type))
    assert "No card of yours" in await chat.ask("/persona import --yes")


async def test_without_a_file_the_ways_to_bring_one_are_told(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    assert "Attach the card" in await chat.ask("/persona import")


async def test_nobody_says_yes_to_a_card_of_somebody_else(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(managers=["alice", "bob"]))
    await chat.ask("/persona import", attachments=upload(MIRA), channel=GROUP)
    yes = button(chat)
    assert "No card of yours" in (await chat.press(yes, author=BOB, channel=GROUP))[0]
    assert "in another place" in (await chat.press(yes, channel=DM))[0]
    assert "can speak now" in (await chat.press(yes, channel=GROUP))[0]
    assert "No card of yours" in (await chat.press(yes, channel=GROUP))[0]


HOSTILE = ["../../etc/cron.d/x", "CON", "a:b|c?", "..", "\u202eevil", "x" * 300, "**bold** @everyone", "none"]


@pytest.mark.parametrize("name", HOSTILE)
async def test_X08_a_hostile_name_is_imported_listed_exported_and_removed_as_any_other(
    make_app: MakeApp, name: str
) -> None:
    chat = await open_chat(make_app)
    persona_id = await bring(chat, plain(name))
    assert persona_id in await chat.ask("/persona list")
    assert "speaks here" in await chat.ask(f"/persona use {persona_id}")
    await chat.ask("/persona export json")
    file = answered(chat).file
    assert file
    assert not set(file.name) & set('/\\:|?"<>*\u202e')
    assert file.name.partition(".")[0].upper() not in ("", "CON")
    assert read_file(file.content).card.name == name.removeprefix("\u202e")
    assert "is gone" in await chat.ask(f"/persona remove {persona_id} --yes")


async def test_a_place_keeps_its_cards_when_the_platform_renames_it(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(managers=["alice"]))
    await bring(chat, channel=GROUP)
    moved = replace(GROUP, place="2")
    inbound = make_inbound("", channel=GROUP, kind=InboundKind.MIGRATION)
    await chat.app.pipeline.deliver(replace(inbound, migrated_to=moved))
    assert "**Mira**" in await chat.ask("/persona list mira", channel=moved)
    assert "No persona" in await chat.ask("/persona list mira", channel=GROUP)


async def test_a_place_keeps_so_many_files_and_no_more(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.commands.persona_room.MAX_CARDS", 2)
    chat = await open_chat(make_app)
    for name in ("One", "Two"):
        await bring(chat, plain(name))
    assert "2 cards" in await chat.ask("/persona import -y", attachments=upload(plain("Three")))
    assert "can speak" in await chat.ask(
        "/persona import -y", attachments=upload(plain("Three")), channel=make_channel("x", dm=True)
    )
    monkeypatch.setattr("bot.commands.persona_room.MAX_CARDS_OF_ONE", 3)
    refused = await chat.ask(
        "/persona import -y", attachments=upload(plain("Four")), channel=make_channel("y", dm=True)
    )
    assert refused.startswith("One person may bring 3 cards")


async def test_a_place_holds_so_much_text_of_cards_and_no_more(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.commands.persona_room.MAX_PLACE_CHARS", 3_000)
    chat = await open_chat(make_app)
    wordy = {name: plain(name, personality="x" * 1_500) for name in ("One", "Two")}
    one = await bring(chat, wordy["One"])
    full = "The cards of a place may say 3,000 characters together"
    assert (await chat.ask("/persona import", attachments=upload(wordy["Two"]))).startswith(full)
    await chat.ask("/persona remove --yes One")
    await bring(chat, wordy["Two"])
    assert (await chat.ask(f"/persona revert -p {one}")).startswith(full)
    assert "No persona" in await chat.ask(f"/persona list {one}")
    monkeypatch.setattr("bot.commands.persona_room.MAX_CHARS_OF_ONE", 3_000)
    elsewhere = make_channel("y", dm=True)
    refused = await chat.ask("/persona import", attachments=upload(wordy["One"]), channel=elsewhere)
    assert refused.startswith("The cards that one person brings")


async def test_the_very_same_file_is_recognised(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    persona_id = await bring(chat)
    assert f"here already, as {persona_id}" in await chat.ask("/persona import", attachments=upload(MIRA), author=ALICE)

"""/lore: what people see, write, bring and take along of lorebooks, and what only those may who manage a place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.personas.card import PersonaCard
from bot.personas.formats import write_png
from bot.personas.lorebook import Why, read_book
from bot.store import lorebooks
from bot.store.lorebooks import BookKey, BookKind
from bot.testing import FakeAdapter, make_author
from tests.conftest import MakeApp
from tests.lore import entry, silly
from tests.talking import BOB, DM, GROUP, open_chat
from tests.test_commands_personas import answered, button, upload
from tests.test_lore import last, open_with

MANAGED: dict[str, Any] = {"access": {"admins": ["fake:alice"]}}


async def test_an_entry_is_written_listed_tested_changed_and_removed(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    assert "There is no lore here" in await chat.ask("/lore")
    told = await chat.ask('/lore add "dragon, wyrm" The *dragon* sleeps')
    assert told.startswith("Added as entry 1 (Yours).")
    await chat.say("where is the WYRM?")
    assert "The *dragon* sleeps" in last(chat)
    assert "`1` dragon, wyrm · The \\*dragon\\* sleeps" in await chat.ask("/lore")
    assert "`1`" in await chat.ask("/lore list DRAG")
    told = await chat.ask("/lore test the dragon!")
    assert "1 entry would join in" in told
    assert "**dragon** (Yours `1`): “dragon” is mentioned." in told
    await chat.ask("/lore edit 1 --keys cat It purrs")
    assert "No entry that you may see would join in." in await chat.ask("/lore test the dragon!")
    assert "Keys: cat\n\nIt purrs" in await chat.ask("/lore read 1")
    await chat.ask("/lore edit 1 --enabled off")
    assert "No entry" in await chat.ask("/lore test a cat")
    assert "It says that already" in await chat.ask("/lore edit 1 --enabled off")
    assert "It purrs" in await chat.ask("/lore remove 1")
    assert "There is no entry 1" in await chat.ask("/lore remove 1")
    assert "There is no lore here" in await chat.ask("/lore")


async def test_a_constant_entry_without_keys_in_quotes_is_all_text(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    told = await chat.ask("/lore add --constant The sky is green")
    assert told.endswith("always there\n\nThe sky is green")
    assert (await chat.ask("/lore list")).endswith(r"- `1` **\#1** · always there · The sky is green")
    await chat.say("hello")
    assert any("The sky is green" in message.text for message in chat.model.requests[-1].messages)
    assert "Keys: sea, tide\n\nIt is high" in await chat.ask('/lore add -c "sea, tide" It is high')
    for line in ('-c "Cats are blue"', '"Cats are blue" --constant', "--constant Cats"):
        told = await chat.ask(f"/lore add {line}")
        assert told.endswith(("always there\n\nCats are blue", "always there\n\nCats"))
        assert "Keys" not in told
    assert "text" in await chat.ask('/lore add "sea, tide"')


@pytest.mark.parametrize(
    ("keys", "refusal"),
    [
        ('"unclosed', "none closes it"),
        ('--constant "unclosed', "none closes it"),
        ("@@depth", "@@depth is no key"),
        ('"sea, @@depth 4"', "@@depth 4 is no key"),
        ('"/drag[on/"', "/drag[on/ can't be used: "),
        ('"sea, /drag(on/i"', "/drag(on/i can't be used: "),
        ('"/(?R)/"', "recursion"),
        (f'"/{"x" * 1_001}/"', "longer than 1,000 characters"),
    ],
)
async def test_keys_that_can_never_match_are_refused_with_the_reason(
    make_app: MakeApp, keys: str, refusal: str
) -> None:
    chat = await open_chat(make_app, persona="none")
    assert refusal in await chat.ask(f"/lore add {keys} The dragon")
    assert "There is no lore here" in await chat.ask("/lore")
    await chat.ask("/lore add cat It purrs")
    assert "Keys: cat" in await chat.ask("/lore read 1")


async def test_an_entry_whose_text_stands_in_the_line_of_a_decorator_is_refused(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    assert "has decorators and no text" in await chat.ask("/lore add cat @@depth 2 It purrs")
    assert "It purrs" in await chat.ask("/lore add cat @@depth 2\nIt purrs")
    assert "has decorators and no text" in await chat.ask("/lore edit 1 @@depth 3 It sleeps")
    assert "It purrs" in await chat.ask("/lore edit 1 --enabled off")


async def test_the_book_of_a_group_is_changed_and_seen_by_those_who_manage_it(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **MANAGED)
    assert "(This place)" in await chat.ask("/lore add tide The tide is high", channel=GROUP)
    refused = await chat.ask("/lore add tide Low --for place", channel=GROUP, author=BOB)
    assert refused == "Only people who manage this chat can change that."
    assert "(Yours)" in await chat.ask("/lore add boat Bob's boat", channel=GROUP, author=BOB)
    for command in ("/lore edit 1 Gone --for place", "/lore remove 1 --for place", "/lore export --for place"):
        assert await chat.ask(command, channel=GROUP, author=BOB) == refused
    told = await chat.ask("/lore", channel=GROUP, author=BOB)
    assert "boat" in told
    assert "The tide" not in told
    assert "1 more entry is shown to those who may change it." in told
    tested = await chat.ask("/lore test tide and boat", channel=GROUP, author=BOB)
    assert "tide" not in tested
    assert "1 more joins in, which you may not see." in tested
    assert "The tide is high" in await chat.ask("/lore", channel=GROUP)
    await chat.say("the tide", channel=GROUP, author=BOB)
    assert "The tide is high" in last(chat)
    assert "Lore in it" not in await chat.ask("/context", channel=GROUP, author=BOB)


async def test_the_managers_of_a_platform_may_write_lore_of_their_place(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(managers={BOB.id}))
    assert "(This place)" in await chat.ask("/lore add tide High --for place", channel=GROUP, author=BOB)


async def test_a_test_tells_what_nearly_joined_in_and_who_was_called_by_lore(make_app: MakeApp, tmp_path: Path) -> None:
    entries = (
        entry("wyrm", content="It guards the hoard.", name="Wyrm"),
        entry("hoard", content="Gold.", name="Hoard"),
        silly("wyrm", content="Rare.", name="Rare", probability=0),
        entry("wyrm", content="Both.", name="Both", selective=True, secondary_keys=["cave"]),
    )
    chat = await open_with(make_app, tmp_path, *entries)
    await chat.say("hello")
    told = await chat.ask("/lore test the wyrm")
    assert "2 entries would join in" in told
    assert "**Hoard** (Card of Mira `1`): “hoard” is mentioned. (called by other lore)" in told
    assert "Nearly:\n- **Rare** (Card of Mira `2`): chance was against it (0 %).\n- **Both**" in told


async def test_P17_a_test_tells_of_a_pattern_that_took_too_long(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.ask('/lore add "/(a|aa)+$/" A trap')
    told = await chat.ask(f"/lore test {'a' * 40}!")
    assert "No entry that you may see would join in." in told
    assert "takes too long to look for; it counts as not found" in told


@pytest.mark.parametrize("locale", ["en", "zh"])
async def test_every_reason_has_its_words(make_app: MakeApp, locale: str) -> None:
    chat = await open_chat(make_app)
    texts = [chat.app.desk.text(f"lore-why-{why.value.replace('_', '-')}", locale, detail="x") for why in Why]
    assert not [text for text in texts if text.startswith("lore-why")]


def as_file(*entries: dict[str, Any], **book: Any) -> dict[str, Any]:
    return {"spec": "lorebook_v3", "data": {"extensions": {}, **book, "entries": list(entries)}}


async def test_a_book_is_brought_and_taken_along_as_the_same_book(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    book = as_file(entry("tide", content="High."), silly("/wy(r|v)m/i", content="Sleeps.", sticky=3), name="Coast")
    told = await chat.ask("/lore import", attachments=upload(book, "coast.json"))
    assert told.startswith("Read 2 entries (Yours).")
    await chat.say("a WYVM")
    assert "Sleeps." in last(chat)
    await chat.ask("/lore export")
    file = answered(chat).file
    assert file
    kept, _ = read_book(json.loads(file.text))
    assert (kept.name, [e.content for e in kept.entries], kept.entries[1].sticky) == ("Coast", ["High.", "Sleeps."], 3)
    await chat.ask("/lore import", attachments=upload(as_file(entry("a", content="More."), name="Other")))
    assert "3 entries of lore" in await chat.ask("/lore")
    await chat.ask("/lore import --replace", attachments=upload(as_file(entry("b", content="New."))))
    assert "1 entry of lore" in await chat.ask("/lore")


async def test_the_book_of_a_card_can_be_brought_and_a_file_without_one_is_refused(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    card = PersonaCard.model_validate(
        {"name": "Mira", "description": "x", "character_book": {"entries": [entry("tide")]}}
    )
    assert "Read 1 entry" in await chat.ask("/lore import", attachments=upload(write_png(card, None), "mira.png"))
    for data in (b"{]", b'{"a": 1}', b"\x00\x01\x02", b"[" * 100_000):
        told = await chat.ask("/lore import", attachments=upload(data, "odd.json"))
        assert told.startswith("I can't use odd.json:"), data[:9]
    assert "Attach the file" in await chat.ask("/lore import")


@pytest.mark.parametrize("command", ["/lore import", "/persona import"])
async def test_what_is_odd_about_a_book_is_told_when_it_comes(make_app: MakeApp, command: str) -> None:
    chat = await open_chat(make_app, persona="none")
    long = entry("sea", content="x" * 50_001)
    book = {"entries": [entry("/drag[on/", name="Dragon"), entry("cat", name="Cat"), long]}
    card = PersonaCard.model_validate({"name": "Mira", "description": "x", "character_book": book})
    told = await chat.ask(command, attachments=upload(write_png(card, None), "mira.png"))
    assert "Dragon: “/drag[on/” can be no key" in told
    assert "content: is cut after 50,000 characters" in told
    assert "Cat" not in told


async def test_nobody_fills_the_disk_with_lore(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    many = as_file(*(entry(f"k{number}") for number in range(201)))
    assert "That is too much for this book" in await chat.ask("/lore import", attachments=upload(many))
    assert "There is no lore here" in await chat.ask("/lore")
    long = as_file(*(entry(f"k{number}", content="x" * 40_000) for number in range(6)))
    assert "That is too much for this book" in await chat.ask("/lore import", attachments=upload(long))
    unread = b'{"entries": [' + b" " * 2_000_000
    assert "That is too much for this book" in await chat.ask("/lore import", attachments=upload(unread))


async def test_a_long_list_has_pages_that_keep_the_choice_of_the_book(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.ask("/lore import", attachments=upload(as_file(*(entry(f"key{number}") for number in range(20)))))
    assert "key7" in await chat.ask("/lore list --for me")
    (told,) = await chat.press(button(chat))
    assert "key8" in told
    assert "Page 2 of 3" in told


async def test_keys_in_chinese_and_with_a_pattern_are_taken_apart_where_people_mean_it(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    zh = make_author("Li", locale="zh")
    assert "已添加为第 1 条" in await chat.ask("/设定 添加 龙，巨龙 龙睡在山下", author=zh)
    await chat.say("那条巨龙在哪里", author=zh)
    assert "龙睡在山下" in last(chat)
    await chat.ask('/lore add "/a{1,2}b/" Pattern')
    assert "Keys: /a{1,2}b/" in await chat.ask("/lore read 1")


async def test_a_groups_book_moves_with_the_group(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **MANAGED)
    await chat.ask("/lore add tide High", channel=GROUP)
    await chat.app.core.db.run(lorebooks.move_books, GROUP.place_key, DM.place_key)
    assert (await chat.app.core.db.read(lorebooks.size_of, BookKey(BookKind.PLACE, DM.place_key)))[0] == 1

"""Files that come with a Telegram message: which are wanted, what they turn into, and the caps on bytes and time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from adapters.telegram.files import opened, wanted
from adapters.telegram.options import FileLimits
from bot.chat import QUOTED, Attachment, AttachmentKind, Inbound
from bot.errors import UserError
from tests.emulators.telegram import TelegramEmulator
from tests.emulators.telegram.stage import PNG, QUICK, Stage, parsed


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with TelegramEmulator() as telegram:
        yield Stage(telegram)


def test_the_largest_photo_within_the_cap_is_wanted(stage: Stage) -> None:
    sizes = [
        {"file_id": name, "file_unique_id": name, "width": 1, "height": 1, "file_size": size}
        for name, size in (("small", 10), ("medium", 1000), ("large", 100_000))
    ]
    (message,) = parsed(stage.telegram.say(stage.alice, stage.group, photo=sizes))
    found = wanted(message, FileLimits(image_bytes=5000))
    assert found is not None
    assert (found.file_id, found.limit) == ("medium", 1000)


@pytest.mark.parametrize(
    ("name", "media_type", "limit"),
    [
        ("notes.txt", "text/plain", 64),
        ("setup.toml", "application/octet-stream", 64),
        ("Image_9_1.html", "text/html", 64),
        ("cat.png", "image/png", 1),
        ("manual.pdf", "application/pdf", None),
    ],
)
def test_texts_and_images_are_wanted_and_nothing_else(
    stage: Stage, name: str, media_type: str, limit: int | None
) -> None:
    (message,) = parsed(stage.telegram.say(stage.alice, stage.group, **stage.telegram.document(b"x", name, media_type)))
    found = wanted(message, FileLimits(image_bytes=500, text_bytes=64))
    assert (found and found.limit) == limit


def _file(media_type: str, size: int) -> Attachment:
    return Attachment(kind=AttachmentKind.OTHER, name="f", media_type=media_type, size=size, note="file f")


def test_a_long_text_is_cut_at_a_whole_character_and_says_so() -> None:
    data = "日本語".encode() * 100
    file = opened(_file("text/plain", 107_879), data[:101], 100)
    assert file.kind is AttachmentKind.TEXT
    assert file.text == ("日本語" * 100)[:33]
    assert file.note == "first 100 of 107879 bytes"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_short_text_is_whole_and_without_a_mark(encoding: str) -> None:
    data = "héllo".encode(encoding)
    file = opened(_file("text/plain", 0), data, 100)
    assert (file.text, file.note, file.size) == ("héllo", "", len(data))


@pytest.mark.parametrize(
    ("media_type", "data", "note"),
    [
        ("text/plain", b"a\0b", "file f, unreadable"),
        ("image/jpeg", b"<html>", "file f, unreadable"),
        ("image/png", PNG + b"x" * 100, "file f, larger than 100 B"),
    ],
)
def test_what_is_not_what_it_says_is_only_noted(media_type: str, data: bytes, note: str) -> None:
    file = opened(_file(media_type, len(data)), data, 100)
    assert (file.kind, file.note, file.data) == (AttachmentKind.OTHER, note, b"")


def test_an_image_sent_as_a_document_is_an_image() -> None:
    file = opened(_file("application/octet-stream", 5), PNG, 100)
    assert (file.kind, file.media_type, file.data, file.note) == (AttachmentKind.IMAGE, "image/png", PNG, "")


async def test_files_are_fetched_only_where_we_are_addressed(stage: Stage) -> None:
    async with stage.running() as (_, ears):
        stage.telegram.say(stage.alice, stage.group, caption="nice, isn't it", **stage.telegram.photo(PNG))
        stage.telegram.say(stage.alice, stage.group, caption="@FamiliarBot what is it?", **stage.telegram.photo(PNG))
        heard = await ears.hear(2)
    assert [inbound.attachments[0].kind for inbound in heard] == [AttachmentKind.OTHER, AttachmentKind.IMAGE]
    assert len(stage.telegram.calls_of("getFile")) == 1


async def none(_inbound: Inbound) -> bool:
    return False


async def test_files_are_fetched_where_the_core_wants_them(stage: Stage) -> None:
    async def of_bryony(inbound: Inbound) -> bool:
        return "Bryony" in inbound.text

    async with stage.running(wants_files=of_bryony) as (_, ears):
        stage.telegram.say(stage.alice, stage.group, caption="Bryony, look", **stage.telegram.photo(PNG))
        stage.telegram.say(stage.alice, stage.group, caption="Bob, look", **stage.telegram.photo(PNG))
        heard = await ears.hear(2)
    assert [inbound.attachments[0].kind for inbound in heard] == [AttachmentKind.IMAGE, AttachmentKind.OTHER]


async def test_the_photo_that_a_question_replies_to_comes_with_it(stage: Stage) -> None:
    photo = stage.telegram.say(stage.bob, stage.group, caption="the cat", **stage.telegram.photo(PNG))
    async with stage.running() as (_, ears):
        stage.telegram.say(stage.alice, stage.group, "@FamiliarBot what is on it?", reply_to=photo)
        stage.telegram.say(stage.alice, stage.group, "nice", reply_to=photo)
        _, asked, overheard = await ears.hear(3)
    (file,) = asked.attachments
    assert (file.kind, file.data, file.note, file.quoted) == (AttachmentKind.IMAGE, PNG, QUOTED, True)
    assert asked.reply_to is not None
    assert asked.reply_to.text == "the cat\n[photo, 90×90]"
    assert overheard.attachments == ()


async def test_own_files_come_before_the_quoted_one_and_share_one_allowance(stage: Stage) -> None:
    notes = stage.telegram.document(b"line\n" * 100, "notes.txt", "text/plain")
    quoted = stage.telegram.say(stage.bob, stage.group, **notes)
    async with stage.running() as (_, ears):
        own = stage.telegram.photo(PNG)
        stage.telegram.say(stage.alice, stage.group, caption="@FamiliarBot compare", reply_to=quoted, **own)
        _, asked = await ears.hear(2)
        smaller = replace(QUICK, files=replace(QUICK.files, message_bytes=100))
    assert [(file.kind, file.note) for file in asked.attachments] == [
        (AttachmentKind.IMAGE, ""),
        (AttachmentKind.TEXT, f"{QUOTED}, first 100 of 500 bytes"),
    ]
    async with stage.running(options=smaller) as (_, ears):
        stage.telegram.say(stage.alice, stage.group, caption="@FamiliarBot compare", reply_to=quoted, **own)
        (asked,) = await ears.hear(1)
    assert [file.kind for file in asked.attachments] == [AttachmentKind.IMAGE, AttachmentKind.OTHER]
    assert asked.attachments[1].note.endswith("too large beside the others")


@pytest.mark.parametrize("what", ["ours", "manual.pdf"])
async def test_what_is_ours_or_not_read_is_not_fetched_from_a_quote(stage: Stage, what: str) -> None:
    author = stage.telegram.bot if what == "ours" else stage.bob
    file = stage.telegram.document(b"x", "answer.md" if what == "ours" else what, "application/pdf")
    quoted = stage.telegram.post(stage.group, author.as_json(), **file)
    async with stage.running() as (_, ears):
        stage.telegram.say(stage.alice, stage.group, "@FamiliarBot go on", reply_to=quoted)
        (asked,) = await ears.hear(1)
    assert asked.attachments == ()
    assert stage.telegram.calls_of("getFile") == []


async def test_the_photo_of_a_message_in_another_chat_comes_too(stage: Stage) -> None:
    origin = {"type": "hidden_user", "sender_user_name": "Zoe", "date": 1}
    elsewhere = {"origin": origin, "message_id": 9, **stage.telegram.photo(PNG)}
    async with stage.running() as (_, ears):
        stage.telegram.say(stage.alice, stage.private, "what is it?", external_reply=elsewhere)
        (asked,) = await ears.hear(1)
    assert [(file.kind, file.quoted) for file in asked.attachments] == [(AttachmentKind.IMAGE, True)]


async def test_a_text_file_comes_with_its_beginning_and_a_note(stage: Stage) -> None:
    data = b"line\n" * 100
    async with stage.running() as (_, ears):
        stage.telegram.say(stage.alice, stage.private, **stage.telegram.document(data, "notes.txt", "text/plain"))
        (inbound,) = await ears.hear(1)
    (file,) = inbound.attachments
    assert (file.kind, file.name, file.text) == (AttachmentKind.TEXT, "notes.txt", "line\n" * 20)
    assert file.note == "first 100 of 500 bytes"


async def test_X07_the_files_of_one_album_share_one_allowance(stage: Stage) -> None:
    together = replace(QUICK, files=replace(QUICK.files, message_bytes=2 * len(PNG) + 1))
    async with stage.running(options=together) as (_, ears):
        for _ in range(4):
            stage.telegram.say(stage.alice, stage.private, media_group_id="9", **stage.telegram.photo(PNG))
        (album,) = await ears.hear(1)
    assert [file.kind for file in album.attachments] == [AttachmentKind.IMAGE] * 2 + [AttachmentKind.OTHER] * 2
    assert album.attachments[-1].note == "photo, 90×90, too large beside the others"
    assert len(stage.telegram.calls_of("getFile")) == 2


async def test_X07_a_file_that_lies_about_its_size_or_never_ends_is_cut_by_real_bytes_and_time(stage: Stage) -> None:
    lying = stage.telegram.document(b"x" * 100_000, "small.txt", "text/plain", file_size=10)
    endless = stage.telegram.document(PNG, "endless.png", "image/png")
    stage.telegram.endless_files.add(endless["document"]["file_id"])
    silent = stage.telegram.photo(PNG)
    stage.telegram.fail("getFile", delay_s=30)
    async with stage.running() as (_, ears):
        stage.telegram.say(stage.alice, stage.private, **silent)
        stage.telegram.say(stage.bob, stage.telegram.private(stage.bob), "not kept waiting")
        await ears.hear(1)
        assert ears.texts == ["not kept waiting"]
        stage.telegram.say(stage.alice, stage.private, **lying)
        stage.telegram.say(stage.alice, stage.private, **endless)
        late, cut, huge = [inbound.attachments[0] for inbound in (await ears.hear(4))[1:]]
    assert (late.kind, late.note) == (AttachmentKind.OTHER, "photo, 90×90, could not be fetched")
    assert (cut.kind, cut.text, cut.note) == (AttachmentKind.TEXT, "x" * 100, "first 100 of 101 bytes")
    assert (huge.kind, huge.data) == (AttachmentKind.OTHER, b"")


async def test_X07_the_file_of_a_command_is_fetched_only_when_it_asks_and_within_its_limit(stage: Stage) -> None:
    document = stage.telegram.document(b"x" * 50, "mira.charx", "application/zip")
    async with stage.running(wants_files=none) as (_, ears):
        posted = stage.telegram.say(stage.bob, stage.group, **document)
        stage.telegram.say(stage.alice, stage.group, "／persona import", reply_to=posted)
        stage.telegram.say(stage.alice, stage.group, caption="/persona import", **document)
        _, quoted, attached = await ears.hear(3)
        assert stage.telegram.calls_of("getFile") == []
        files = [*quoted.attachments, *attached.attachments]
        assert [(file.name, file.quoted) for file in files] == [("mira.charx", True), ("mira.charx", False)]
        for fetch in filter(None, (file.fetch for file in files)):
            assert await fetch(50) == b"x" * 50
            with pytest.raises(UserError, match="file-too-large"):
                await fetch(49)
        assert len(stage.telegram.calls_of("getFile")) == 4


@pytest.mark.parametrize(("size", "told"), [((20 << 20) + 1, "file-too-large"), (None, "file-not-fetched")])
async def test_a_file_that_telegram_keeps_to_itself_is_told_as_such(stage: Stage, size: int | None, told: str) -> None:
    document = stage.telegram.document(b"x" * (size or 1), "mira.png", "image/png", file_size=1)
    async with stage.running(wants_files=none) as (_, ears):
        stage.telegram.say(stage.alice, stage.group, caption="/persona import", **document)
        (inbound,) = await ears.hear(1)
        if size is None:
            stage.telegram.files.clear()
        fetch = inbound.attachments[0].fetch
        assert fetch
        with pytest.raises(UserError, match=told):
            await fetch(30 << 20)

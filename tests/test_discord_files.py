"""Files that come with Discord messages: what is read of them, within which limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bot.chat import AttachmentKind, Inbound, InboundKind
from tests.emulators.discord.files import Misbehaviour
from tests.emulators.discord.harness import OPTIONS, Scene, staged

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 100


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with staged() as scene:
        yield scene


async def test_D20_only_real_images_become_images(scene: Scene) -> None:
    files = [
        ("photo.png", PNG),
        ("Image_9_1.html", b"<p>hi</p>"),
        ("Image_9_2.markdown", b"# hi"),
        ("fake.png", b"not an image"),
        ("picture.webp", b"RIFF\0\0\0\0WEBPVP8 "),
        ("code.zig", "fn main() void {} // é".encode()),
        ("tool.exe", b"MZ\0\x01"),
        ("photo.raw", b"\x89\xab\xcd"),
    ]
    scene.world.post(scene.bob.dm_channel, scene.bob, attachments=files)
    kinds = {file.name: file.kind for file in (await scene.bot.hears()).attachments}
    assert kinds == {
        "photo.png": AttachmentKind.IMAGE,
        "Image_9_1.html": AttachmentKind.TEXT,
        "Image_9_2.markdown": AttachmentKind.TEXT,
        "fake.png": AttachmentKind.OTHER,
        "picture.webp": AttachmentKind.IMAGE,
        "code.zig": AttachmentKind.TEXT,
        "tool.exe": AttachmentKind.OTHER,
        "photo.raw": AttachmentKind.OTHER,
    }


async def test_an_image_is_given_as_bytes(scene: Scene) -> None:
    scene.world.post(scene.bob.dm_channel, scene.bob, "look", attachments=[("photo.png", PNG)])
    (image,) = (await scene.bot.hears()).attachments
    assert (image.data, image.media_type, image.size) == (PNG, "image/png", len(PNG))


async def test_D30_a_long_text_file_is_read_up_to_the_cap_and_says_so(scene: Scene) -> None:
    scene.world.post(scene.bob.dm_channel, scene.bob, attachments=[("message.txt", ("é" * 53_939 + "x").encode())])
    (file,) = (await scene.bot.hears()).attachments
    assert file.text == "é" * 32_768
    assert file.note == "first 65536 of 107879 bytes"


async def test_D09_files_of_a_forwarded_message_are_read_too(scene: Scene) -> None:
    source = scene.world.post(scene.channel, scene.alice, "release is on Friday", attachments=[("plan.png", PNG)])
    await scene.alice.forward(source, scene.alice.user.dm_channel)
    heard = await scene.bot.hears(text="[forwarded message: release is on Friday]")
    assert [file.kind for file in heard.attachments] == [AttachmentKind.IMAGE]


async def test_files_are_fetched_only_for_messages_that_speak_to_us(scene: Scene) -> None:
    scene.world.post(scene.channel, scene.alice, "to all", attachments=[("photo.png", PNG)])
    scene.world.post(scene.channel, scene.alice, f"{scene.mention} to you", attachments=[("photo.png", PNG)])
    await scene.bot.hears(text="to you")
    assert [inbound.attachments[0].kind for inbound in scene.bot.heard] == [AttachmentKind.OTHER, AttachmentKind.IMAGE]
    assert scene.bot.heard.entries[0].attachments[0].note == "image, 108 B"


async def test_D31_an_edit_names_the_files_that_are_left_and_fetches_none(scene: Scene) -> None:
    message = scene.world.post(scene.bob.dm_channel, scene.bob, "lok", attachments=[("photo.png", PNG)])
    await scene.bot.hears(text="lok")
    await scene.bob.edit(message, "look")
    edit = await scene.bot.hears(InboundKind.EDIT, text="look")
    assert [(file.kind, file.note) for file in edit.attachments] == [(AttachmentKind.OTHER, "image, 108 B")]


async def test_files_are_fetched_where_the_core_wants_them() -> None:
    async def of_bryony(inbound: Inbound) -> bool:
        return "Bryony" in inbound.text

    async with staged(wants_files=of_bryony) as scene:
        scene.world.post(scene.channel, scene.alice, "Bryony, look", attachments=[("photo.png", PNG)])
        scene.world.post(scene.channel, scene.alice, "Bob, look", attachments=[("photo.png", PNG)])
        await scene.bot.hears(text="Bob, look")
        kinds = [inbound.attachments[0].kind for inbound in scene.bot.heard]
    assert kinds == [AttachmentKind.IMAGE, AttachmentKind.OTHER]


@pytest.mark.parametrize(
    ("how", "note"),
    [
        (Misbehaviour.ENDLESS, "image, 108 B, too large to look at"),
        (Misbehaviour.STALLS, "image, 108 B, could not be fetched"),
        (Misbehaviour.MISSING, "image, 108 B, could not be fetched"),
    ],
)
async def test_X07_a_file_that_never_ends_or_never_comes_is_noted_within_its_limits(
    how: Misbehaviour, note: str
) -> None:
    async with staged(options=replace(OPTIONS, image_bytes=1 << 20, download_seconds=0.3)) as scene:
        scene.emulator.files.misbehave("photo.png", how)
        scene.world.post(scene.bob.dm_channel, scene.bob, "first", attachments=[("photo.png", PNG)])
        await scene.bob.send_dm("second")
        await scene.bot.hears(text="second")
        (file,) = scene.bot.heard.entries[0].attachments
        assert (scene.bot.heard.entries[0].text, file.kind, file.note) == ("first", AttachmentKind.OTHER, note)
        assert scene.emulator.files.bytes_sent < 8 << 20


async def test_S13_a_stop_gives_downloads_up_and_delivers_their_messages(scene: Scene) -> None:
    for name in ("one.png", "two.png"):
        scene.emulator.files.misbehave(name, Misbehaviour.STALLS)
    scene.world.post(scene.bob.dm_channel, scene.bob, "look", attachments=[("one.png", PNG), ("two.png", PNG)])
    await scene.emulator.files.asked.first(lambda name: name == "one.png")
    async with asyncio.timeout(1):
        await scene.bot.adapter.stop_listening()
    assert [file.note for file in (await scene.bot.hears(text="look")).attachments] == [
        "image, 108 B, could not be fetched"
    ] * 2


async def test_X07_the_files_of_one_message_share_one_allowance() -> None:
    async with staged(options=replace(OPTIONS, message_bytes=250)) as scene:
        files = [(f"{number}.png", PNG) for number in range(4)]
        scene.world.post(scene.bob.dm_channel, scene.bob, attachments=files)
        kinds = [file.kind for file in (await scene.bot.hears()).attachments]
    assert kinds == [AttachmentKind.IMAGE] * 2 + [AttachmentKind.OTHER] * 2

"""Files that we send, and addresses of messages: on every platform, or what stands in their place."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from adapters.console.adapter import ConsoleAdapter
from adapters.console.paper import Paper
from adapters.console.reply import ConsoleReply, Ticket
from adapters.discord.adapter import DiscordAdapter
from adapters.discord.outbound import DiscordTransport
from adapters.discord.parts import edited, posted
from adapters.discord.refusals import Refusals
from adapters.telegram.options import Timeouts
from adapters.telegram.outbound import message_link
from adapters.telegram.request import TelegramRequest
from bot.chat import ChannelRef, Inbound, Outbound, OutFile, PartState, SentPart, Visibility
from tests.emulators.discord.harness import Scene, staged, states
from tests.emulators.telegram import TelegramEmulator
from tests.emulators.telegram.rig import Rig

NOTES = Outbound(text="Here are the notes.", file=OutFile(name="memory.md", text="# Notes\n" + "much to say\n" * 400))


def spot(platform: str, place: str, **more: str) -> ChannelRef:
    return ChannelRef(platform=platform, place=place, visibility=Visibility.PUBLIC, **more)


async def _never() -> None:
    raise AssertionError


def discord_transport(max_parts: int = 5) -> DiscordTransport:
    return DiscordTransport(
        _never,  # type: ignore[arg-type]  # nothing is sent
        spot("discord", "1", channel="2"),
        reply_to=None,
        handle=None,
        max_parts=max_parts,
        refusals=Refusals(),
    )


def test_discord_sends_a_file_with_the_last_message_and_its_text_where_it_may_not() -> None:
    part = discord_transport().render(NOTES, final=True)[-1]
    assert part.text == "Here are the notes."
    for fields, name in ((posted(part), "files"), (edited(part), "attachments")):
        assert [file.filename for file in fields[name]] == ["memory.md"]
        assert fields[name][0].fp.read().decode().startswith("# Notes\nmuch to say\n")
    assert part.instead[0].text == "Here are the notes."
    assert part.instead[0].file is None
    assert "".join(each.text for each in part.instead).count("much to say") == 400


def test_discord_sends_the_file_beside_the_rest_of_a_long_answer() -> None:
    long = Outbound(text="word " * 1_000, file=NOTES.file)
    part = discord_transport(max_parts=1).render(long, final=True)[-1]
    assert [file.filename for file in posted(part)["files"]] == ["answer.md", "memory.md"]
    assert "files" not in posted(discord_transport().render(Outbound(text="hello"), final=True)[-1])


@pytest.mark.parametrize(
    ("channel", "message_id", "address"),
    [
        (spot("discord", "11", channel="22"), "33", "https://discord.com/channels/11/22/33"),
        (spot("discord", "11", channel="22", thread="44"), "33", "https://discord.com/channels/11/44/33"),
        (ChannelRef(platform="discord", place="55"), "33", "https://discord.com/channels/@me/55/33"),
        (spot("discord", "11", channel="22"), "migrated:5", None),
    ],
)
def test_discord_messages_have_addresses_everywhere(channel: ChannelRef, message_id: str, address: str | None) -> None:
    assert DiscordAdapter.link(None, channel, message_id) == address  # type: ignore[arg-type]  # needs nothing of it


@pytest.mark.parametrize(
    ("channel", "message_id", "address"),
    [
        (spot("telegram", "-1001234"), "7", "https://t.me/c/1234/7"),
        (spot("telegram", "-1001234", thread="5"), "7", "https://t.me/c/1234/5/7"),
        (spot("telegram", "-1234"), "7", None),
        (ChannelRef(platform="telegram", place="42"), "7", None),
        (spot("telegram", "-1001234"), "migrated:5", None),
    ],
)
def test_telegram_messages_have_addresses_in_supergroups(
    channel: ChannelRef, message_id: str, address: str | None
) -> None:
    assert message_link(channel, message_id) == address


async def told_by_terminal(exports: Path, answer: Outbound = NOTES) -> str:
    shown = io.StringIO()
    await ConsoleReply(Paper(io.StringIO(), shown), Ticket(), None, lambda: "", exports).finish(answer)
    return shown.getvalue()


async def test_a_terminal_saves_a_file_and_tells_where_and_overwrites_none(tmp_path: Path) -> None:
    exports = tmp_path / "data" / "exports"
    for name in ("memory.md", "memory-2.md", "memory-3.md"):
        assert await told_by_terminal(exports) == f"Here are the notes.\n→ {exports / name}\n"
        assert (exports / name).read_text(encoding="utf-8").startswith("# Notes\nmuch to say\n")
        assert [path.stat().st_mode & 0o777 for path in (exports, exports / name)] == [0o700, 0o600]
        (exports / name).write_text(name, encoding="utf-8")
    assert (exports / "memory.md").read_text(encoding="utf-8") == "memory.md"


@pytest.mark.parametrize("name", ["../../out.md", "/etc/out.md", "a/b/out.md"])
async def test_no_name_of_a_file_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    told = await told_by_terminal(tmp_path / "exports", Outbound(text="Here.", file=OutFile(name=name, text="x")))
    assert told == f"Here.\n→ {tmp_path / 'exports' / 'out.md'}\n"


async def test_a_terminal_shows_what_a_file_would_hold_where_none_can_be_saved(tmp_path: Path) -> None:
    (tmp_path / "exports").touch()
    told = await told_by_terminal(tmp_path / "exports")
    assert told.startswith("Here are the notes.\n# Notes\nmuch to say\n")


async def test_what_a_file_would_hold_is_shown_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "exports").touch()
    notes = Outbound(text="Here.", file=OutFile(name="x.json", text='{"*a*": "b\\_c"}\n'))
    assert await told_by_terminal(tmp_path / "exports", notes) == 'Here.\n{"*a*": "b\\_c"}\n'


def test_a_terminal_has_no_addresses() -> None:
    assert ConsoleAdapter.link(None, spot("terminal", "local"), "7") is None  # type: ignore[arg-type]  # the same


async def test_discord_shows_the_files_text_where_no_files_are_allowed() -> None:
    async with staged() as scene:
        inbound = await scene.asked()
        assert states(await _finish(scene, inbound)) == [PartState.SENT]
        assert [name for name, _ in scene.sends()[-1].files] == ["memory.md"]
        scene.emulator.fault("POST", scene.posts, status=403, body={"code": 50013, "message": "no files"})
        assert states(await _finish(scene, inbound)) == [PartState.SENT] * 4
        assert "".join(scene.posted()).count("much to say") == 400


async def _finish(scene: Scene, inbound: Inbound) -> tuple[SentPart, ...]:
    return await (await scene.bot.adapter.open_reply(inbound.channel)).finish(NOTES)


async def test_telegram_sends_the_file_after_the_message() -> None:
    async with TelegramEmulator() as telegram:
        addresses = {"base_url": telegram.base_url, "base_file_url": telegram.base_file_url}
        async with TelegramRequest(telegram.token, **addresses, timeouts=Timeouts()) as request:
            rig = Rig(telegram, request)
            transport = rig.to(rig.group)
            for ordinal, part in enumerate(transport.render(NOTES, final=True)):
                await transport.send(part, ordinal)
            text, file = telegram.bot_messages(rig.group)
            assert (text["text"], file["document"]["file_name"]) == ("Here are the notes.", "memory.md")

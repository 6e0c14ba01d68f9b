"""The adapters: which ones the settings ask for, each imported only then, because a platform's library takes memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bot.chat import Adapter, ChannelRef, CommandMenu, WantsFiles, wants_files_for_us
from bot.hook_calls import HookCalls
from bot.locale import locale_of_terminal
from bot.outgoing import seen_by
from bot.settings import Settings, VoiceSettings
from bot.store import ledger
from bot.store.database import Database
from bot.tasks import Tasks

if TYPE_CHECKING:
    from adapters.console import ConsoleAdapter


class Platforms(dict[str, Adapter]):
    """The running adapters by platform, each with hooks in front of it, and what the core asks of whichever serves a
    channel.
    """

    def __init__(self, hooks: HookCalls) -> None:
        super().__init__()
        self._hooks = hooks

    def __setitem__(self, platform: str, adapter: Adapter) -> None:
        super().__setitem__(platform, seen_by(self._hooks, adapter))

    async def may_manage(self, channel: ChannelRef, user_id: str, *, whole_place: bool = False) -> bool:
        """Whether the platform itself lets this user manage the channel."""
        return await self[channel.platform].may_manage(channel, user_id, whole_place=whole_place)

    async def hears_everything(self, channel: ChannelRef) -> bool:
        """Whether all that is said in a group reaches us (T18)."""
        return await self[channel.platform].hears_everything(channel)

    def link(self, channel: ChannelRef, message_id: str) -> str | None:
        """Address of a message."""
        return self[channel.platform].link(channel, message_id)

    async def delete(self, channel: ChannelRef, message_ids: Sequence[str]) -> None:
        """Delete messages of ours."""
        await self[channel.platform].delete(channel, message_ids)


def configured_adapters(
    settings: Settings, db: Database, tasks: Tasks, menu: CommandMenu, wants_files: WantsFiles = wants_files_for_us
) -> dict[str, Adapter]:
    """The adapters that have a token."""
    wanted = {name: make for name, make in ADAPTERS.items() if getattr(settings, name).token is not None}
    return {name: make(settings, db, tasks, menu, wants_files) for name, make in wanted.items()}


def terminal_adapter(settings: Settings, tasks: Tasks, menu: CommandMenu, why: Callable[[], str]) -> ConsoleAdapter:
    """The terminal, with its history of lines and its exports in the data folder; `why` tells what made an answer
    fail.
    """
    from adapters.console import ConsoleAdapter

    return ConsoleAdapter(
        menu,
        history=settings.typed_lines,
        exports=settings.exports,
        spawn=tasks.spawn,
        why=why,
        locale=locale_of_terminal(os.environ),
    )


def _discord(settings: Settings, db: Database, tasks: Tasks, menu: CommandMenu, wants_files: WantsFiles) -> Adapter:
    from adapters.discord.adapter import DiscordAdapter
    from adapters.discord.options import DiscordOptions

    given = settings.discord
    assert given.token is not None

    async def load_hash() -> str | None:
        return await db.read(ledger.recall, "discord-commands")

    async def save_hash(value: str) -> None:
        await db.run(ledger.remember, "discord-commands", value)

    return DiscordAdapter(
        token=given.token.get_secret_value(),
        menu=menu,
        spawn=tasks.spawn,
        wants_files=wants_files,
        api_base=given.api_base,
        gateway_url=given.gateway_url,
        options=DiscordOptions(
            audio_bytes=_audio_bytes(settings.voice),
            audio_seconds=settings.voice.max_seconds,
            faces=given.faces != "off",
            load_hash=load_hash,
            save_hash=save_hash,
        ),
    )


def _telegram(settings: Settings, _db: Database, tasks: Tasks, menu: CommandMenu, wants_files: WantsFiles) -> Adapter:
    from adapters.telegram.adapter import TelegramAdapter
    from adapters.telegram.options import FileLimits, TelegramOptions, WebhookOptions

    given = settings.telegram
    assert given.token is not None
    hook = given.webhook
    webhook = (
        WebhookOptions(
            url=hook.url,
            listen=hook.listen,
            port=hook.port,
            path=hook.path,
            secret_token=hook.secret_token.get_secret_value() if hook.secret_token else None,
        )
        if hook.url
        else None
    )
    return TelegramAdapter(
        token=given.token.get_secret_value(),
        menu=menu,
        spawn=tasks.spawn,
        wants_files=wants_files,
        base_url=given.base_url,
        base_file_url=given.base_file_url,
        webhook=webhook,
        options=TelegramOptions(
            files=FileLimits(audio_bytes=_audio_bytes(settings.voice), audio_seconds=settings.voice.max_seconds)
        ),
    )


def _audio_bytes(given: VoiceSettings) -> int:
    """How much of what people say aloud is fetched: nothing where nobody writes it down."""
    return given.max_bytes if given.transcription_model else 0


ADAPTERS: dict[str, Callable[[Settings, Database, Tasks, CommandMenu, WantsFiles], Adapter]] = {
    "discord": _discord,
    "telegram": _telegram,
}
"""The chat platforms by the name of their settings group; add yours here."""

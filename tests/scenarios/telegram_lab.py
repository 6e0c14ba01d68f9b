"""A Telegram, a model server and the settings that join the bot to them, for scenarios on the wire."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import know_the_bot
from tests.emulators.openai.emulator import OpenAIEmulator
from tests.emulators.openai.script import Stream, Wait, chunk
from tests.emulators.telegram.server import TelegramEmulator
from tests.emulators.telegram.world import Chat, User


@dataclass
class TelegramLab:
    """The world that the bot serves."""

    telegram: TelegramEmulator
    model: OpenAIEmulator
    settings: dict[str, str]
    folder: Path

    async def polled(self) -> None:
        """Wait until the bot listens."""
        await self.telegram.wait_for(lambda: self.telegram.polling, timeout_s=30)

    def people(self) -> tuple[User, User, Chat]:
        """Alice, who is an administrator, Bob, and their group, which knows the bot."""
        alice, bob = self.telegram.user("Alice"), self.telegram.user("Bob")
        return alice, bob, self.group("Lab", alice, bob)

    def group(self, title: str, administrator: User, *others: User) -> Chat:
        """A group that knows the bot."""
        group = self.telegram.group(title, administrator, *others)
        group.administrators.add(administrator.id)
        know_the_bot(self.folder / "data" / "familiar.db", f"telegram:{group.id}")
        return group


@asynccontextmanager
async def telegram_lab(folder: Path, database: Path) -> AsyncIterator[TelegramLab]:
    """Both servers, for a bot that works in `folder`; `database` is an empty, migrated one."""
    (folder / "data").mkdir()
    shutil.copy(database, folder / "data" / "familiar.db")
    async with TelegramEmulator() as telegram, OpenAIEmulator() as model:
        settings = {
            "TELEGRAM__TOKEN": telegram.token,
            "TELEGRAM__BASE_URL": telegram.base_url,
            "TELEGRAM__BASE_FILE_URL": telegram.base_file_url,
            "PROVIDERS__LAB__BASE_URL": model.base_url,
            "PROVIDERS__LAB__API_KEY": "key-sentinel-123456",
            "MODEL": "lab/scripted",
            "PERSONA": "none",
        }
        yield TelegramLab(telegram, model, settings, folder)


def halting(first: str, second: str, gate: asyncio.Event) -> Stream:
    """An answer that stops in its middle until the gate opens."""
    return Stream(steps=(chunk({"content": first}), Wait(gate), chunk({"content": second}), chunk({}, finish="stop")))


def never_ending(first: str, more: str, gate: asyncio.Event) -> Stream:
    """An answer that stops until the gate opens, and then for good."""
    return Stream(steps=(chunk({"content": first}), Wait(gate), chunk({"content": more}), Wait(asyncio.Event())))

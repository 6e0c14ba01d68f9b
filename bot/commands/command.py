"""What a command is: its definition, the call it receives, and the desk with everything it may use.

A command answers with an `Outbound`, or with `None` when a turn will answer in its place.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.chat import ChannelRef, CommandSpec, Inbound, Outbound
from bot.dispatch import Dispatcher
from bot.gate import AccessPolicy
from bot.llm.directory import ModelDirectory
from bot.locale import Catalogue
from bot.overrides import Resolver, SessionSettings
from bot.personas.library import PersonaLibrary
from bot.settings import Settings
from bot.store.database import Database
from bot.store.sessions import SessionRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One use of a command: who, where, with what options, and what is in force there."""

    inbound: Inbound
    session: SessionRow
    conversation_id: int
    persona_id: str
    settings: SessionSettings
    options: Mapping[str, str]
    locale: str
    """Catalogue locale of the answer: the user's, else the place's, else English."""
    now: datetime


class Platforms(Protocol):
    """What commands need of the adapters."""

    async def may_manage(self, channel: ChannelRef, user_id: str) -> bool:
        """Whether the platform itself lets this user manage the channel."""

    async def delete(self, channel: ChannelRef, message_ids: Sequence[str]) -> None:
        """Delete messages of ours."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """Everything that commands work with."""

    db: Database
    settings: Settings
    resolver: Resolver
    library: PersonaLibrary
    models: ModelDirectory
    catalogue: Catalogue
    dispatcher: Dispatcher
    platforms: Platforms
    policy: AccessPolicy
    commands: Callable[[], Sequence[Command]]

    def say(self, call: Call, message_id: str, **facts: str | int | float) -> Outbound:
        """An answer from the catalogue, in the caller's language."""
        return Outbound(text=self.catalogue.text(message_id, call.locale, **facts))

    async def may_manage(self, call: Call) -> bool:
        """Whether the caller may change this place for everyone (always so in a DM)."""
        author = call.inbound.author
        if self.policy.is_operator(author) or call.inbound.channel.is_dm:
            return True
        return await self.platforms.may_manage(call.inbound.channel, author.id)


Run = Callable[[Call, Desk], Awaitable[Outbound | None]]
Suggest = Callable[[Desk, ChannelRef, str, str], Awaitable[Sequence[str]]]
"""`suggest(desk, channel, option, typed)`: values for an option, best first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A definition and what it does. Raises `UserError` for what the caller must mend."""

    spec: CommandSpec
    run: Run
    suggest: Suggest | None = None

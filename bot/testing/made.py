"""Made values: channels, people, inbounds, rows and turns with sensible defaults."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bot.chat import Attachment, Author, ChannelRef, CommandCall, Inbound, InboundKind, Quote, Visibility
from bot.llm.catalogue import ModelLimits
from bot.overrides import SessionSettings
from bot.settings import PlaceSettings
from bot.store.sessions import SessionRow
from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.turn import Asker, Turn

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
"""The time at which made inbounds are sent unless a test says otherwise."""

_message_ids = itertools.count(1000)


def make_channel(name: str = "room", *, platform: str = "fake", dm: bool = False, thread: str = "") -> ChannelRef:
    """A channel of a made-up community, or a DM."""
    if dm:
        return ChannelRef(platform=platform, place=f"dm-{name}")
    return ChannelRef(platform=platform, place="1", channel=name, thread=thread, visibility=Visibility.PUBLIC)


def make_author(
    name: str = "Alice", *, platform: str = "fake", is_bot: bool = False, locale: str | None = "en"
) -> Author:
    """A person whose id is the name in lower case."""
    return Author(platform=platform, id=name.lower(), name=name, is_bot=is_bot, locale=locale)


def make_inbound(
    text: str = "hello",
    *,
    channel: ChannelRef | None = None,
    author: Author | None = None,
    message_id: str | None = None,
    kind: InboundKind = InboundKind.MESSAGE,
    mentions_me: bool = False,
    reply_to: Quote | None = None,
    attachments: tuple[Attachment, ...] = (),
    command: CommandCall | None = None,
    reply_handle: object | None = None,
    is_starter: bool = False,
    sent_at: datetime = NOW,
) -> Inbound:
    """An inbound with sensible defaults: Alice says hello in a DM."""
    channel = channel or make_channel(dm=True)
    return Inbound(
        kind=kind,
        channel=channel,
        message_id=message_id or str(next(_message_ids)),
        author=author or make_author(platform=channel.platform),
        sent_at=sent_at,
        text=text,
        mentions_me=mentions_me,
        reply_to=reply_to,
        attachments=attachments,
        command=command,
        reply_handle=reply_handle,
        is_starter=is_starter,
    )


_positions = itertools.count(1)


def make_row(text: str = "hello", **changes: Any) -> WindowRow:
    """A line of a history: something that Alice said, unless `changes` say otherwise."""
    number = next(_positions)
    row = WindowRow(
        id=number,
        position=number,
        kind=MessageKind.SAID,
        conversation_id=None,
        persona_id=None if changes.get("kind", MessageKind.SAID) is MessageKind.SAID else "none",
        author_key="fake:alice",
        author_name="Alice",
        text=text,
        quote="",
        addressed=True,
        tokens=len(text.split()),
        sent_at=NOW,
    )
    return replace(row, **changes)


def make_turn(*history: WindowRow, **changes: Any) -> Turn:
    """A turn that answers the last line of a history, in Alice's DM and without a persona, unless `changes` say
    otherwise.
    """
    rows = history or (make_row(),)
    turn = Turn(
        session=SessionRow(id=1, channel=make_channel(dm=True), conversation_id=1),
        conversation_id=1,
        persona=None,
        persona_id="none",
        persona_name="Familiar",
        settings=SessionSettings(values=PlaceSettings(), chain={}),
        model="test/scripted",
        limits=ModelLimits(context_window=8192),
        window=8192,
        budget=6656,
        reserve=1024,
        asker=Asker(key="fake:alice", name="Alice", locale="en"),
        burst=(rows[-1].id,),
        position=rows[-1].position,
        history=rows,
        images=(),
        continues=False,
        is_greeted=True,
        now=NOW,
    )
    return replace(turn, **changes)

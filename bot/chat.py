"""What a chat platform is to us: the values that cross the border, and the one interface an adapter fills.

Knows no platform, no database and no model; adapters import this module (and `bot.errors`) and nothing else of `bot`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class Visibility(StrEnum):
    """Who can read what is said in a session; the narrowest wins wherever two meet."""

    DM = "dm"
    PRIVATE = "private"
    PUBLIC = "public"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelRef:
    """One spot people talk in. Ids are the platform's own, kept as text because they exceed 2^53 or are negative.

    `place` is a guild, a Telegram chat or a DM channel; `channel` a channel inside a guild; `thread` a thread, forum
    post or topic. The names are labels for people and never take part in a key.
    """

    platform: str
    place: str
    channel: str = ""
    thread: str = ""
    visibility: Visibility = Visibility.DM
    place_name: str = ""
    channel_name: str = ""

    @property
    def place_key(self) -> str:
        """Key of the guild, group or DM, for example `discord:1234`."""
        return f"{self.platform}:{self.place}"

    @property
    def parent_key(self) -> str | None:
        """Session key of the channel that this thread or topic hangs under; `None` outside threads (D17)."""
        if not self.thread:
            return None
        return ":".join(part for part in (self.platform, self.place, self.channel) if part)

    @property
    def session_key(self) -> str:
        """Key of the session. Keys are compared, never parsed."""
        return ":".join(part for part in (self.platform, self.place, self.channel, self.thread) if part)

    @property
    def is_dm(self) -> bool:
        """Whether this is a private chat with one person."""
        return self.visibility is Visibility.DM


@dataclass(frozen=True, kw_only=True, slots=True)
class Author:
    """Who wrote something. Rights depend on `key` and `roles` alone, never on a name (X03)."""

    platform: str
    id: str
    name: str
    """Display name, flattened to one inert line by the adapter."""
    is_bot: bool = False
    roles: frozenset[str] = frozenset()  # the platform's ids; empty where it has none
    locale: str | None = None

    @property
    def key(self) -> str:
        """Stable identity, `platform:id`."""
        return f"{self.platform}:{self.id}"


class AttachmentKind(StrEnum):
    """What the pipeline can do with an attachment."""

    IMAGE = "image"
    TEXT = "text"
    OTHER = "other"


@dataclass(frozen=True, kw_only=True, slots=True)
class Attachment:
    """A file that came with a message. The adapter has fetched and capped it; nothing is fetched later. Of an EDIT they
    are only those that are left, by their notes.

    IMAGE carries `data` (bytes of a PNG, JPEG, WEBP or GIF, by its magic bytes); TEXT carries `text` and, when cut, a
    `note` such as "first 65536 of 107879 bytes"; OTHER carries only its `note` ("voice message, 12 s").
    """

    kind: AttachmentKind
    name: str
    media_type: str = "application/octet-stream"
    size: int = 0
    data: bytes = b""
    text: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Quote:
    """The message that an inbound replies to, as the platform delivered it."""

    message_id: str
    author_name: str
    text: str
    is_mine: bool = False
    """Whether this bot wrote it, which makes the inbound addressed."""


class InboundKind(StrEnum):
    """What happened on the platform."""

    MESSAGE = "message"
    EDIT = "edit"
    DELETE = "delete"
    COMMAND = "command"
    BUTTON = "button"
    MIGRATION = "migration"


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandCall:
    """A command as a platform's own command menu delivered it: its path and its typed options."""

    path: tuple[str, ...]
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Inbound:
    """One thing that reached us. A pure function of the platform's payload makes it (`to_inbound`).

    `message_id` is the platform's message id, unique within the session; for a COMMAND or BUTTON it is the interaction
    or callback id, which is what duplicates are recognised by. `text` has our own mention removed and other mentions
    readable; for a BUTTON it is the command line that the button carries.
    """

    kind: InboundKind
    channel: ChannelRef
    message_id: str
    author: Author
    sent_at: datetime
    text: str = ""
    mentions_me: bool = False
    reply_to: Quote | None = None
    attachments: tuple[Attachment, ...] = ()
    command: CommandCall | None = None
    commands_need_mention: bool = False
    """Whether a command in `text` counts only with a mention, as in Discord's servers, where "/" is not ours alone."""
    reply_handle: object | None = None
    """Opaque to the core; handed back to `open_reply` so that a deferred command or a pressed button is answered."""
    migrated_to: ChannelRef | None = None
    """Only for MIGRATION: where `channel` lives from now on (T09)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Button:
    """A button under a message. Pressing it runs `command`, a text command without its slash, as the presser."""

    label: str
    command: str
    """At most 64 bytes of UTF-8, Telegram's limit for callback data."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outbound:
    """One message from us: Markdown text, and rows of buttons under its last part."""

    text: str
    buttons: tuple[tuple[Button, ...], ...] = ()
    private: bool = False
    """Whether it concerns the asker alone, as a refusal does. Others are spared it where the platform can do that."""


class PartState(StrEnum):
    """What is known about one platform message of ours, best first."""

    SENT = "sent"
    UNCERTAIN = "uncertain"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class SentPart:
    """One platform message that carries a part of a reply; `message_id` is `None` when the platform never told us."""

    ordinal: int
    message_id: str | None
    state: PartState


class ReplyStream(Protocol):
    """One answer on its way to the platform. The text given to `update` is cumulative and only ever grows; updates are
    paced and coalesced inside, and platform faults in them are swallowed. `finish` shows the whole text.
    """

    async def update(self, text: str) -> None:
        """Show that much of the answer when the pace allows it. Returns soon; never raises for a platform fault."""

    async def finish(self, outbound: Outbound) -> tuple[SentPart, ...]:
        """Show the final text in full, at once. Never raises for a platform fault: the parts carry what happened."""

    async def fail(self, outbound: Outbound) -> tuple[SentPart, ...]:
        """End without an answer: keep what was shown, closed properly, and tell `outbound` in its place or after it."""

    async def discard(self) -> bool:
        """End without sending anything more; stops the typing sign. Tells whether people may have seen any of it."""


BeforeSend = Callable[[], Awaitable[None]]
"""Awaited once, right before the first request that makes something of a reply visible (crash safety, S16)."""

Deliver = Callable[[Inbound], Awaitable[None]]
"""`Pipeline.deliver`: takes one inbound and never raises."""

WantsFiles = Callable[[Inbound], bool]
"""Whether the files of a message are worth fetching, asked before they are."""


def speaks_to_us(inbound: Inbound) -> bool:
    """Whether a message is meant for the bot wherever it stands: in a DM, by mention, or as a reply to it."""
    return inbound.channel.is_dm or inbound.mentions_me or bool(inbound.reply_to and inbound.reply_to.is_mine)


class Severity(StrEnum):
    """How bad a doctor's finding is; FAULT makes `familiar doctor` exit with 1."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One line of `familiar doctor`: what was looked at, how it is, and what to do about it."""

    severity: Severity
    subject: str
    message: str
    remedy: str = ""


class OptionKind(StrEnum):
    """Type of a command option; Discord registers it as such, the text form parses it."""

    TEXT = "text"
    INTEGER = "integer"
    CHOICE = "choice"
    SWITCH = "switch"
    """On when present; a boolean in a platform's menu, whose value arrives as "true"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionSpec:
    """One option of a command. `flag` is its short form in text ("-p"); an option without one is positional."""

    name: str
    kind: OptionKind = OptionKind.TEXT
    flag: str | None = None
    required: bool = False
    rest: bool = False
    """A positional that takes the rest of the line, spaces included."""
    choices: tuple[str, ...] = ()
    completes: bool = False
    """Whether `Complete` offers values for it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandSpec:
    """One command, the same on every platform. Its description is the catalogue message `command-<a>-<b>`."""

    path: tuple[str, ...]  # one to three words
    options: tuple[OptionSpec, ...] = ()
    ephemeral: bool = False
    """A constant, because Discord wants it when the command is deferred, before anything is known (D10)."""
    manages: bool = False
    """Whether it changes a place for everyone: in groups it needs the platform's own rights."""

    @property
    def name(self) -> str:
        """The path in words, "persona use"."""
        return " ".join(self.path)


Complete = Callable[[ChannelRef, Author, tuple[str, ...], str, str], Awaitable[Sequence[str]]]
"""`complete(channel, author, path, option, typed)`: up to 25 values for a command option, best first."""

Translate = Callable[[str, str | None], str]
"""`translate(message_id, locale)`: a text of the catalogue; an unknown locale falls back to English."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandMenu:
    """What an adapter needs to show commands in the platform's own menu."""

    specs: tuple[CommandSpec, ...]
    translate: Translate
    locales: tuple[str, ...]  # every one of the catalogue, English first
    complete: Complete


class Adapter(Protocol):
    """One chat platform. Four verbs in, three out; everything else of the platform stays behind it."""

    @property
    def platform(self) -> str:
        """The word that starts every key of this platform: "discord", "telegram"."""

    async def run(self, deliver: Deliver) -> None:
        """Connect and hand every inbound to `deliver` until `close`. Reconnects by itself.

        Raises:
            AdapterError: the platform refuses us for good (bad token, missing intent); the message says the remedy.
        """

    async def ready(self) -> None:
        """Wait until answers can be sent, which may need a login; for ever where the platform refuses us."""

    async def stop_listening(self) -> None:
        """Take no more inbounds, within a few seconds; replies under way can still be finished."""

    async def close(self) -> None:
        """Disconnect and release everything. Safe to call at any time, also before `run` (S18)."""

    async def open_reply(
        self,
        channel: ChannelRef,
        *,
        reply_to: str | None = None,
        handle: object | None = None,
        before_send: BeforeSend | None = None,
        max_parts: int = 5,
    ) -> ReplyStream:
        """Begin an answer: shows the typing sign, sends nothing yet. A `reply_to` that is gone is ignored (D05)."""

    async def delete(self, channel: ChannelRef, message_ids: Sequence[str]) -> None:
        """Delete messages of ours where the platform allows it; those already gone are fine."""

    async def may_manage(self, channel: ChannelRef, user_id: str, *, whole_place: bool = False) -> bool:
        """Whether the platform lets this user manage the channel, or all of its place; in a DM everybody may."""

    async def check(self) -> Sequence[Finding]:
        """Look at login, rights and platform settings by real calls, for `familiar doctor`."""

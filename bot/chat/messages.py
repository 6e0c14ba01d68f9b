"""What reaches us from a platform, in one normal form: the place, the person, the message, what came with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Visibility(StrEnum):
    """Who can read what is said in a session; the narrowest wins wherever two meet."""

    DM = "dm"
    PRIVATE = "private"
    PUBLIC = "public"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelRef:
    """One spot people talk in. Ids are the platform's own, kept as text because they exceed 2^53 or are negative.

    `place` is a guild, a Telegram chat or a DM channel; `channel` a channel inside a guild; `thread` a thread, forum
    post or topic, and also the id of the message that it was opened about, where there is one. The names are labels
    for people and never take part in a key.
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
    AUDIO = "audio"
    TEXT = "text"
    OTHER = "other"


QUOTED = "of the message replied to"
"""How the note of a file begins that came with the message that is replied to, for the model."""

FetchFile = Callable[[int], Awaitable[bytes]]
"""`fetch(limit)`: a whole file. Raises `UserError` when it has more than `limit` bytes, or is not to be had."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attachment:
    """A file that came with a message. The adapter has fetched and capped it; what a command takes is fetched only once
    the command asks, when the rights to use it are sure. Of an EDIT they are only those that are left, by their notes.

    IMAGE carries `data` (bytes of a PNG, JPEG, WEBP or GIF, by its magic bytes); AUDIO carries `data` and a `note`
    ("voice message, 12 s"), and what is said in it may be written down; TEXT carries `text` and, when cut, a `note`
    such as "first 65536 of 107879 bytes"; OTHER carries only its `note`.
    """

    kind: AttachmentKind
    name: str
    media_type: str = "application/octet-stream"
    size: int = 0
    data: bytes = b""
    text: str = ""
    note: str = ""
    quoted: bool = False
    """Whether it came with the message that is replied to; its note says so too."""
    fetch: FetchFile | None = field(default=None, compare=False, repr=False)
    """Of the files of a command, where they can be had."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Quote:
    """The message that an inbound replies to, as the platform delivered it."""

    message_id: str
    author_name: str
    text: str
    is_mine: bool = False
    """Whether this bot wrote it, which makes the inbound addressed."""
    author_key: str | None = None
    """Who wrote it, where the platform tells: `Author.key`."""


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
    filled: Mapping[str, str] | None = None
    """Only for BUTTON: what a form was filled with, by the keys of its fields."""
    reply_handle: object | None = None
    """Opaque to the core; handed back to `open_reply` so that a deferred command or a pressed button is answered."""
    may_be_repost: bool = False
    """Whether this may be somebody else's message posted again in another face, as proxy bots do (D08)."""
    is_starter: bool = False
    """Whether it is what the thread was opened about, heard from elsewhere: context for what follows, no call to us."""
    migrated_to: ChannelRef | None = None
    """Only for MIGRATION: where `channel` lives from now on (T09)."""


def speaks_to_us(inbound: Inbound) -> bool:
    """Whether a message is meant for the bot wherever it stands: in a DM, by mention, or as a reply to it."""
    return inbound.channel.is_dm or inbound.mentions_me or bool(inbound.reply_to and inbound.reply_to.is_mine)

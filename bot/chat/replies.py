"""What we send: one message, and one answer on its way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypedDict


@dataclass(frozen=True, kw_only=True, slots=True)
class Button:
    """A button under a message. Pressing it runs `command`, a text command without its slash, as the presser."""

    label: str
    command: str
    """At most 64 bytes of UTF-8, Telegram's limit for callback data."""
    opens_form: bool = False
    """Whether the command may open a form, which must be asked for first (`CommandMenu.ask_form`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OutFile:
    """A file of ours: a text, or `data` that is none, of which `text` then tells where no file can be sent."""

    name: str
    text: str
    data: bytes = b""

    @property
    def content(self) -> bytes:
        """What is in the file."""
        return self.data or self.text.encode()


@dataclass(frozen=True, kw_only=True, slots=True)
class Mention:
    """Somebody whom a message calls, so that the platform tells them of it."""

    user_key: str
    """Their `Author.key`."""
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Outbound:
    """One message from us: Markdown text, and rows of buttons and a file under its last part."""

    text: str
    buttons: tuple[tuple[Button, ...], ...] = ()
    file: OutFile | None = None
    """Where no file can be sent, its text is shown after the message."""
    picture: bytes = b""
    """A small JPEG that is shown with the text where the platform can do that; the text does without."""
    voice: OutFile | None = None
    """Speech, alone in a message without a text; a platform that knows no such message sends none."""
    private: bool = False
    """Whether it concerns the asker alone, as a refusal does. Others are spared it where the platform can do that."""
    mention: Mention | None = None
    """Who is called before the text. Nobody else ever is, whatever names are in it."""
    awaits_reply: bool = False
    """Whether whoever is called is to answer by a reply to it: a platform that can do that opens the box to write in.
    It has no buttons then.
    """


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

    async def update(self, text: str, *, doing: str = "") -> None:
        """Show that much of the answer when the pace allows it, and below it what is being done, which the next update
        or the end takes away. Returns soon; never raises for a platform fault.
        """

    async def finish(self, outbound: Outbound) -> tuple[SentPart, ...]:
        """Show the final text in full, at once. Never raises for a platform fault: the parts carry what happened."""

    async def fail(self, outbound: Outbound) -> tuple[SentPart, ...]:
        """End without an answer: keep what was shown, closed properly, and tell `outbound` in its place or after it."""

    async def discard(self) -> bool:
        """End without sending anything more; stops the typing sign. Tells whether people may have seen any of it."""


BeforeSend = Callable[[], Awaitable[None]]
"""Awaited once, right before the first request that makes something of a reply visible (crash safety, S16)."""

PartShown = Callable[[SentPart], Awaitable[None]]
"""Awaited for each message of a reply that has more to come, once the platform has told its id: a crash does not lose
it. The last message of a final text is not told; `finish` returns it.
"""


LoadPicture = Callable[[], Awaitable[bytes | None]]
"""Loads a persona's picture as a small square PNG or JPEG; `None` when it cannot be had."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Speaker:
    """Who speaks, for people to see as far as the platform lets a message show it."""

    persona_id: str
    name: str
    has_own_face: bool = True
    """Whether it is another one than the platform knows the bot by."""
    is_one_of_several: bool = False
    """Whether others speak in the same place, so that people must be told who does."""
    picture: LoadPicture | None = field(default=None, compare=False, repr=False)


MOST_PARTS = 5
"""Messages that a reply may take where nobody says how many; the default of `MAX_REPLY_MESSAGES`."""


class ReplyOptions(TypedDict, total=False):
    """What an answer may begin with. An adapter leaves aside what its platform cannot do."""

    reply_to: str | None
    """The message that it refers to; one that is gone is ignored (D05)."""
    handle: object | None
    """The `reply_handle` of the inbound that it answers."""
    before_send: BeforeSend | None
    part_shown: PartShown | None
    max_parts: int
    """How many messages it may take, `MOST_PARTS` where nothing is said; what is longer ends in a file."""
    speaker: Speaker | None
    """Whose face and name it has, where the platform can show more than one."""

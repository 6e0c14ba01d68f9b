"""The way out without pacing: transports of single replies in front of the server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from adapters.telegram.inbound import Pressed
from adapters.telegram.outbound import Part, TelegramTransport
from adapters.telegram.outbox import Outbox
from adapters.telegram.request import TelegramRequest
from bot.chat import ChannelRef, Outbound, Visibility
from tests.emulators.telegram.server import TelegramEmulator
from tests.emulators.telegram.world import Chat, Json


@dataclass
class Rig:
    """An outbox in front of a server, and what it told."""

    telegram: TelegramEmulator
    request: TelegramRequest
    now: float = 1000.0
    clock: Callable[[], float] | None = None
    """Instead of `now`."""
    moves: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.outbox = Outbox(
            self.request.make_bot(),
            moved=lambda old, new: self.moves.append((old, new)),
            clock=self.clock or (lambda: self.now),
        )
        self.alice = self.telegram.user("Alice")
        self.private = self.telegram.private(self.alice)
        self.group = self.telegram.group("Garden", self.alice, is_forum=True)

    def to(
        self,
        chat: Chat,
        *,
        thread: int | None = None,
        reply_to: int | None = None,
        pressed: Pressed | None = None,
        max_parts: int = 5,
    ) -> TelegramTransport:
        """A reply's transport."""
        channel = ChannelRef(
            platform="telegram",
            place=str(chat.id),
            thread=str(thread or ""),
            visibility=Visibility.DM if chat.kind == "private" else Visibility.PRIVATE,
        )
        return TelegramTransport(
            self.outbox,
            channel,
            reply_to=reply_to,
            pressed=pressed,
            max_parts=max_parts,
            own_name=self.telegram.bot.username or "",
        )

    def part(self, text: str) -> Part:
        """A text that needs one message."""
        (part,) = self.to(self.group).render(Outbound(text=text), final=True)
        return part

    async def say(self, chat: Chat, text: str, *, thread: int | None = None, reply_to: int | None = None) -> list[Json]:
        """Send a whole text to a chat and return what stands there from us."""
        transport = self.to(chat, thread=thread, reply_to=reply_to)
        for ordinal, part in enumerate(transport.render(Outbound(text=text), final=True)):
            await transport.send(part, ordinal)
        return self.telegram.bot_messages(chat)

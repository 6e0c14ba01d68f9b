"""Sessions as tests tell them to the store: who said what, what was answered, and what a turn would read of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bot.chat import ChannelRef, PartState, SentPart
from bot.llm.model import ToolCall
from bot.store import conversations, messages, replies, sessions, window
from bot.store.database import Tx
from bot.store.messages import NewMessage
from bot.store.replies import NewReply, Settled, ToolResult, ToolRound
from bot.store.sessions import SessionRow
from bot.store.tables import MessageKind
from bot.testing import NOW, make_author, make_channel, make_inbound

CHANNEL = make_channel()


@dataclass
class Story:
    """Writes a session's messages through the store, and reads it as a turn would."""

    tx: Tx
    session: SessionRow = field(init=False)
    conversation: int = field(init=False)
    persona: str = "mira"
    channel: ChannelRef = CHANNEL

    def __post_init__(self) -> None:
        self.session = sessions.open_session(self.tx, self.channel, NOW)
        self.play(self.persona)

    def play(self, persona: str) -> int:
        """Let a persona's conversation be the current one."""
        self.session = sessions.open_session(self.tx, self.channel, NOW)
        self.persona = persona
        self.conversation = conversations.ensure_conversation(self.tx, self.session, persona, NOW)
        return self.conversation

    def reset(self) -> int:
        self.session = sessions.open_session(self.tx, self.channel, NOW)
        self.conversation = conversations.reset_conversation(self.tx, self.session, self.persona, NOW)
        return self.conversation

    def say(
        self,
        text: str,
        *,
        addressed: bool = False,
        kind: MessageKind = MessageKind.SAID,
        tokens: int = 1,
        author: str = "Alice",
        **more: Any,
    ) -> int:
        """Let somebody say something; `more` goes to the inbound."""
        inbound = make_inbound(text, channel=self.channel, author=make_author(author), **more)
        new = NewMessage(kind=kind, text=text, addressed=addressed, tokens=tokens)
        return messages.record(self.tx, self.session, inbound, new, NOW)

    def begin(
        self, *burst: int, position: int | None = None, kind: MessageKind = MessageKind.REPLY, by: int = 0
    ) -> int:
        new = NewReply(
            session=self.session,
            conversation_id=by or self.conversation,
            persona_id=self.persona,
            persona_name=self.persona.title(),
            position=burst[-1] if position is None else position,
            burst=burst,
            kind=kind,
        )
        return replies.begin_reply(self.tx, new, NOW)

    def answer(
        self,
        text: str,
        *burst: int,
        position: int | None = None,
        kind: MessageKind = MessageKind.REPLY,
        state: PartState = PartState.SENT,
        rounds: tuple[ToolRound, ...] = (),
        by: int = 0,
    ) -> int:
        reply = self.begin(*burst, position=position, kind=kind, by=by)
        parts = (SentPart(ordinal=0, message_id=f"m{reply}", state=state),)
        settled = Settled(text=text, tokens=1, parts=parts, rounds=rounds)
        replies.settle_reply(self.tx, reply, settled, NOW)
        return reply

    def read(self, conversation: int = 0, **how: Any) -> list[str]:
        how = {"up_to": 10**9, "room": 10**9, **how}
        rows = window.read_window(self.tx, self.session.id, conversation or self.conversation, **how)
        return [row.text or row.tool_calls[0]["name"] for row in rows]


def tool_round(name: str) -> ToolRound:
    call = ToolCall(id=name, name=name, arguments="{}")
    result = ToolResult(call_id=name, tool_name=name, text=f"{name} result", tokens=1)
    return ToolRound(calls=(call,), results=(result,), call_tokens=1)

"""The persona's first words: said once per conversation, and kept as a reply that the history holds.

Used at the first contact in a private chat, by /start, after /reset, and where a persona is new.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from bot.cast import Cast
from bot.chat import Adapter, ChannelRef, Outbound
from bot.faces import Faces
from bot.overrides import Resolver
from bot.personas.card import PersonaCard
from bot.personas.library import Persona
from bot.personas.macros import Moment, Where, expand
from bot.store import greetings, replies
from bot.store.conversations import conversation_by_id, mark_greeted
from bot.store.database import Database, Tx
from bot.store.replies import NewReply, Settled
from bot.store.sessions import SessionRow, load_overrides


@dataclass(frozen=True, kw_only=True, slots=True)
class Greeting:
    """One greeting of a card. Its number is the specification's: 0 is the first message, then come the alternates, and
    behind them those for groups.
    """

    number: int
    text: str
    """As the card has it."""


def greetings_of(card: PersonaCard, *, in_group: bool) -> tuple[Greeting, ...]:
    """The greetings that may begin a conversation, the one first that does so unless another was chosen: in a group,
    the first of those for groups.
    """
    everywhere = (card.first_message, *card.alternate_greetings)
    for_groups = enumerate(card.group_only_greetings if in_group else (), len(everywhere))
    texts = (*for_groups, *enumerate(everywhere))
    return tuple(Greeting(number=number, text=text) for number, text in texts if text.strip())


def active_greeting(card: PersonaCard, chosen: int | None, *, in_group: bool) -> Greeting | None:
    """The greeting that begins a conversation, where `chosen` is the number of the one that somebody chose. Without a
    choice a card whose first message is empty greets nobody: its alternates are not meant to stand for it.
    """
    known = greetings_of(card, in_group=in_group)
    wanted = next((greeting for greeting in known if greeting.number == chosen), None)
    first = next(iter(known), None)
    is_alternate = first is not None and 0 < first.number <= len(card.alternate_greetings)
    return wanted or (None if is_alternate else first)


def greeting_of(
    persona: Persona | None, user: str, *, now: datetime, in_group: bool = False, where: Where = Where.SHOWN
) -> str:
    """What the persona says first, its macros expanded for the person who meets it; "" when it says nothing. `now` is
    in the time zone of the place.
    """
    greeting = active_greeting(persona.card, None, in_group=in_group) if persona else None
    return expand_greeting(persona, greeting.text, user, now=now, where=where) if persona and greeting else ""


def expand_greeting(
    persona: Persona, text: str, user: str, *, now: datetime, cast: Cast | None = None, where: Where = Where.SHOWN
) -> str:
    """A greeting as somebody reads it, or as prompts hold it (TAIL), where the persona speaks alone or as one of a
    cast.
    """
    return expand_card_text(persona, text, user, now=now, cast=cast, where=where).strip()


def expand_card_text(
    persona: Persona, text: str, user: str, *, now: datetime, cast: Cast | None = None, where: Where = Where.TAIL
) -> str:
    """What a persona says outside of any turn, with its macros expanded."""
    peers = cast.peers_of(persona.id) if cast else ()
    return expand(
        text,
        char=persona.name,
        user=user,
        where=where,
        moment=Moment(now=now),
        group=", ".join((persona.name, *(peer.name for peer in peers))),
        language=persona.language,
    )


def local_time(tx: Tx, resolver: Resolver, channel: ChannelRef, now: datetime) -> datetime:
    """The time where somebody is greeted."""
    settings = resolver.resolve(channel.platform, load_overrides(tx, channel))
    return now.astimezone(ZoneInfo(settings.values.timezone))


@dataclass(frozen=True, kw_only=True)
class Greeter:
    """Says greetings."""

    db: Database
    resolver: Resolver
    faces: Faces
    adapters: Mapping[str, Adapter]
    now: Callable[[], datetime]
    count: Callable[[str], int]

    async def choose_greeting(self, session: SessionRow, conversation_id: int, number: int) -> bool:
        """Let a conversation begin with the greeting of this number. One that was said already is taken back, so that
        `greet` says this one; false once somebody has spoken to the persona.
        """
        taken_back = await self.db.run(greetings.choose_greeting, conversation_id, number)
        if taken_back:
            await self.adapters[session.channel.platform].delete(session.channel, taken_back)
        return taken_back is not None

    async def greet(
        self,
        session: SessionRow,
        conversation_id: int,
        persona: Persona | None,
        *,
        user: str,
        position: int,
        handle: object | None = None,
    ) -> bool:
        """Greet, unless the persona has done so in this conversation or has no greeting; tells whether it did."""
        if persona is None:
            return False
        now, cast, chosen = await self.db.read(self._look_up, session, conversation_id, persona.id)
        in_group = not session.channel.is_dm
        greeting = active_greeting(persona.card, chosen, in_group=in_group)
        if greeting is None:
            return False
        text, shown = (
            expand_greeting(persona, greeting.text, user, now=now, cast=cast, where=where)
            for where in (Where.TAIL, Where.SHOWN)
        )
        if not text:
            return False
        new = NewReply(
            session=session,
            conversation_id=conversation_id,
            persona_id=persona.id,
            persona_name=persona.name,
            position=position,
            burst=(),
        )
        reply_id = await self.db.run(_begin_once, new, greeting.number, self.now())
        if reply_id is None:
            return False
        speaker = self.faces.speaker(persona, session.channel, cast)
        stream = await self.adapters[session.channel.platform].open_reply(
            session.channel, handle=handle, speaker=speaker
        )
        parts = await stream.finish(Outbound(text=shown))
        await self.db.run(
            replies.settle_reply, reply_id, Settled(text=text, tokens=self.count(text), parts=parts), self.now()
        )
        return True

    def _look_up(
        self, tx: Tx, session: SessionRow, conversation_id: int, persona_id: str
    ) -> tuple[datetime, Cast, int | None]:
        channel = session.channel
        settings = self.resolver.resolve(channel.platform, load_overrides(tx, channel)).values
        now = self.now().astimezone(ZoneInfo(settings.timezone))
        is_own = conversation_by_id(tx, conversation_id).persona_id == persona_id
        chosen = greetings.chosen_greeting(tx, conversation_id) if is_own else None
        return now, self.faces.cast(channel, settings), chosen


def _begin_once(tx: Tx, new: NewReply, number: int, now: datetime) -> int | None:
    """Note that the persona has greeted together with the greeting's row: a crash leaves both or neither. In another
    one's conversation, which it shares, it has once it has said something.
    """
    story, persona_id = new.conversation_id, new.persona_id
    is_own = conversation_by_id(tx, story).persona_id == persona_id
    greets = mark_greeted(tx, story) if is_own else not greetings.has_spoken(tx, story, persona_id)
    if not greets:
        return None
    if is_own and number:
        greetings.keep_greeting(tx, new.conversation_id, number)
    return replies.begin_reply(tx, new, now)

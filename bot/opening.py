"""Opens turns: reads what one needs from the store, decides persona, model and budget, and brings lore. No writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import _lru_cache_wrapper, cached_property, lru_cache
from zoneinfo import ZoneInfo

from bot.dispatch import TurnRequest
from bot.faces import Faces
from bot.llm.catalogue import ModelCatalogue
from bot.llm.directory import ModelDirectory
from bot.lore import LoreReader
from bot.memory.due import due_items
from bot.memory.items import NO_MEMORY, Memory, Written
from bot.model_in_force import fallbacks_in_force, model_in_force, window_of
from bot.overrides import Resolver, SessionSettings
from bot.personas.library import Persona, PersonaLibrary
from bot.personas.mood import Value, mood_fields, mood_of
from bot.prompt.build import Prompt
from bot.prompt.memory import write_memory
from bot.prompt.pictures import choose_images
from bot.prompt.shortening import cap
from bot.prompt.tokens import ModelTokens
from bot.settings import Settings, memory_cap, output_reserve, prompt_budget
from bot.store import answers, images, replies, sessions, window
from bot.store.bursts import read_burst
from bot.store.conversations import conversation_by_id, next_position, open_conversation
from bot.store.database import Database, Tx
from bot.store.images import ImageRow
from bot.store.lorebooks import find_books
from bot.store.memories import read_memory
from bot.store.moods import read_mood
from bot.store.people import zone_of
from bot.store.sessions import SessionRow
from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.turn import Asker, Cuts, Sent, Turn

OVERREAD = 1.25
"""How much more history than fits is read, so that pruning sees that there is more and makes room in one step."""

STARTER_TOKENS = 500
"""What a thread's starter may take once it stands alone: a post in a forum fills that, a book must not."""
STARTER_SHARE = 8
"""The part of a small budget, as a divisor, that it may take at most."""

IMAGE_REACH = 500
"""How many messages back images are looked for: each costs a look-up, and what is older is not talked about now."""

MEMORIES_KEPT = 256
"""Written memories whose count is remembered: one comes again with every turn until something is folded into it."""

_Basis = tuple[str, int, int, int]
"""Model, budget, HISTORY_LIMIT and watermark. What was left out for one basis may have room in another."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Read:
    session: SessionRow
    settings: SessionSettings
    conversation_id: int
    persona_id: str
    is_greeted: bool
    watermark: int
    generation: int
    burst: tuple[int, ...]
    position: int
    memory: Memory


@dataclass(frozen=True, kw_only=True)
class TurnOpener:
    """Makes frozen `Turn`s, and remembers per conversation what its last prompt left out (sticky pruning)."""

    db: Database
    settings: Settings
    resolver: Resolver
    library: PersonaLibrary
    faces: Faces
    models: ModelDirectory
    catalogue: ModelCatalogue
    tokens: ModelTokens
    lore: LoreReader
    bot_name: str
    now: Callable[[], datetime]
    count: Callable[[str], int]
    _cuts: dict[int, tuple[_Basis, Cuts]] = field(default_factory=dict, init=False)
    _sent: dict[int, Sent] = field(default_factory=dict, init=False)

    @cached_property
    def _count(self) -> _lru_cache_wrapper[int]:
        return lru_cache(MEMORIES_KEPT)(self.count)

    def forget(self) -> None:
        """Keep in mind no memory that was counted."""
        self._count.cache_clear()

    def remember(self, turn: Turn, prompt: Prompt) -> None:
        """Let the conversation's next turns leave out the same, until the next compaction and as long as model and
        budget are this turn's, and let them know what they should begin with.
        """
        basis = (turn.model, turn.budget, turn.settings.values.history_limit, turn.watermark)
        self._cuts[turn.conversation_id] = (basis, prompt.cuts.lasting())
        self._sent[turn.conversation_id] = prompt.sent

    async def open(self, request: TurnRequest) -> Turn | None:
        """The turn for a request; `None` when its message has been answered, deleted or undone (R2)."""
        turn = await self.db.read(self._open, request)
        return await self.lore.bring(turn) if turn else None

    async def reopen(self, turn: Turn, request: TurnRequest) -> Turn:
        """A turn as it is after something it reads has changed; a persona chosen meanwhile waits for the next one."""
        opened = await self.open(request)
        return opened if opened and opened.conversation_id == turn.conversation_id else turn

    async def preview(self, session_id: int, asker: Asker, persona_id: str | None = None) -> Turn | None:
        """The turn as it would be if the asker said something now, to the main persona or to another one of the cast;
        nothing is answered by it (warming, figures).
        """
        turn = await self.db.read(self._preview, session_id, asker, persona_id)
        return await self.lore.bring(turn) if turn else None

    def _preview(self, tx: Tx, session_id: int, asker: Asker, persona_id: str | None) -> Turn | None:
        session = sessions.session_by_id(tx, session_id)
        conversation_id = self._conversation_for(tx, session, persona_id)
        if conversation_id is None:
            return None
        read = self._read(tx, session, conversation_id, (), next_position(tx), persona_id=persona_id)
        return self._turn(tx, read, asker)

    def _open(self, tx: Tx, request: TurnRequest) -> Turn | None:
        session = sessions.session_for(tx, request.session_id, request.message_id)
        conversation_id = self._conversation_for(tx, session, request.persona_id) if session else None
        if session is None or conversation_id is None:
            return None
        if request.raises is not None:
            return self._raising(tx, session, conversation_id, request.raises)
        found = _burst_and_position(tx, session, conversation_id, request)
        if found is None:
            return None
        read = self._read(tx, session, conversation_id, *found, persona_id=request.persona_id)
        asker = Asker(
            key=request.author_key,
            name="",
            locale=request.locale,
            is_bot=request.author_is_bot,
            is_exempt=request.is_exempt,
        )
        return self._turn(tx, read, asker, continues=request.message_id is None and request.follows is None)

    def _conversation_for(self, tx: Tx, session: SessionRow, persona_id: str | None) -> int | None:
        """Where a persona of a cast answers: in its own conversation, unless all share one."""
        if persona_id is None or self._settings_of(tx, session).values.persona_switch == "shared":
            return session.conversation_id
        return open_conversation(tx, session.id, persona_id) or session.conversation_id

    def _raising(self, tx: Tx, session: SessionRow, conversation_id: int, item_id: int) -> Turn | None:
        """The turn that speaks first about a follow-up, after all that was said; `None` once it is done."""
        read = self._read(tx, session, conversation_id, (), next_position(tx) - 1)
        item = read.memory.by_id().get(item_id)
        if item is None or not item.is_open:
            return None
        owner = Asker(key=item.new.subject or "", name=item.new.subject_name)
        return replace(self._turn(tx, read, owner), raises=item)

    def _turn(self, tx: Tx, read: _Read, asker: Asker, *, continues: bool = False) -> Turn:
        persona, channel = self.library.get(read.persona_id), read.session.channel
        cast = self.faces.cast(channel, read.settings.values)
        model = model_in_force(self.models, read.settings).name
        limits = self.catalogue.limits(model)
        size = window_of(limits, read.settings.values)
        reserve = min(output_reserve(size, read.settings.values.max_output_tokens), limits.max_output_tokens or size)
        budget = prompt_budget(self.settings, size, reserve)
        cuts = self._cuts_for(read, (model, budget, read.settings.values.history_limit, read.watermark))
        starter = window.read_starter(tx, read.session.id, read.session.channel.thread)
        history = _history(tx, read, cuts, starter, room=int(budget / self.tokens.factor(model) * OVERREAD))
        said = next((row for row in reversed(history) if row.author_key == asker.key), None)
        return Turn(
            session=read.session,
            conversation_id=read.conversation_id,
            persona=persona,
            persona_id=read.persona_id,
            persona_name=persona.name if persona else self.bot_name,
            settings=read.settings,
            model=model,
            limits=limits,
            window=size,
            budget=budget,
            reserve=reserve,
            asker=replace(asker, name=said.author_name if said else asker.name, zone=zone_of(tx, asker.key)),
            burst=read.burst,
            position=read.position,
            history=tuple(history),
            images=_images(tx, history, read.burst, cuts) if limits.vision else (),
            continues=continues,
            is_greeted=read.is_greeted,
            now=self.now(),
            memory=self._written(read.memory, size),
            due=due_items(read.memory, self.now().astimezone(ZoneInfo(read.settings.values.timezone)).date()),
            cuts=cuts,
            starter=self._shortened(starter, budget) if starter else None,
            watermark=read.watermark,
            generation=read.generation,
            sent=self._sent.get(read.conversation_id),
            books=find_books(tx, read.session.channel.place_key, asker.key),
            mood=_mood(tx, persona, read.conversation_id),
            speaker=self.faces.speaker(persona, channel, cast),
            peers=cast.peers_of(read.persona_id) if cast.is_several else (),
            fallbacks=fallbacks_in_force(self.models, read.settings.values, model),
        )

    def _written(self, memory: Memory, window_size: int) -> Written:
        if memory.is_empty:
            return NO_MEMORY
        room = memory_cap(window_size, self.settings.summary.token_ratio)
        return write_memory(memory, room=room, count=self._count)

    def _shortened(self, starter: WindowRow, budget: int) -> WindowRow:
        text = cap(starter.text, min(STARTER_TOKENS, budget // STARTER_SHARE), self._count)
        return replace(starter, text=text, tokens=self._count(text))

    def _cuts_for(self, read: _Read, basis: _Basis) -> Cuts:
        """What the conversation's last prompt left out, unless that was another budget's or another model's, or this
        turn goes back behind it (/undo, then /retry).
        """
        made_for, cuts = self._cuts.get(read.conversation_id, (basis, Cuts()))
        first = read.burst[0] if read.burst else read.position
        return cuts if made_for == basis and cuts.whole_from <= first else Cuts()

    def _settings_of(self, tx: Tx, session: SessionRow, speaker: str | None = None) -> SessionSettings:
        stored = sessions.load_overrides(tx, session.channel)
        return self.resolver.resolve(session.channel.platform, stored, speaker=speaker)

    def _read(
        self,
        tx: Tx,
        session: SessionRow,
        conversation_id: int,
        burst: tuple[int, ...],
        position: int,
        *,
        persona_id: str | None = None,
    ) -> _Read:
        conversation = conversation_by_id(tx, conversation_id)
        speaker = persona_id or conversation.persona_id
        return _Read(
            session=session,
            settings=self._settings_of(tx, session, speaker),
            conversation_id=conversation_id,
            persona_id=speaker,
            is_greeted=conversation.is_greeted,
            watermark=conversation.watermark,
            generation=conversation.generation,
            burst=burst,
            position=position,
            memory=read_memory(tx, conversation_id, with_sources=False),
        )


def _burst_and_position(
    tx: Tx, session: SessionRow, conversation_id: int, request: TurnRequest
) -> tuple[tuple[int, ...], int] | None:
    """What a turn answers and where it stands; `None` where there is nothing to answer any more."""
    if request.follows is not None and request.persona_id is not None:
        position = replies.position_to_follow(tx, request.follows, request.persona_id)
        return ((), position) if position is not None else None
    if request.message_id is None:
        reply = answers.last_reply(tx, conversation_id)
        return ((), reply.position) if reply is not None and reply.kind is MessageKind.REPLY else None
    burst = read_burst(tx, session.id, request.message_id, request.persona_id)
    return (burst, burst[-1]) if burst else None


def _history(tx: Tx, read: _Read, cuts: Cuts, starter: WindowRow | None, *, room: int) -> list[WindowRow]:
    """The window. A thread's starter that was heard late is not in it, because it stands before all of it (D16)."""
    limit = read.settings.values.history_limit
    rows = window.read_window(
        tx,
        read.session.id,
        read.conversation_id,
        up_to=read.position,
        room=room,
        start=cuts.start,
        gap=cuts.gap,
        limit=limit and limit + 1,  # one more than wanted, so that pruning sees that there is more
        burst=read.burst,
    )
    if starter is None or starter.id in (rows[0].id if rows else None, *read.burst):
        return rows
    return [row for row in rows if row.id != starter.id]


def _mood(tx: Tx, persona: Persona | None, conversation_id: int) -> Mapping[str, Value]:
    fields = mood_fields(persona.card) if persona else ()
    return mood_of(fields, read_mood(tx, conversation_id, persona.id)) if persona and fields else {}


def _images(tx: Tx, history: Sequence[WindowRow], burst: Sequence[int], cuts: Cuts) -> tuple[ImageRow, ...]:
    said = [row.id for row in history if row.kind is MessageKind.SAID]
    found = images.find_images(tx, said[-IMAGE_REACH:])
    return tuple(images.read_images(tx, choose_images(found, burst, cuts.images))) if found else ()

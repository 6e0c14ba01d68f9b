"""One turn: everything that sections, tools and the agent may read about the answer being made. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from bot.chat import Speaker
from bot.llm.catalogue import ModelLimits
from bot.llm.model import Bill, Purpose
from bot.memory.items import NO_MEMORY, Item, Written
from bot.overrides import SessionSettings
from bot.personas.library import Persona
from bot.personas.lorebook.activation import Activation
from bot.personas.lorebook.state import LoreState
from bot.personas.mood import Value
from bot.prompt.usage import PromptUsage
from bot.store.images import ImageRow
from bot.store.lorebooks import BookVersion
from bot.store.sessions import SessionRow
from bot.store.window import WindowRow

NO_LORE = Activation()


@dataclass(frozen=True, kw_only=True, slots=True)
class Asker:
    """Who is answered. Tools run with this person's rights."""

    key: str
    name: str
    locale: str | None = None
    is_bot: bool = False
    zone: str | None = None
    """IANA name of the time zone that they live in, if they have told."""
    is_exempt: bool = False
    """Whether the limits per person and place do not count."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Peer:
    """Another persona that speaks in the same place, as the others know it."""

    persona_id: str
    name: str
    profile: str
    """One line about it; "" where its card tells nothing."""
    names: tuple[str, ...] = ()
    """What calls it by itself."""
    words: tuple[str, ...] = ()
    """What calls it besides, in this place."""


class CutForm(StrEnum):
    """How a tool result is sent that is not sent in full."""

    TRIMMED = "trimmed"
    """Its beginning and its end."""
    HEAD = "head"
    """Its beginning."""
    CLEARED = "cleared"
    """A word in its place."""
    LINE = "line"
    """The whole round as one line."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cuts:
    """What a conversation's last request left out. The next ones leave it out as well, until they must cut again."""

    start: int = 0
    """The position before which nothing is sent."""
    gap: tuple[int, int] | None = None
    """The first and the last position of what is left out behind the last tool round, which stays."""
    shortened: Mapping[int, int] = field(default_factory=dict)
    """How many characters are sent of a message that is too long, by its id."""
    images: tuple[int, ...] = ()
    """Ids of the images that were sent; older ones are sent no more."""
    results: Mapping[int, CutForm] = field(default_factory=dict)
    """How results of tools are sent, by their ids; a line by that of the call."""
    thoughts: Mapping[int, int] = field(default_factory=dict)
    """How many characters are sent of what was thought before a call, by its id."""
    without_examples: bool = False
    """Whether the card goes without its example dialogue."""
    is_told: bool = False
    """Whether the model was told in this turn that much is missing."""

    @property
    def whole_from(self) -> int:
        """From which position on nothing is left out."""
        return self.start if self.gap is None else self.gap[1] + 1

    def lasting(self) -> Cuts:
        """Those that hold for the next turn as well: the tool rounds of a running one have no ids yet (they are below
        zero).
        """
        return replace(
            self,
            shortened={row: chars for row, chars in self.shortened.items() if row > 0},
            results={row: form for row, form in self.results.items() if row > 0},
            thoughts={},
            is_told=False,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """What a conversation's last request began with, as far as it takes to tell whether the next one begins the same,
    and if not, why. Texts are there as hashes of this process.
    """

    messages: int
    """How many, without the volatile tail."""
    digest: int
    frame: int
    """Model and parameters."""
    tools: int
    sections: Mapping[str, int]
    watermark: int
    generation: int
    cuts: Cuts
    burst: tuple[int, ...]
    baseline: int = 0
    """What was used when it was first measured after the newest compaction."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """The answer to one burst, frozen when the turn opened; later changes count for the next turn.

    `history` ends with the burst (or, for /continue, with the reply to go on from); `budget` are the tokens that the
    whole prompt may fill, `reserve` those kept for the answer.
    """

    session: SessionRow
    conversation_id: int
    persona: Persona | None
    persona_id: str
    persona_name: str
    settings: SessionSettings
    model: str
    limits: ModelLimits
    window: int
    budget: int
    reserve: int
    asker: Asker
    burst: tuple[int, ...]
    position: int
    history: tuple[WindowRow, ...]
    images: tuple[ImageRow, ...]
    continues: bool
    is_greeted: bool
    """Whether the persona has said its greeting in this conversation."""
    now: datetime
    starter: WindowRow | None = None
    """What the thread was opened about, shortened: for when it stands no longer in the history (D16)."""
    memory: Written = NO_MEMORY
    """What the persona remembers of what stands no longer in the history."""
    due: tuple[Item, ...] = ()
    """Open follow-ups whose day has come."""
    raises: Item | None = None
    """What the persona speaks first about; nobody has asked then."""
    cuts: Cuts = Cuts()
    watermark: int = 0
    """Up to where the conversation has been folded into memory."""
    generation: int = 0
    """How often what was said before has changed since: by an edit, a deletion, an undo."""
    sent: Sent | None = None
    """The conversation's last request; `None` where this process has sent none."""
    usage: PromptUsage | None = None
    """What the request fills that is being answered; known to tools."""
    books: tuple[BookVersion, ...] = ()
    """The lorebooks of the place and of who asks, as they stand."""
    lore: Activation = NO_LORE
    """What of all lorebooks joins in."""
    lore_state: LoreState | None = None
    """What the conversation remembers of lore once this is answered; `None` where that stays what it is."""
    mood: Mapping[str, Value] = field(default_factory=dict)
    """How the persona feels, by its card's schema; nothing for most."""
    speaker: Speaker | None = None
    """Whose face people see, where it is not just the one this platform knows the bot by."""
    peers: tuple[Peer, ...] = ()
    """The other personas that speak here."""
    fallbacks: tuple[str, ...] = ()
    """The models that answer where the server of `model` does not, by their full names."""

    @property
    def bill(self) -> Bill:
        """Whom its calls count against; where the persona speaks first, nobody has asked."""
        return Bill(
            place_key=self.session.channel.place_key,
            purpose=Purpose.CHAT if self.raises is None else Purpose.PROACTIVE,
            author_key=None if self.raises is not None else self.asker.key,
            is_exempt=self.asker.is_exempt,
        )

    @property
    def zone(self) -> str:
        """The time zone of whoever asks, by its IANA name: their own, or that of the chat."""
        return self.asker.zone or self.settings.values.timezone

    @property
    def is_group(self) -> bool:
        """Whether several people may speak here."""
        return not self.session.channel.is_dm

    @property
    def participants(self) -> tuple[str, ...]:
        """Display names of the people in the history, newest last, each once."""
        return tuple(dict.fromkeys(row.author_name for row in self.history if row.author_key))

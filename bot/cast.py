"""Several personas in one place: who they are, whom a message calls, and what each knows of the others.

Pure. Knows no store: who of them has answered is kept by `bot.store.cast`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from bot.chat import Inbound, speaks_to_us
from bot.gate import first_call, first_word
from bot.personas.macros import Where, expand
from bot.personas.proposals import own_extension
from bot.personas.shelf import Ambiguous, Persona, Shelf, fold
from bot.settings import Activation, PlaceSettings
from bot.turn import Peer

MOST_MEMBERS = 10
"""Of a cast that is set in a chat; ours to choose, so that no message brings more answers than people can follow."""
PROFILE_CHARS = 160
"""Of the line by which the others know a persona; ours to choose."""
SOMEBODY = {"en": "the people here", "zh": "这里的各位"}
"""Whom a profile means by `{{user}}`."""

_TO_ITSELF = re.compile(r"you are |you're |你是", re.IGNORECASE)
"""How a description begins that speaks to the persona; the others would take it for themselves."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[。！？])|\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """One of a cast. Besides its names, the words call it that the place gave to it."""

    persona: Persona
    words: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What it is called by itself."""
        return tuple(dict.fromkeys((self.persona.name, self.persona.card.name)))

    def first_called(self, text: str, others: Iterable[str] = ()) -> int | None:
        """Where a text first calls it; `others` are the names of those whom it may be called together with."""
        places = (first_call(text, self.names, others), first_word(text, self.words))
        return min((at for at in places if at is not None), default=None)

    def as_peer(self) -> Peer:
        """What the others know of it."""
        persona = self.persona
        return Peer(
            persona_id=persona.id,
            name=persona.name,
            profile=profile_of(persona),
            names=self.names,
            words=self.words,
        )

    def owns(self, word: str) -> bool:
        """Whether a word calls it."""
        return fold(word) in map(fold, (*self.names, *self.words))


@dataclass(frozen=True, kw_only=True, slots=True)
class Cast:
    """Who speaks in a place: the main persona by its id, which may be nobody's, and the members with it among them."""

    main_id: str
    members: tuple[Member, ...]
    namesakes: tuple[Persona, ...] = ()
    """Whom a place's settings name as well, and who are left out because one before has their name."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Everybody's, the main persona's first."""
        return tuple(dict.fromkeys((self.main_id, *(member.persona.id for member in self.members))))

    @property
    def is_several(self) -> bool:
        """Whether more than one speaks here."""
        return len(self.ids) > 1

    def member(self, persona_id: str) -> Member | None:
        """The one with this id."""
        return next((member for member in self.members if member.persona.id == persona_id), None)

    def meant(self, typed: str) -> Member | None:
        """The one whom somebody means: by id, or by what calls it."""
        return self.member(fold(typed)) or self.owner(typed)

    def owner(self, word: str) -> Member | None:
        """Whom a word calls: of each word there is one owner."""
        return next((member for member in self.members if member.owns(word)), None)

    def peers_of(self, persona_id: str) -> tuple[Peer, ...]:
        """The others, as this one knows them."""
        return tuple(member.as_peer() for member in self.members if member.persona.id != persona_id)

    def named(self, text: str) -> tuple[str, ...]:
        """Whom a text calls, in the order in which it does."""
        names = tuple(name for member in self.members for name in member.names)
        found = ((member.first_called(text, names), member.persona.id) for member in self.members)
        return tuple(persona_id for _, persona_id in sorted((at, who) for at, who in found if at is not None))


def read_cast(shelf: Shelf, settings: PlaceSettings, main_id: str) -> Cast:
    """The cast that a place's settings name. A card that is gone, or is named twice, is left out, and so is one that is
    called like another, or a word that calls one already: names go before words, and who is named first has both.
    """
    main = shelf.get(main_id)
    members = {main.id: Member(persona=main)} if main else {}
    for entry in settings.cast:
        persona, words = read_entry(shelf, entry)
        if persona is not None and (persona.id not in members or persona.id == main_id):
            members[persona.id] = Member(persona=persona, words=words)
    own, namesakes = _told_apart(members.values())
    return Cast(main_id=main_id, members=tuple(_with_words_of_their_own(own)), namesakes=namesakes)


def _told_apart(members: Iterable[Member]) -> tuple[list[Member], tuple[Persona, ...]]:
    own: list[Member] = []
    namesakes: list[Persona] = []
    taken: set[str] = set()
    for member in members:
        names = set(map(fold, member.names))
        if names & taken:
            namesakes.append(member.persona)
        else:
            own.append(member)
            taken |= names
    return own, tuple(namesakes)


def _with_words_of_their_own(members: Sequence[Member]) -> Iterator[Member]:
    taken = {fold(name) for member in members for name in member.names}
    for member in members:
        words = tuple(word for word in member.words if fold(word) not in taken)
        taken |= {fold(word) for word in words}
        yield replace(member, words=words)


def read_entry(shelf: Shelf, entry: str) -> tuple[Persona | None, tuple[str, ...]]:
    """What one entry of the setting says: `rex`, or with words that call it `rex: dog hound`."""
    name, _, words = entry.partition(":")
    found = shelf.find(name)
    persona = found.matches[0] if isinstance(found, Ambiguous) else found
    return persona, tuple(words.split())


def write_entry(member: Member) -> str:
    """The same, written for the setting."""
    return f"{member.persona.id}: {' '.join(member.words)}" if member.words else member.persona.id


def write_cast(members: Iterable[Member], main_id: str) -> list[str]:
    """The whole setting; the main persona stands in it only with words of its own."""
    return [write_entry(member) for member in members if member.words or member.persona.id != main_id]


def whom_it_calls(
    cast: Cast, inbound: Inbound, settings: PlaceSettings, rng: random.Random, *, spoken_to: str | None, by_chance: bool
) -> tuple[str, ...]:
    """Who of the cast is to answer an addressed message, in this order: whose message it replies to (`spoken_to`), whom
    it names; else the main persona where the bot itself is meant; else, where the bot may speak unasked and somebody
    may be chosen `by_chance`, whoever feels like it.
    """
    replied = (spoken_to,) if spoken_to is not None and spoken_to in cast.ids else ()
    called = tuple(dict.fromkeys((*replied, *cast.named(inbound.text))))
    if called:
        return called
    is_unasked = settings.activation in (Activation.ALWAYS, Activation.RANDOM) and not speaks_to_us(inbound)
    willing = _volunteers(cast, rng) if is_unasked and by_chance else ()
    return willing or (cast.main_id,)


def _volunteers(cast: Cast, rng: random.Random) -> tuple[str, ...]:
    talkative = ((member.persona.id, member.persona.card.talkativeness) for member in cast.members)
    return tuple(persona_id for persona_id, readiness in talkative if rng.random() < readiness)


def profile_of(persona: Persona) -> str:
    """One line about a persona for the others: what its card says of that (`extensions.familiar.profile`), or the first
    sentence of its description.
    """
    own = own_extension(persona.card, "profile")
    text = own if isinstance(own, str) and own.strip() else _SENTENCE_END.split(persona.card.description.strip(), 1)[0]
    user = SOMEBODY["zh" if persona.language.startswith("zh") else "en"]
    expanded = expand(text, char=persona.name, user=user, where=Where.PREFIX)
    line = " ".join(_TO_ITSELF.sub("", expanded.strip(), 1).split())
    return line if len(line) <= PROFILE_CHARS else line[:PROFILE_CHARS].rstrip() + "…"

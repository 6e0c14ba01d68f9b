"""What a scan is told, and what it finds: the entries that join the prompt, and why the others do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from bot.personas.fields import CardWarning
from bot.personas.lorebook.choices import LoreRole, Slot
from bot.personas.lorebook.state import EMPTY_STATE, LoreState
from bot.personas.macros import Where


def _as_written(text: str, _where: Where) -> str:
    return text


@dataclass(frozen=True, kw_only=True, slots=True)
class ScanContext:
    """The chat that is scanned for, and what is chosen where a book says nothing."""

    message_count: int
    """Messages of the whole conversation, scanned or not."""
    assistant_count: int
    """Those of them that are the persona's."""
    rng: Random
    """For probabilities and groups; one of the same seed decides the same."""
    count: Callable[[str], int]
    """Tokens of a text."""
    state: LoreState = EMPTY_STATE
    budget: int | None = None
    """Tokens that all entries may fill together."""
    expand: Callable[[str, Where], str] = _as_written
    """Expands the macros of a content or a key."""
    scan_depth: int = 4
    recursive: bool = True
    """As SillyTavern comes out of the box, where most books are made."""
    group_scoring: bool = False
    greeting: int | None = None
    """Which greeting the conversation began with; 0 = the card's first."""
    is_full: bool = False
    """Whether the prompt has no room to spare."""
    persona_names: frozenset[str] = frozenset()
    persona_tags: frozenset[str] = frozenset()
    """Of who will answer, for entries that are for some personas alone."""
    visiting: frozenset[str] = frozenset()
    """Names of books that are not there in each turn, such as one of whoever asks: nothing of them stands in a prompt's
    prefix, and they take what room the others leave.
    """
    explains: bool = False
    """Whether every entry gets a verdict, also those that no text concerns: slower, and made for people."""


class Why(StrEnum):
    """Why an entry joins in or does not."""

    CONSTANT = "constant"
    KEY = "key"
    FORCED = "forced"
    """By `@@activate`."""
    STICKY = "sticky"
    KEPT = "kept"
    """By `@@keep_activate_after_match`."""

    DISABLED = "disabled"
    EMPTY = "empty"
    OTHER_PERSONA = "other_persona"
    DELAY = "delay"
    COOLDOWN = "cooldown"
    RECURSION_ONLY = "recursion_only"
    FORCED_OFF = "forced_off"
    """By `@@dont_activate`."""
    MATCHED_BEFORE = "matched_before"
    TOO_EARLY = "too_early"
    """By `@@activate_only_after`."""
    NOT_THIS_TIME = "not_this_time"
    """By `@@activate_only_every`."""
    OTHER_GREETING = "other_greeting"
    CONTEXT_FULL = "context_full"
    EXCLUDED = "excluded"
    NO_ADDITIONAL_KEY = "no_additional_key"
    NO_KEY = "no_key"
    SECONDARY_KEYS = "secondary_keys"
    GROUP = "group"
    PROBABILITY = "probability"
    BUDGET = "budget"


ACTIVE = frozenset((Why.CONSTANT, Why.KEY, Why.FORCED, Why.STICKY, Why.KEPT))
"""The reasons for joining in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """Why one entry joins in or does not. `detail` is the key that decided, or the entry that won the group; `round`
    is 0 for messages, and counts rounds of recursion then.
    """

    ref: str
    title: str
    why: Why
    detail: str = ""
    round: int = 0

    @property
    def is_active(self) -> bool:
        """Whether the entry joins in."""
        return self.why in ACTIVE


@dataclass(frozen=True, kw_only=True, slots=True)
class ActiveEntry:
    """An entry that joins the prompt."""

    ref: str
    title: str
    content: str
    """Without decorators, its macros expanded."""
    tokens: int
    slot: Slot
    """Never one of the author's note: those come at a depth."""
    depth: int
    """Where the slot is a depth: how many messages stand after it, or before it where it is `from_oldest`."""
    from_oldest: bool
    role: LoreRole
    is_steady: bool
    """Whether it is there whatever is said, so that it may stand in a prompt's prefix."""
    passing: tuple[str, ...]
    """Macros of what passes that its text only names because it may stand in the prefix."""
    goes_first: bool
    """Whether it goes before all others where the prompt has no room (`@@ignore_on_max_context`)."""

    @property
    def is_prefill(self) -> bool:
        """Whether it asks to be the beginning of the answer."""
        return self.slot is Slot.DEPTH and not self.from_oldest and not self.depth and self.role is LoreRole.ASSISTANT


@dataclass(frozen=True, kw_only=True, slots=True)
class Activation:
    """What a scan found."""

    entries: tuple[ActiveEntry, ...] = ()
    """In the order of the prompt; who puts them into slots keeps it."""
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    """By ref, of all entries that a text concerned; of all where that was asked for."""
    state: LoreState = EMPTY_STATE
    """What the conversation remembers from now on, if the answer is kept."""
    disabled_prompts: frozenset[str] = frozenset()
    """`system_prompt` or `post_history_instructions`: which prompts of the app a card would like to do without."""
    warnings: tuple[CardWarning, ...] = ()

    @property
    def tokens(self) -> int:
        """Of all contents."""
        return sum(entry.tokens for entry in self.entries)

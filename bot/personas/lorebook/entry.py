"""A lorebook and its entries, as frozen values.

Knows no file, no chat and no prompt: `reading` finds the fields in any wording, `scan` decides which entries join in.
"""

from __future__ import annotations

from dataclasses import field

from pydantic.dataclasses import dataclass

from bot.personas.fields import Line, OpenMapping, Text
from bot.personas.lorebook.choices import DEFAULT_DEPTH, Logic, LoreRole, Slot
from bot.personas.lorebook.fields import (
    Count,
    Depth,
    Flag,
    Keys,
    Level,
    LogicChoice,
    MaybeCount,
    MaybeFlag,
    MaybeNumber,
    Number,
    Percent,
    RoleChoice,
    SlotChoice,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LoreEntry:
    """A text that joins the prompt when one of its keys is mentioned. Fields of Character Card V3 have its words; the
    others are SillyTavern's. Counts of messages are those of the whole conversation, and 0 means: not at all.
    """

    id: int | str
    """As a text it is unique in its book."""
    name: Line = ""
    comment: Text = ""
    """Name and comment are for people."""
    keys: Keys = ()
    secondary_keys: Keys = ()
    content: Text = ""
    """With its decorators."""
    enabled: Flag = True
    insertion_order: Number = 100
    """Lower stands earlier in the prompt."""
    priority: MaybeNumber = None
    """Higher goes later where room is short."""
    constant: Flag = False
    selective: Flag = False
    """Whether secondary keys count."""
    logic: LogicChoice = Logic.AND_ANY
    case_sensitive: MaybeFlag = None
    whole_words: MaybeFlag = None
    keys_are_patterns: Flag = False
    """Whether all keys are patterns, by the letter of V3's `use_regex`; one written `/like this/i` always is."""
    scan_depth: MaybeCount = None
    """How many of the newest messages are looked through."""
    slot: SlotChoice = Slot.AFTER_CHAR
    depth: Depth = DEFAULT_DEPTH
    role: RoleChoice = LoreRole.SYSTEM
    probability: Percent = 100
    use_probability: Flag = True
    exclude_recursion: Flag = False
    """Whether other entries' texts never bring it in."""
    prevent_recursion: Flag = False
    """Whether its text never brings others in."""
    delay_until_recursion: Level = 0
    """Looked at only in rounds of recursion, those of this level and above."""
    group: Line = ""
    """Names of groups, with commas between them: of the entries of a group only one joins in."""
    group_override: Flag = False
    """Whether in its groups it goes before those that do not say so, by order instead of by chance."""
    group_weight: Count = 100
    use_group_scoring: MaybeFlag = None
    """Whether in its groups those with most matching keys go before the others."""
    sticky: Count = 0
    """For how many messages it stays once it has joined in."""
    cooldown: Count = 0
    """For how many messages it then stays away."""
    delay: Count = 0
    """How many messages there must be first."""
    ignore_budget: Flag = False
    only_personas: Keys = ()
    only_tags: Keys = ()
    """Names and tags of the personas that it is for."""
    excludes_personas: Flag = False
    """Whether it is for all but those."""
    extensions: OpenMapping = field(default_factory=dict)
    unknown: OpenMapping = field(default_factory=dict)
    """What nothing here reads of both mappings, kept as it came so that an export does not lose it."""

    @property
    def title(self) -> str:
        """What people call it: its name, its comment's first line, or its first key."""
        comment = self.comment.partition("\n")[0]
        return self.name or comment or (self.keys[0] if self.keys else f"#{self.id}")

    @property
    def is_by_the_letter(self) -> bool:
        """Whether its keys are patterns by V3's `use_regex`, which leaves constant and secondary keys out."""
        return self.keys_are_patterns and bool(self.keys)


@dataclass(frozen=True, kw_only=True, slots=True)
class Lorebook:
    """Entries with what holds for all of them; of each, `None` leaves the choice to who scans."""

    name: Line = ""
    description: Text = ""
    """For people, like the name."""
    scan_depth: MaybeCount = None
    token_budget: MaybeCount = None
    recursive_scanning: MaybeFlag = None
    entries: tuple[LoreEntry, ...] = ()
    extensions: OpenMapping = field(default_factory=dict)
    unknown: OpenMapping = field(default_factory=dict)

    def entry(self, entry_id: str) -> LoreEntry | None:
        """The entry with this id, as a text."""
        return next((entry for entry in self.entries if str(entry.id) == entry_id), None)

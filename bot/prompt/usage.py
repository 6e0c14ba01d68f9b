"""What a request fills of the model's window, part by part. Values only; knows no turn and no store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType


class Bucket(StrEnum):
    """How full a window is, in words for the log and for people."""

    OK = "OK"
    INFO = "INFO"
    WARN = "WARN"
    CRITICAL = "CRITICAL"


BUCKETS = ((0.85, Bucket.CRITICAL), (0.7, Bucket.WARN), (0.5, Bucket.INFO))
"""From which fill on each holds (`Bucket.OK` below all of them)."""

PARTS = (
    "system",
    "persona",
    "memory",
    "recall",
    "lore",
    "platform",
    "history",
    "tool_results",
    "tool_definitions",
    "reserve",
)
"""The parts that every usage has, in the order they are told in; other sections follow by their names. `system` are the
rules of operator and place, `persona` is the card with its examples, notes and last word, `lore` what of lorebooks
joined in, `platform` the input convention, `reserve` the room for the answer.
"""

PART_OF_SECTION: Mapping[str, str] = {
    "rules": "system",
    **dict.fromkeys(
        ("character", "scenario", "examples", "mood", "depth_note", "last_note", "post_history"), "persona"
    ),
    **dict.fromkeys(
        ("lore_before", "lore_personality", "lore_after", "lore_examples", "lore_near", "lore_last"), "lore"
    ),
}
"""Which part a section counts to; every other section is a part of its own name."""


class PrefixBreak(StrEnum):
    """Why a request does not begin with its predecessor (DESIGN 7): the provider's cache is lost from there on."""

    COMPACTION = "compaction"
    MEMORY = "memory"
    """Somebody changed what is remembered."""
    EDIT = "edit"
    """A message in the window was edited, deleted, erased, undone or is answered anew."""
    CARD = "card"
    LORE = "lore"
    """An entry that is always there came, went or changed."""
    OVERRIDE = "override"
    """Another model, another setting."""
    TOOLS = "tools"
    PRUNING = "pruning"
    SECTION = "section"
    """An extension's stable section wrote something else."""
    HOOK = "hook"
    """An extension's `before_model` wrote something else."""
    UNKNOWN = "unknown"
    """None of the allowed ones: a fault of ours."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptUsage:
    """What one request fills, in the model's own tokens as far as they are known. The parts sum to `used`."""

    window: int
    max_tokens: int
    """The longest answer, which is kept free."""
    budget: int
    """What a prompt may fill: the window without that and without the safety margin."""
    parts: Mapping[str, int]
    messages: int = 0
    """Messages of the history in it."""
    dropped: int = 0
    """Messages of the history that had no room; they stay in the store."""
    prefix_break: PrefixBreak | None = None
    baseline: int = 0
    """`used` when it was first measured after the newest compaction: the rest has come since."""
    used: int = field(init=False)

    def __post_init__(self) -> None:
        """Sum up once; everything reads it."""
        object.__setattr__(self, "parts", MappingProxyType(dict(self.parts)))
        object.__setattr__(self, "used", sum(self.parts.values()))

    @property
    def ratio(self) -> float:
        """How full the window is, 0 to 1 and more."""
        return self.used / self.window

    @property
    def bucket(self) -> Bucket:
        """The same in a word."""
        return next((bucket for least, bucket in BUCKETS if self.ratio >= least), Bucket.OK)

    def as_json(self) -> str:
        """As the ledger keeps it."""
        figures = {name: getattr(self, name) for name in ("window", "max_tokens", "budget", "used", "messages")}
        return json.dumps({**figures, "dropped": self.dropped, "baseline": self.baseline, "parts": dict(self.parts)})


def counted_parts(sections: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Every part by name, with the tokens of the sections in theirs."""
    parts = dict.fromkeys(PARTS[:-1], 0)
    for name, tokens in sections:
        part = PART_OF_SECTION.get(name, name)
        parts[part] = parts.get(part, 0) + tokens
    return parts


def scaled(parts: Mapping[str, int], factor: float) -> dict[str, int]:
    """The parts in tokens of a model that makes `factor` of one of ours; their sum is the scaled sum."""
    made, before, running = {}, 0, 0
    for name, tokens in parts.items():
        running += tokens
        made[name], before = int(running * factor) - before, int(running * factor)
    return made

"""A request on its way into its room: what it is made of, what each piece costs, and how pieces are replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bot.prompt.lines import is_own_word, prefix_of
from bot.prompt.pictures import IMAGE_TOKENS
from bot.prompt.shortening import Count
from bot.prompt.tool_results import Unit, in_form, tool_groups
from bot.store.window import WindowRow
from bot.turn import CutForm, Turn

MESSAGE_OVERHEAD_TOKENS = 6
"""What role markers and separators cost per message (OpenAI's documentation counts 3 to 4; templates vary)."""

SEPARATOR = "\n\n"
"""What stands between sections, and before the tail."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Injected:
    """A section that was brought in for this turn: lore, recall, the text of an extension."""

    name: str
    text: str
    tokens: int
    is_volatile: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """What stands around the history, in tokens as we count them."""

    firm: int
    """Card, rules, memory, tools: what always goes with a request."""
    examples: int
    injected: tuple[Injected, ...]
    injected_budget: int
    """What all the volatile ones may fill together where room is short."""
    room: int
    """For everything but what is firm."""
    factor: float
    """The model's tokens to one of ours."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Costs:
    """What rows cost as the prompt writes them: their words, the prefix, the images and the markers around."""

    turn: Turn
    count: Count
    images: Mapping[int, int] = field(default_factory=dict)
    """How many images a message is sent with."""

    def row(self, row: WindowRow) -> int:
        return row.tokens + self.around(row)

    def around(self, row: WindowRow) -> int:
        """The cost of everything but the words."""
        prefix = "" if is_own_word(row, self.turn) else prefix_of(row, self.turn.is_group)
        images = self.images.get(row.id, 0) * IMAGE_TOKENS
        return images + (self.count(prefix) if prefix else 0) + MESSAGE_OVERHEAD_TOKENS


@dataclass(kw_only=True, slots=True)
class Draft:
    """A request that is being fitted. `originals` has the rows as they come, `sizes` what each costs as it goes, by its
    id.
    """

    turn: Turn
    frame: Frame
    costs: Costs
    units: list[Unit]
    originals: Mapping[int, WindowRow]
    sizes: dict[int, int]
    injected: tuple[Injected, ...]
    shortened: dict[int, int]
    forms: dict[int, CutForm]
    without_examples: bool
    lines: dict[int, WindowRow] = field(default_factory=dict)
    """Old tool rounds as lines, by the id of their call."""
    thoughts: dict[int, str] = field(default_factory=dict)
    """What was thought before a call, as it goes, by the id of the call."""
    thought_chars: dict[int, int] = field(default_factory=dict)
    """How many characters of it go where that is not all."""
    note: str = ""
    gap: tuple[int, int] | None = None
    """The first and the last position of what is left out behind the last tool round."""

    @property
    def history(self) -> int:
        return sum(self.sizes[row.id] for unit in self.units for row in unit)

    @property
    def around(self) -> int:
        """What goes with the history and may have to go."""
        examples = 0 if self.without_examples else self.frame.examples
        note = self.costs.count(SEPARATOR + self.note) if self.note else 0
        return examples + note + sum(section.tokens for section in self.injected)

    @property
    def first(self) -> int:
        """The position from which on the history goes with the request."""
        return self.units[0][0].position if self.units else 0

    @property
    def fits(self) -> bool:
        return self.around + self.history <= self.frame.room

    @property
    def fill(self) -> float:
        """How full the window is, the reply's reserve included."""
        used = (self.frame.firm + self.around + self.history) * self.frame.factor + self.turn.reserve
        return used / self.turn.window

    @property
    def asked(self) -> int:
        """How many of the last units hold what is answered: the burst, and what was said in between."""
        first = self.turn.burst[0] if self.turn.burst else self.turn.position
        return min(len(self.units), max(1, sum(unit[0].position >= first for unit in self.units)))

    @property
    def last_round(self) -> int | None:
        """Where among the units the last tool round stands."""
        return next((at for at in range(len(self.units) - 1, -1, -1) if tool_groups([self.units[at]])), None)

    @property
    def raw(self) -> Mapping[int, WindowRow]:
        """The rows with their texts in full, as far as they have not become lines."""
        thinking = {row.id: row for unit in self.units for row in unit if row.id in self.thought_chars}
        return {row.id: row for row in self.turn.history} | thinking | self.lines

    def size(self, unit: Unit) -> int:
        return sum(self.sizes[row.id] for row in unit)

    def put(self, changed: Mapping[int, WindowRow], gone: Iterable[int] = ()) -> None:
        """Replace rows by id, and leave others out."""
        left_out = set(gone)
        self.units = [tuple(changed.get(row.id, row) for row in unit if row.id not in left_out) for unit in self.units]
        self.sizes |= {row.id: self.costs.row(row) for row in changed.values()}

    def cut(self, results: Iterable[WindowRow], form: CutForm) -> None:
        """Send these results in a form that says less."""
        pruning, count = self.turn.settings.values.context_pruning, self.costs.count
        changed = {row.id: in_form(self.originals[row.id], form, pruning, count) for row in results}
        self.forms |= dict.fromkeys(changed, form)
        self.put(changed)

"""A month in a group of five as one value: who says, changes and takes back what and when, written by a seed.

Knows no platform and no bot: `month_player` plays it.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta

from tests.folding import SAID

PEOPLE = ("Alice", "Bob", "Cem", "Dan", "小明")
MANAGER, PRIVATE = "Alice", "Dan"
"""Who may manage the group, and who wants privacy from the middle of the month on."""
PERSONAS = ("bryony", "familiar", "dongpo")
DAYS = 30
KINDS = ("place", "pet", "event", "todo", "meet")
UNREACHABLE = "unreachable"
JUNK = ("", "I'd rather sing.", '{"facts": [', '{"facts": [{"who": "user", "text": "x", "lines": [1]}]}')


@dataclass(frozen=True, kw_only=True, slots=True)
class Say:
    """Somebody says something, to the bot or to the others; `name` is what later moves call it."""

    name: str
    who: str
    text: str
    asks: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """Whoever said something says it differently."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Delete:
    """Whoever said something takes it back: at once after its answer (`is_fresh`), or long afterwards."""

    name: str
    is_fresh: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """Somebody uses a command, with at most one option."""

    who: str
    path: str
    value: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wait:
    """Time goes by."""

    by: timedelta


@dataclass(frozen=True, slots=True)
class Rest:
    """Nobody does anything until nothing is being folded any more."""


@dataclass(frozen=True, slots=True)
class Restart:
    """The bot is stopped and started again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fail:
    """The next summary fails: the model is `UNREACHABLE`, or says this."""

    how: str


@dataclass(frozen=True, slots=True)
class Recover:
    """Summaries fail no more."""


Move = Say | Edit | Delete | Command | Wait | Rest | Restart | Fail | Recover


@dataclass(slots=True)
class Plant:
    """Something worth remembering, as it is said at the end."""

    name: str
    """Of the move that says it."""
    kind: str
    who: str
    value: str
    gone: list[str] = field(default_factory=list)
    """Values that it had, or has no more since it was deleted."""
    is_deleted: bool = False

    @property
    def text(self) -> str:
        """How its author says it."""
        return SAID["zh" if self.who == "小明" else "en"][self.kind].format(self.value)


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    """What happens, and what is worth remembering of it."""

    moves: tuple[Move, ...]
    plants: tuple[Plant, ...]

    def count(self) -> Counter[type[Move]]:
        """How often what happens."""
        return Counter(map(type, self.moves))


def last_question(persona: str) -> str:
    """The name of the last thing that a persona is asked."""
    return f"last of {persona}"


def write_month(seed: int) -> Script:
    """The month of a seed. In the end each persona folds what it has, and is asked a last question."""
    return _Writer(random.Random(seed)).write()


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._moves: list[Move] = []
        self._plants: list[Plant] = []
        self._has_privacy: set[str] = set()
        self._said = 0

    def write(self) -> Script:
        for day in range(DAYS):
            for _ in range(self._rng.randint(8, 14)):
                self._do_something()
            self._moves.append(Wait(by=timedelta(hours=7)))
            if day == DAYS // 2:
                self._add(Command(who=PRIVATE, path="privacy on"))
                self._has_privacy.add(PRIVATE)
        self._look_back()
        return Script(moves=tuple(self._moves), plants=tuple(self._plants))

    def _do_something(self) -> None:
        known = [plant for plant in self._plants if not plant.is_deleted and plant.who not in self._has_privacy]
        deeds = {
            "talks": 56,
            "tells": 22,
            "edits": 5,
            "deletes": 3,
            "slips": 2,
            "switches": 5,
            "resets": 1,
            "restarts": 2,
            "fails": 9,
        }
        match self._rng.choices([*deeds], [*deeds.values()])[0]:
            case "talks":
                self._say(self._rng.choice(PEOPLE), "small talk, " * self._rng.randint(1, 9))
            case "tells":
                self._tell(self._rng.choice(PEOPLE))
            case "edits" if known:
                self._edit(self._rng.choice(known))
            case "deletes" if known:
                self._delete(self._rng.choice(known), is_fresh=False)
            case "slips":
                who = self._rng.choice([who for who in PEOPLE if who not in self._has_privacy])
                self._delete(self._tell(who, asks=True), is_fresh=True)
            case "switches":
                self._add(Command(who=MANAGER, path="persona use", value=self._rng.choice(PERSONAS)))
            case "resets":
                self._add(Command(who=MANAGER, path="reset"))
            case "restarts":
                self._moves.append(Restart())
            case "fails":
                self._moves.append(Fail(how=self._rng.choice((*JUNK, *[UNREACHABLE] * len(JUNK)))))

    def _say(self, who: str, text: str, *, asks: bool | None = None) -> str:
        self._said += 1
        name = f"said{self._said}"
        self._add(Say(name=name, who=who, text=text.strip(), asks=self._rng.random() < 0.4 if asks is None else asks))
        return name

    def _tell(self, who: str, *, asks: bool | None = None) -> Plant:
        plant = Plant(name="", kind=self._rng.choice(KINDS), who=who, value=f"V{len(self._plants)}x0x")
        self._plants.append(plant)
        plant.name = self._say(who, plant.text, asks=asks)
        return plant

    def _edit(self, plant: Plant) -> None:
        plant.gone.append(plant.value)
        plant.value = f"{plant.value.partition('x')[0]}x{len(plant.gone)}x"
        self._add(Edit(name=plant.name, text=plant.text))

    def _delete(self, plant: Plant, *, is_fresh: bool) -> None:
        plant.is_deleted = True
        plant.gone.append(plant.value)
        self._add(Delete(name=plant.name, is_fresh=is_fresh))

    def _add(self, move: Move) -> None:
        self._moves += [Wait(by=timedelta(minutes=self._rng.choice([1, 20, 90]))), move]
        if self._rng.random() < 0.7:  # else people go on while old messages are being folded
            self._moves.append(Rest())

    def _look_back(self) -> None:
        self._moves.append(Recover())
        for persona in PERSONAS:
            self._add(Command(who=MANAGER, path="persona use", value=persona))
            self._moves.append(Wait(by=timedelta(hours=8)))  # no failure of the past holds anybody up
            for _ in range(34):
                self._say(MANAGER, "small talk")
            self._moves.append(Rest())
            self._add(Say(name=last_question(persona), who=MANAGER, text="and?", asks=True))
            self._moves.append(Rest())

"""What the limits say to somebody who wants an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.llm.model import ModelHeldBack
from bot.quota.rate import Admission
from bot.store.ledger_tables import HELD_BACK


@dataclass(frozen=True, slots=True)
class Ruling:
    """Yes or no, and what is to be told: why not, or, of a yes, that a limit is near."""

    admission: Admission
    notice: str = ""
    """A catalogue message; `facts` fill it."""
    facts: Mapping[str, str | int] = field(default_factory=dict)

    @property
    def is_admitted(self) -> bool:
        """Whether the answer is yes."""
        return self.admission is Admission.ADMITTED


ADMITTED = Ruling(Admission.ADMITTED)


class OverBudget(ModelHeldBack):
    """A limit has no room for a call; `ruling` says whether people are still to hear of it."""

    kind = HELD_BACK

    def __init__(self, model: str, ruling: Ruling, *, may_stand_in: bool = False) -> None:
        self.ruling = ruling
        super().__init__(model, f"no room in a limit ({ruling.notice})", may_stand_in=may_stand_in)

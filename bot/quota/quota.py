"""Whether somebody gets an answer, by all limits: how often, and what is left to spend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from bot.chat import Author
from bot.llm.model import Bill
from bot.quota.limits import Whose
from bot.quota.rate import Admission, Rate
from bot.quota.ruling import ADMITTED, Ruling
from bot.settings import QuotaSettings
from bot.store.database import Tx

if TYPE_CHECKING:
    from bot.quota.purse import Purse

AUTO_PER_MINUTE = 20
"""What `auto` allows a person where a model costs money."""


class Quota:
    """The limits of a bot. `is_paid` tells of a model, by its full name, whether it costs money; without a `purse`
    there are none by day and month.
    """

    def __init__(
        self,
        settings: QuotaSettings,
        *,
        clock: Callable[[], float],
        is_paid: Callable[[str], bool],
        purse: Purse | None = None,
    ) -> None:
        self.purse = purse
        self._settings, self._is_paid = settings, is_paid
        per_person = settings.messages_per_minute
        self._is_auto = per_person == "auto"
        self._person = Rate(AUTO_PER_MINUTE if per_person == "auto" else per_person, clock)
        self._place = Rate(settings.place_messages_per_minute, clock)
        self._total = Rate(settings.total_messages_per_minute, clock)

    def is_exempt(self, author: Author) -> bool:
        """Whether the limits per person and place do not count for somebody."""
        roles = (f"{author.platform}:{role}" for role in author.roles)
        return author.key in self._settings.exempt_users or any(role in self._settings.exempt_roles for role in roles)

    def bill(self, author: Author, place_key: str) -> Bill:
        """Whom an answer counts against."""
        is_exempt = self.is_exempt(author)
        return Bill(place_key=place_key, author_key=author.key, is_exempt=is_exempt, is_awaited=not author.is_bot)

    def admit(self, tx: Tx, bill: Bill, model: str, *, fallbacks: Sequence[str] = (), warns: bool = True) -> Ruling:
        """Count one answer of a model, or of what stands in for it where money is used up; `warns` lets the ruling tell
        of a limit that is near.
        """
        for whose, (rate, key) in self._rates(bill, model).items():
            admission = rate.admit(key, listener=bill.place_key if whose is Whose.TOTAL else key)
            if admission is not Admission.ADMITTED:
                return Ruling(admission, NOTICES[whose])
        if self.purse is None:
            return ADMITTED
        return self.purse.rule(tx, bill, model, fallbacks=fallbacks, warns=warns)

    def left_now(self, whose: Whose, bill: Bill, model: str) -> tuple[int, int] | None:
        """How many more answers there may be in this minute, and of how many; `None` where no limit counts."""
        rate, key = self._rates(bill, model).get(whose, (None, ""))
        return (rate.left(key), rate.per_minute) if rate is not None else None

    def _rates(self, bill: Bill, model: str) -> Mapping[Whose, tuple[Rate, str]]:
        """The limits per minute that count, and by whom each does. A person's own is asked first, so that their flood
        takes nothing from the others.
        """
        rates = {Whose.TOTAL: (self._total, "")}
        if not bill.is_exempt:
            rates = {Whose.PLACE: (self._place, bill.place_key), **rates}
            if bill.author_key is not None and (not self._is_auto or self._is_paid(model)):
                rates = {Whose.PERSON: (self._person, bill.author_key), **rates}
        return {whose: counted for whose, counted in rates.items() if counted[0].per_minute}


NOTICES: Mapping[Whose, str] = {
    Whose.PERSON: "quota-exceeded",
    Whose.PLACE: "quota-busy-place",
    Whose.TOTAL: "quota-busy-total",
}

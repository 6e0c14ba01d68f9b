"""Whether somebody gets an answer, by all limits: how often, and what is left to spend."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bot.chat import Author
from bot.llm.model import Bill
from bot.quota.purse import Purse
from bot.quota.rate import Admission, Rate
from bot.quota.ruling import ADMITTED, Ruling
from bot.settings import QuotaSettings
from bot.store.database import Tx

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
        self.person = Rate(AUTO_PER_MINUTE if per_person == "auto" else per_person, clock)
        self.place = Rate(settings.place_messages_per_minute, clock)
        self.total = Rate(settings.total_messages_per_minute, clock)

    def is_exempt(self, author: Author) -> bool:
        """Whether the limits per person and place do not count for somebody."""
        roles = (f"{author.platform}:{role}" for role in author.roles)
        return author.key in self._settings.exempt_users or any(role in self._settings.exempt_roles for role in roles)

    def bill(self, author: Author, place_key: str) -> Bill:
        """Whom an answer counts against."""
        return Bill(place_key=place_key, author_key=author.key, is_exempt=self.is_exempt(author))

    def admit(self, tx: Tx, bill: Bill, model: str, *, warns: bool = True) -> Ruling:
        """Count one answer of a model; `warns` lets the ruling tell of a limit that is near."""
        for rate, key, notice in self._rates(bill, model):
            admission = rate.admit(key)
            if admission is not Admission.ADMITTED:
                return Ruling(admission, notice)
        return self.purse.rule(tx, bill, model, warns=warns) if self.purse is not None else ADMITTED

    def counts_person(self, model: str) -> bool:
        """Whether answers count against their asker's limit per minute: one that the operator set counts always, the
        automatic one where a model costs money.
        """
        return bool(self.person.per_minute) and (not self._is_auto or self._is_paid(model))

    def _rates(self, bill: Bill, model: str) -> Iterator[tuple[Rate, str, str]]:
        if bill.author_key is not None and not bill.is_exempt and self.counts_person(model):
            yield self.person, bill.author_key, "quota-exceeded"
        if not bill.is_exempt:
            yield self.place, bill.place_key, "quota-busy-place"
        yield self.total, "", "quota-busy-total"

"""Questions that a command asks one after another: of one person in one session at a time, and remembered by this
process alone, so that a restart ends them. Knows neither what is asked nor why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

LIFE = timedelta(minutes=10)
"""How long a question waits; then what is said is said to the persona again. Ours to choose."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Interview:
    """What is asked about a persona: `waiting` begins with what is asked now, of `count` in all."""

    persona_id: str
    waiting: tuple[str, ...]
    count: int
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def asked(self) -> str:
        """What is asked now."""
        return self.waiting[0]

    @property
    def number(self) -> int:
        """Which question that is, from 1."""
        return self.count - len(self.waiting) + 1

    def answered(self, text: str | None) -> Interview:
        """The next question, once this one is answered; `None` lets that be what it is."""
        given = self.given if text is None else {**self.given, self.asked: text}
        return replace(self, waiting=self.waiting[1:], given=given)


class Interviews:
    """Those that are open."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._open: dict[tuple[str, str], tuple[Interview, datetime]] = {}

    def put(self, session_key: str, author_key: str, interview: Interview) -> None:
        """Ask this from now on; what was asked before is over."""
        late = self._now() - LIFE
        self._open = {key: (known, since) for key, (known, since) in self._open.items() if since > late}
        self._open[session_key, author_key] = (interview, self._now())

    def find(self, session_key: str, author_key: str) -> Interview | None:
        """What somebody is asked in a session."""
        interview, since = self._open.get((session_key, author_key), (None, self._now()))
        return interview if self._now() - since < LIFE else None

    def end(self, session_key: str, author_key: str) -> None:
        """Ask nothing more."""
        self._open.pop((session_key, author_key), None)

    def end_of(self, author_key: str) -> None:
        """Ask somebody nothing more, anywhere."""
        self._open = {key: asked for key, asked in self._open.items() if key[1] != author_key}

    def end_all(self, session_key: str) -> None:
        """Ask nobody in a session anything more."""
        self._open = {key: asked for key, asked in self._open.items() if key[0] != session_key}

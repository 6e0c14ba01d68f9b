"""Faults to order: what a call of a method meets instead of, or after, being carried out."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class After(StrEnum):
    """What becomes of the answer of a call that was carried out."""

    ANSWER = "answer"
    CUT = "cut"
    """The connection is reset: the client cannot know that it was carried out (T14, T24)."""
    SILENCE = "silence"
    """No answer ever comes; the client runs into its read time-out."""


@dataclass(kw_only=True, slots=True)
class Fault:
    """What the next `times` calls of `method` ("*" = any) meet. A `status` or `reset` prevents the call itself."""

    method: str
    status: int = 0
    description: str = ""
    parameters: dict[str, int] = field(default_factory=dict)
    body: bytes | None = None
    """Sent as it is instead of the JSON envelope, with `status`: a proxy's error page."""
    delay_s: float = 0.0
    """Waited before anything else."""
    reset: bool = False
    """Reset the connection before the call is carried out."""
    after: After = After.ANSWER
    times: int = 1

    def meets(self, method: str) -> bool:
        """Whether a call of `method` meets this fault now."""
        return self.times > 0 and self.method in {method, "*"}


def take_fault(faults: list[Fault], method: str) -> Fault | None:
    """The first fault that this call meets, counted down."""
    fault = next((fault for fault in faults if fault.meets(method)), None)
    if fault:
        fault.times -= 1
    return fault

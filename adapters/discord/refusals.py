"""Tells the operator that a channel refuses us: once, until it takes something again. Knows no message."""

from __future__ import annotations

import structlog

from adapters.discord.faults import Denied
from adapters.pacing import Refused

log = structlog.get_logger(__name__)


class Refusals:
    """The channels that refuse us at present, and why."""

    def __init__(self) -> None:
        self._reasons: dict[int, str] = {}

    def tell(self, channel_id: int, refusal: Refused) -> None:
        """Log a refusal, unless the same was told of this channel before (D14)."""
        reason = str(refusal)
        if self._reasons.get(channel_id) != reason:
            self._reasons[channel_id] = reason
            remedy = refusal.remedy if isinstance(refusal, Denied) else ""
            log.warning("discord.send_refused", channel=channel_id, reason=reason, remedy=remedy)

    def heal(self, channel_id: int) -> None:
        """The channel has taken something."""
        self._reasons.pop(channel_id, None)

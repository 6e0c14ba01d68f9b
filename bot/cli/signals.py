"""Stop signals as an event: the first one asks for a gentle end, a second one ends the process at once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOP_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # Windows has no SIGHUP
"""An interruption, a service manager's request, and a terminal that was closed."""


@contextmanager
def stop_signals(stop: asyncio.Event) -> Iterator[None]:
    """Within the block the stop signals set `stop`. Call it inside the running loop."""
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS if not _is_ignored(number)}

    def ask_to_stop() -> None:
        stop.set()
        for number in before:
            signal.signal(number, signal.SIG_DFL)

    def from_handler(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(ask_to_stop)

    try:
        for number in before:
            loop.add_signal_handler(number, ask_to_stop)
    except NotImplementedError:  # Windows' loops take no handlers (S14)
        for number in before:
            signal.signal(number, from_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_ignored(number: signal.Signals) -> bool:
    """`nohup` has asked to outlive the terminal; background jobs of some shells ignore SIGINT."""
    return signal.getsignal(number) is signal.SIG_IGN

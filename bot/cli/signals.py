"""Stop signals as an event: the first one asks for a gentle end, a second one ends the process at once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_signals(stop: asyncio.Event) -> Iterator[None]:
    """Within the block SIGINT and SIGTERM set `stop`. Call it inside the running loop."""
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}

    def ask_to_stop() -> None:
        stop.set()
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_DFL)

    def from_handler(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(ask_to_stop)

    try:
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, ask_to_stop)
    except NotImplementedError:  # Windows' loops take no handlers (S14)
        for number in STOP_SIGNALS:
            signal.signal(number, from_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

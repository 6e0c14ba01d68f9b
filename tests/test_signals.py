"""Stop signals become an event, also where the loop takes no handlers."""

from __future__ import annotations

import asyncio
import signal

import pytest

from bot.cli.signals import STOP_SIGNALS, stop_signals


@pytest.mark.parametrize("number", STOP_SIGNALS)
async def test_a_stop_signal_sets_the_event(number: signal.Signals) -> None:
    stop = asyncio.Event()
    with stop_signals(stop):
        signal.raise_signal(number)
        await asyncio.wait_for(stop.wait(), 5)


@pytest.mark.parametrize("number", STOP_SIGNALS)
async def test_S14_a_loop_without_signal_handlers_stops_gently_too(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(asyncio.get_running_loop(), "add_signal_handler", refuse)
    stop = asyncio.Event()
    with stop_signals(stop):
        signal.raise_signal(number)
        await asyncio.wait_for(stop.wait(), 5)


async def test_after_the_first_signal_the_next_one_ends_the_process() -> None:
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    stop = asyncio.Event()
    with stop_signals(stop):
        signal.raise_signal(signal.SIGTERM)
        await asyncio.wait_for(stop.wait(), 5)
        assert all(signal.getsignal(number) is signal.SIG_DFL for number in STOP_SIGNALS)
    assert {number: signal.getsignal(number) for number in STOP_SIGNALS} == before


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no such signal")
async def test_a_signal_that_nohup_has_switched_off_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        stop = asyncio.Event()
        with stop_signals(stop):
            signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGTERM)
            await asyncio.wait_for(stop.wait(), 5)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)

"""A bot as a process of its own: start it, read its CPU time and memory from the kernel, end it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]


class BotProcess:
    """A running bot and its children."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = psutil.Process(process.pid)

    def cpu_s(self) -> float:
        """User and system time of the whole tree so far."""
        return sum(times.user + times.system for times in (each.cpu_times() for each in self._tree()))

    def rss_mb(self) -> float:
        """Resident memory of the whole tree now."""
        return sum(each.memory_info().rss for each in self._tree()) / 1e6

    def _tree(self) -> list[psutil.Process]:
        return [self._process, *self._process.children(recursive=True)]


@asynccontextmanager
async def run_bot(command: Sequence[str], environment: Mapping[str, str]) -> AsyncIterator[BotProcess]:
    """Start a bot in an empty folder; its output goes to a file that is shown when it dies early."""
    with tempfile.TemporaryDirectory() as folder:
        plain = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TZ")}
        log = Path(folder, "output.txt")
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env={**plain, "PYTHONPATH": str(ROOT), **environment},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            yield BotProcess(process)
            if process.poll() is not None:
                print(log.read_text()[-4000:], file=sys.stderr)
        except BaseException:
            print(log.read_text()[-4000:], file=sys.stderr)
            raise
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                await asyncio.to_thread(process.wait, 15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

"""The standard streams, whatever the shell made of them: closed ones lead nowhere, and a reader may leave."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def standard_streams() -> Iterator[None]:
    """Within the block all three streams exist (`<&-` closes one), and a character that the terminal's encoding lacks
    is printed as a question mark. At its end a pipe that nobody reads any more (`| head -1`) is no fault, and a full
    disk is told in a sentence.
    """
    _open_missing()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        yield
    except BrokenPipeError:
        sys.exit(0)
    finally:
        _flush()


def _flush() -> None:
    try:
        sys.stdout.flush()
    except OSError as error:
        _lead_nowhere(sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            sys.exit(f"Not everything could be printed: {error.strerror}")


def _lead_nowhere(descriptor: int) -> None:
    """Let a descriptor take everything from now on, so that what is still buffered for it raises nothing at the end
    (Python's own documentation of SIGPIPE advises this).
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _open_missing() -> None:
    """Python has `None` for a stream that was closed. Opened in this order, each gets its own descriptor back, and no
    file or socket of ours can take it.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - open as long as the process
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115

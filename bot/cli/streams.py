"""The standard streams, whatever the shell made of them: closed ones lead nowhere, and a reader may leave."""

from __future__ import annotations

import io
import os
import select
import stat
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


def may_bring_lines(descriptor: int) -> bool:
    """Whether something can be read there, now or later: not of a device such as /dev/null, nor where all was read or
    the writer of a pipe is gone. Takes nothing.
    """
    if os.isatty(descriptor):
        return True
    state = os.fstat(descriptor)
    if stat.S_ISREG(state.st_mode):
        return os.lseek(descriptor, 0, os.SEEK_CUR) < state.st_size
    return not stat.S_ISCHR(state.st_mode) and not _is_left(descriptor)


def _is_left(pipe: int) -> bool:
    """Whether nobody writes into a pipe any more, and nothing is left in it; not known on Windows."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    return any(event & select.POLLHUP and not event & select.POLLIN for _, event in poll.poll(0))


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

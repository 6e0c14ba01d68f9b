"""Logging: stable event names, facts as fields, as text or JSON lines; secrets are removed from every record.

Knows no event by name. The standard library's loggers of our dependencies run through the same pipe.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
import sys
import traceback
from collections.abc import Iterable
from typing import TextIO
from urllib.parse import quote

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

MASK = "***"
CHATTY_LOGGERS = (
    "httpx",
    "httpx2",
    "httpcore",
    "httpcore2",
    "openai",
    "discord",
    "telegram",
    "aiohttp.access",
    "alembic",
)
"""Loggers of libraries that speak at INFO about every request; some write addresses that hold a token (X01)."""


_IN_ADDRESSES = re.compile(r"(/(?:webhooks|interactions)/\d+/)[^/?#\s'\"<>]+")
"""Tokens that Discord hands out while we run; whoever has one speaks through our webhook or answers in our place."""


class SecretMask:
    """Replaces secrets in log records and texts: those of the settings, and those that stand in Discord's addresses."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {secret for secret in secrets if len(secret) >= 6}
        known |= {quote(secret, safe="") for secret in known}  # as it stands in an address
        self._secrets = tuple(sorted(known, key=len, reverse=True))

    def clean(self, text: str) -> str:
        """The text with every secret replaced by `***`."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, MASK)
        return _IN_ADDRESSES.sub(rf"\g<1>{MASK}", text)

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        """A structlog processor; runs after tracebacks became text."""
        return {name: self._cleaned(value) for name, value in event.items()}

    def _cleaned(self, value: object) -> object:
        match value:
            case None | bool() | int() | float():
                return value
            case str():
                return self.clean(value)
            case list() | tuple():
                return [self._cleaned(item) for item in value]
            case dict():
                return {self.clean(str(name)): self._cleaned(item) for name, item in value.items()}
        return self.clean(repr(value))


class Troubles:
    """Remembers the newest warning or error in one line, for a reader who is the operator. A structlog processor that
    runs after the mask.
    """

    def __init__(self) -> None:
        self._newest = ""

    def take(self) -> str:
        """The newest trouble, once; blank when there is none."""
        newest, self._newest = self._newest, ""
        return newest

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        """Note the event if it tells of trouble."""
        if event.get("level") in ("warning", "error", "critical"):
            crash = str(event.get("exception", "")).strip().rpartition("\n")[2]
            told = (event.get("error") or event.get("problem") or crash or event["event"], event.get("remedy", ""))
            self._newest = " ".join(" ".join(map(str, told)).split())
        return event


class LogStream(io.TextIOBase):
    """Writes to another stream, and loses what that does not take: a full disk, a closed pipe or a terminal that is
    gone must end nothing but the log.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write if possible; always says that all was written."""
        with contextlib.suppress(OSError, ValueError):
            if self._stream is not None:
                self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush if possible."""
        with contextlib.suppress(OSError, ValueError):
            if self._stream is not None:
                self._stream.flush()

    def isatty(self) -> bool:
        """Whether somebody watches."""
        return self._stream is not None and not self._stream.closed and self._stream.isatty()


def setup_logging(
    *,
    form: str,
    level: str,
    secrets: Iterable[str] = (),
    stream: TextIO | None = None,
    troubles: Troubles | None = None,
) -> None:
    """Configure structlog and the standard library's root logger to write to `stream` (stderr by default)."""
    out = LogStream(stream or sys.stderr)
    mask = SecretMask(secrets)
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        mask,
    ]
    renderer: Processor = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=out.isatty(), pad_event_to=0)
    )
    structlog.configure(
        processors=[*shared, *([troubles] if troubles else []), renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(file=out),  # type: ignore[arg-type]  # it writes and flushes, no more
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer]
        )
    )
    # At DEBUG libraries write what they send, messages and answers in full; that level is for our own events alone.
    lowest = max(logging.INFO, logging.getLevelNamesMapping()[level.upper()])
    logging.basicConfig(handlers=[handler], level=lowest, force=True)
    for name in CHATTY_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.raiseExceptions = False  # a record that cannot be formatted would be printed with its arguments as they are
    sys.excepthook = lambda _kind, error, _trace: _tell_crash(error, mask)


def _tell_crash(error: BaseException, mask: SecretMask) -> None:
    """What Python prints before it ends, without secrets (X01)."""
    LogStream(sys.stderr).write(mask.clean("".join(traceback.format_exception(error))))

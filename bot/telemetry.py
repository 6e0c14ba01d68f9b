"""Logging: stable event names, facts as fields, as text or JSON lines; secrets are removed from every record.

Knows no event by name. The standard library's loggers of our dependencies run through the same pipe.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

MASK = "***"
CHATTY_LOGGERS = ("httpx", "httpcore", "openai", "apscheduler", "discord", "aiohttp.access", "alembic")
"""Loggers of libraries that speak at INFO about every request; some write addresses that hold a token (X01)."""


class SecretMask:
    """Replaces secrets in log records and texts. Secrets are added when they become known (tokens, API keys)."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(sorted({secret for secret in secrets if len(secret) >= 6}, key=len, reverse=True))

    def clean(self, text: str) -> str:
        """The text with every secret replaced by `***`."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, MASK)
        return text

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        """A structlog processor; runs after tracebacks became text."""
        for name, value in event.items():
            if isinstance(value, str):
                event[name] = self.clean(value)
            elif not isinstance(value, bool | int | float | None):
                event[name] = self.clean(repr(value)) if self._secrets else value
        return event


def setup_logging(*, form: str, level: str, secrets: Iterable[str] = (), stream: TextIO | None = None) -> None:
    """Configure structlog and the standard library's root logger to write to `stream` (stderr by default)."""
    stream = stream or sys.stderr
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        SecretMask(secrets),
    ]
    renderer: Processor = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=stream.isatty(), pad_event_to=0)
    )
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(file=stream),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer]
        )
    )
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    for name in CHATTY_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)

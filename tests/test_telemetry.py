"""Logs: events with facts as text or JSON, libraries' records in the same form, no secret in any of it."""

from __future__ import annotations

import errno
import io
import json
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import structlog

from bot.telemetry import CHATTY_LOGGERS, SecretMask, setup_logging

SECRET = "123456:SENTINEL-token"
QUOTED = "123456%3ASENTINEL-token"


pytestmark = pytest.mark.usefixtures("logging_as_before")


def logged(form: str, act: Callable[[], None], *, level: str = "debug") -> str:
    stream = io.StringIO()
    setup_logging(form=form, level=level, secrets=[SECRET], stream=stream)
    act()
    return stream.getvalue()


def log_event(**facts: Any) -> Callable[[], None]:
    return lambda: structlog.get_logger("bot.test").info("turn.ended", **facts)


def test_json_has_one_object_a_line_with_facts_as_fields() -> None:
    facts = {"session": "discord:1:2", "parts": 2, "took": 1.5, "cut": False, "reply": None, "platforms": ["a", "b"]}
    line = json.loads(logged("json", log_event(**facts, names=("漢",), table={1: "x"})))
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "turn.ended", "level": "info", **facts, "names": ["漢"], "table": {"1": "x"}}


def test_text_has_the_event_and_its_facts_in_one_line() -> None:
    text = logged("text", log_event(session="discord:1:2", parts=2))
    assert text.count("\n") == 1
    for piece in ("info", "turn.ended", "session=discord:1:2", "parts=2"):
        assert piece in text


def test_records_of_libraries_have_the_same_form() -> None:
    line = json.loads(logged("json", lambda: logging.getLogger("some.library").warning("slow: %d ms", 5)))
    assert (line["event"], line["level"]) == ("slow: 5 ms", "warning")


def test_what_is_below_the_level_is_not_written() -> None:
    assert logged("text", log_event(), level="warning") == ""
    assert logged("text", lambda: logging.getLogger("some.library").info("hello"), level="warning") == ""


@pytest.mark.parametrize("name", CHATTY_LOGGERS)
def test_libraries_that_tell_of_every_request_are_heard_from_warnings_on(name: str) -> None:
    def speak() -> None:
        logging.getLogger(name).info("request")
        logging.getLogger(name).warning("trouble")

    text = logged("text", speak)
    assert "request" not in text
    assert "trouble" in text


@dataclass
class Thing:
    """Something that shows what it holds."""

    token: str


@pytest.mark.parametrize("name", [*CHATTY_LOGGERS, "telegram.Bot", "some.library"])
def test_debug_logging_shows_no_body_that_a_library_sends(name: str) -> None:
    assert logged("text", lambda: logging.getLogger(name).debug("sending %s", "the answer"), level="debug") == ""


def raise_nested() -> None:
    try:
        raise ValueError(f"GET https://api.telegram.org/bot{SECRET}/getMe")
    except ValueError as error:
        raise RuntimeError(f"login with {SECRET} failed") from error


def log_failure(how: Callable[[Exception], None]) -> Callable[[], None]:
    def act() -> None:
        try:
            raise_nested()
        except RuntimeError as error:
            how(error)

    return act


LIBRARY = logging.getLogger("some.library")


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "act",
    [
        log_event(url=f"https://api.telegram.org/bot{SECRET}/getMe"),
        log_event(url=f"https://host/?token={QUOTED}"),
        log_event(url="https://discord.com/api/v10/webhooks/42/SENTINEL-hook_1/messages/@original?thread_id=1"),
        log_event(error=ValueError("url='http://host/interactions/42/aW50:SENTINEL==/callback'")),
        lambda: LIBRARY.warning("POST %s", "https://discord.com/api/webhooks/42/SENTINEL"),
        log_event(thing=Thing(SECRET), error=ValueError(SECRET)),
        log_event(items=[SECRET, (SECRET,)], table={SECRET: {"deep": SECRET}}),
        lambda: structlog.get_logger("bot.test").info(f"event {SECRET}"),
        log_failure(lambda error: structlog.get_logger("bot.test").error("failed", exc_info=error)),
        log_failure(lambda error: structlog.get_logger("bot.test").exception("failed")),
        log_failure(lambda error: LIBRARY.error("failed", exc_info=error)),
        log_failure(lambda error: LIBRARY.exception("failed: %s", error)),
        lambda: LIBRARY.warning("GET %s", f"https://api.telegram.org/bot{SECRET}/getMe"),
        lambda: LIBRARY.warning("hello", extra={"token": SECRET}, stack_info=True),
        lambda: logging.getLogger("httpx").error("POST https://host/%s", SECRET),
    ],
)
def test_X01_no_record_shows_a_secret(form: str, act: Callable[[], None]) -> None:
    text = logged(form, act)
    assert text
    assert "SENTINEL" not in text
    assert "***" in text or "hello" in text


@pytest.mark.parametrize("form", ["text", "json"])
def test_X01_a_traceback_keeps_all_but_its_secrets(form: str) -> None:
    text = logged(form, log_failure(lambda error: structlog.get_logger("bot.test").error("failed", exc_info=error)))
    for piece in ("ValueError: GET https://api.telegram.org/bot***/getMe", "RuntimeError", "raise_nested"):
        assert piece in text


def test_X01_a_record_that_cannot_be_formatted_prints_none_of_its_arguments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = logged("text", lambda: LIBRARY.error("%d", SECRET))
    assert "SENTINEL" not in text + capsys.readouterr().err


def test_X01_a_crash_is_told_without_secrets_also_when_logs_go_to_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    logged("text", log_failure(lambda error: sys.excepthook(type(error), error, error.__traceback__)))
    told = capsys.readouterr().err
    assert "RuntimeError: login with *** failed" in told
    assert "SENTINEL" not in told


class Full(io.StringIO):
    """A file on a full disk."""

    def write(self, text: str) -> int:
        """Refuse."""
        raise OSError(errno.ENOSPC, "No space left on device")

    def flush(self) -> None:
        """Refuse what was buffered."""
        self.write("")


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "stream", [Full(), io.TextIOWrapper(io.BytesIO(), "ascii")], ids=["full disk", "no such letter"]
)
def test_a_log_that_takes_no_line_ends_nothing(form: str, stream: io.TextIOBase) -> None:
    setup_logging(form=form, level="debug", stream=stream)
    structlog.get_logger("bot.test").warning("event", name="漢", exc_info=ValueError("漢"))
    LIBRARY.warning("漢")


def test_a_log_without_a_stream_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    setup_logging(form="text", level="debug")
    structlog.get_logger("bot.test").warning("event")
    LIBRARY.warning("event")
    sys.excepthook(ValueError, ValueError("crash"), None)


def test_a_secret_that_holds_another_is_masked_as_a_whole() -> None:
    mask = SecretMask(["secret-one", "secret-one-and-more", "short"])
    assert mask.clean("secret-one-and-more, secret-one, short") == "***, ***, short"

"""A disk without room: whoever is there hears of it, whoever runs the bot reads the remedy, nothing is said twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.chat import Severity
from bot.cli.storage import storage_findings
from bot.settings import Settings
from bot.store.database import Tx
from bot.testing import ScriptedModel
from tests.conftest import MakeApp
from tests.talking import open_chat

PLAIN: dict[str, Any] = {"persona": "none"}
FULL = "My disk is full"


def leave_no_room(tx: Tx) -> None:
    """SQLite's own limit, which it reports as a full disk; what is free within the file is used up first."""
    tx.exec_driver_sql("CREATE TABLE filler (content)")
    pages = tx.exec_driver_sql("PRAGMA page_count").scalar_one()
    tx.exec_driver_sql(f"PRAGMA max_page_count={pages}")


def let_replies_take_room(tx: Tx) -> None:
    """A reply's first row is small, and fits into a page that is there."""
    tx.exec_driver_sql(
        "CREATE TRIGGER filled BEFORE INSERT ON sent_part BEGIN INSERT INTO filler VALUES (zeroblob(20000)); END"
    )


def make_room(tx: Tx) -> None:
    tx.exec_driver_sql("PRAGMA max_page_count=1000000")


LONG = " ".join(map(str, range(3000)))
"""More than the free room of any page."""


async def test_what_cannot_be_stored_is_told_and_the_log_has_the_remedy(make_app: MakeApp, tmp_path: Path) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("hello")
    await chat.app.core.db.run(leave_no_room)
    with capture_logs() as logs:
        (told,) = await chat.say(LONG)
    assert told.startswith(FULL)
    (line,) = [line for line in logs if line["event"] == "pipeline.disk_full"]
    assert f"the disk below {tmp_path} is full" in line["problem"]
    assert "Free some space" in line["problem"]
    await chat.app.core.db.run(make_room)
    assert await chat.say(LONG) == ["ok"]
    assert len(chat.model.requests) == 2


async def test_an_answer_that_cannot_be_begun_is_told_and_given_once_there_is_room(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("hello")
    await chat.app.core.db.run(leave_no_room)
    await chat.app.core.db.run(let_replies_take_room)
    (told,) = await chat.say("which colour?")
    assert told.startswith(FULL)
    await chat.app.core.db.run(make_room)
    assert await chat.say("and now?") == ["ok"]
    assert chat.last_prompt[2:] == [("user", "which colour?"), ("user", "and now?")]
    await chat.app.close()
    again = await open_chat(make_app, **PLAIN)
    await again.settled()
    assert again.model.requests == []


async def test_an_answer_that_was_read_and_cannot_be_kept_is_not_given_again(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel([LONG]), **PLAIN)
    await chat.app.core.db.run(leave_no_room)
    with capture_logs() as logs:
        (told,) = await chat.say("tell me of tea")
    assert told == LONG
    assert [line["event"] for line in logs if line["log_level"] == "error"] == ["turn.disk_full"]
    await chat.app.core.db.run(make_room)
    await chat.app.close()
    again = await open_chat(make_app, **PLAIN)
    await again.settled()
    assert again.model.requests == []


def test_the_doctor_tells_of_a_disk_that_is_nearly_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(data_dir=tmp_path / "not" / "there")
    assert not any("nearly full" in finding.message for finding in storage_findings(settings))
    monkeypatch.setattr("bot.cli.storage.LEAST_FREE_BYTES", 1 << 60)
    *_, told = storage_findings(settings)
    assert told.severity is Severity.WARNING
    assert "nearly full" in told.message
    assert "DATA_DIR" in told.remedy

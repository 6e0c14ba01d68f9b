"""`familiar privacy`, also beside a bot that runs on the same data."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.cli import command_line
from bot.cli.privacy import KINDS
from bot.store.erasing import Kind
from bot.testing import ScriptedModel
from tests.conftest import MakeApp
from tests.talking import BOB, GROUP, open_chat
from tests.test_forget_me import WORD, answering, files_with_word


@pytest.fixture
def _here(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)


def privacy(*words: str, typed: str = "") -> Result:
    return CliRunner().invoke(command_line(["privacy"]), ["privacy", *words], input=typed)


@pytest.mark.usefixtures("_here")
async def test_an_operator_erases_a_person_beside_a_running_bot(make_app: MakeApp, tmp_path: Path) -> None:
    chat = await open_chat(make_app, persona="none", model=ScriptedModel(answering))
    await chat.say(f"I like {WORD}", channel=GROUP)
    await chat.say("I am Bob", author=BOB, channel=GROUP)
    would = privacy("erase", "fake", "alice", "--dry-run")
    assert would.exit_code == 0
    assert "- messages and commands of theirs: 1" in would.output
    assert files_with_word(tmp_path)
    assert privacy("erase", "fake", "alice", typed="n\n").exit_code == 1
    assert files_with_word(tmp_path)
    done = privacy("erase", "fake", "alice", "--yes")
    assert done.output.endswith("fake:alice is forgotten.\n")
    assert files_with_word(tmp_path) == []
    assert privacy("erase", "fake", "alice", "--yes").output == "Nothing is kept of them.\n"
    await chat.say("who is here?", author=BOB, channel=GROUP)
    assert chat.last_prompt[0] == ("user", "Bob: I am Bob")
    assert WORD not in str(chat.model.requests[-1])


@pytest.mark.usefixtures("_here")
async def test_an_operator_hands_out_what_is_kept_of_a_person(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("I like tea", channel=GROUP)
    kept = json.loads(privacy("export", "fake", "alice").output)
    assert [row["text"] for row in kept["messages"]] == ["I like tea"]
    nothing = privacy("export", "fake", "bob")
    assert (json.loads(nothing.stdout), nothing.stderr) == ({}, "Nothing is kept of them.\n")


def test_an_operator_is_told_of_every_kind_of_trace_and_what_an_id_is() -> None:
    assert set(KINDS) == set(Kind)
    assert not any(re.search(r"\byou", told) for told in KINDS.values())
    told = " ".join(privacy("erase", "--help").output.split())
    assert "whoami" in told.replace("│", "")


def test_without_a_database_nothing_is_kept_and_none_is_made(tmp_path: Path) -> None:
    assert privacy("erase", "fake", "alice", "--yes").output == "Nothing is kept of them.\n"
    assert [*tmp_path.iterdir()] == []


def test_what_was_typed_in_the_terminal_goes_with_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    lines = tmp_path / "data" / "chat.history"
    lines.parent.mkdir()
    lines.write_text(WORD)
    would = privacy("erase", "terminal", "somebody", "--dry-run").output
    assert would.startswith("- what was typed in the terminal, whoever did: ")
    assert lines.exists()
    (lines.parent / "exports").mkdir()
    (lines.parent / "exports" / "about-me.json").touch()
    told = privacy("erase", "terminal", "somebody", "--yes").output
    assert not lines.exists()
    assert f"Files that were exported stay in {lines.parent}/exports: about-me.json." in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("discrod", "1234"), "did you mean discord?"),
        (("Telegram", "1234"), "did you mean telegram?"),
        (("discord", "alice"), "is no number"),
        (("discord", ""), "such as discord:1234"),
    ],
)
def test_whom_nobody_can_be_is_refused_instead_of_not_found(words: tuple[str, str], told: str) -> None:
    for verb in ("export", "erase"):
        result = privacy(verb, *words)
        assert result.exit_code == 2
        assert told in " ".join(result.output.replace("│", " ").split())

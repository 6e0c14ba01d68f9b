"""`familiar lore` by its real command line, and files named by a path in the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from adapters.console.files import attached
from bot.chat import SLASHES
from bot.cli import command_line
from bot.cli.lore import import_lore
from bot.errors import UserError
from tests.conftest import MakeApp
from tests.lore import entry
from tests.talking import DM, open_chat


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "hill.json"
    entries = [entry("wyrm", content="The wyrm sleeps."), entry("/(/", content="x", name="Odd")]
    path.write_text(json.dumps({"entries": entries}), encoding="utf-8")
    return path


async def test_a_book_is_imported_beside_a_running_bot_and_exported_again(
    make_app: MakeApp, database_url: str, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(book.parent)
    chat = await open_chat(make_app, database_url=database_url)
    runner, app = CliRunner(env={"DATABASE_URL": database_url}), command_line(["lore"])
    told = runner.invoke(app, ["lore", "import", "hill.json", "--place", DM.place_key]).output
    assert "Odd: “/(/” can be no key" in told
    assert f"hill.json is in the book of {DM.place_key} (entries: 2) and counts from now on." in told
    assert runner.invoke(app, ["lore", "export", "--place", DM.place_key]).exit_code == 0
    written = json.loads((book.parent / "lore.json").read_text(encoding="utf-8"))
    assert [one["content"] for one in written["data"]["entries"]] == ["The wyrm sleeps.", "x"]
    await chat.say("tell me of the wyrm")
    assert "The wyrm sleeps." in str(chat.last_prompt)


@pytest.mark.parametrize(
    ("file", "whose", "told"),
    [
        ("hill.json", {}, "Name one place or one person"),
        ("hill.json", {"place": "fake:1", "person": "fake:2"}, "Name one place or one person"),
        ("no.json", {"place": "fake:1"}, "The file cannot be read"),
        ("luna.json", {"place": "fake:1"}, "There is no lorebook in it."),
        ("long.json", {"person": "fake:1"}, "it may have 200 entries"),
    ],
)
def test_what_cannot_be_done_with_a_book_is_told_in_a_sentence(
    book: Path,
    file: str,
    whose: dict[str, str],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    database_url: str,
) -> None:
    monkeypatch.chdir(book.parent)
    monkeypatch.setenv("DATABASE_URL", database_url)
    Path("luna.json").write_text('{"name": "Luna", "description": "x"}')
    Path("long.json").write_text(json.dumps({"entries": [entry(f"k{number}") for number in range(201)]}))
    with pytest.raises((typer.Exit, typer.BadParameter)) as ended:
        import_lore(Path(file), whose.get("place", ""), whose.get("person", ""))
    assert told in f"{capsys.readouterr().out} {ended.value}"


async def test_in_the_terminal_a_path_brings_the_file_that_a_command_takes(
    make_app: MakeApp, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(book.parent)
    chat = await open_chat(make_app)
    for slash in SLASHES:
        line, files = attached(f"{slash}lore import hill.json --replace", chat.app.menu)
        assert line == f"{slash}lore import  --replace"
        (told,) = await chat.say(line, attachments=files)
        assert told.startswith("Read 2 entries (Yours).\n\n- Odd: “/(/” can be no key")
    (file,) = attached(f'/persona import "{book}"', chat.app.menu)[1]
    assert file.fetch is not None
    with pytest.raises(UserError, match="file-too-large"):
        await file.fetch(3)
    line, missing = attached("/lore import far/nothing.json --replace", chat.app.menu)
    assert "There is no file “far/nothing.json”; I looked from" in (await chat.say(line, attachments=missing))[0]
    line, folder = attached("/lore import ./ --replace", chat.app.menu)
    assert await chat.say(line, attachments=folder) == ["“./” is a folder. I need a file in it."]
    (book.parent / "noise.png").write_bytes(b"\0\1\2" * 99)
    line, noise = attached("/lore import noise.png", chat.app.menu)
    assert "no kind of file that lorebooks come in. Send a lorebook" in (await chat.say(line, attachments=noise))[0]
    for other in ("/lore import nothing", "/memory add fact hill.json", "hill.json", "/lore", "/lore import \0"):
        assert attached(other, chat.app.menu) == (other, ())

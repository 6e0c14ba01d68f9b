"""`familiar persona import` and `export` by their real command line, beside a bot that runs on the same data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.cli.cards import known_personas
from bot.personas.formats import read_file, write_png
from tests.conftest import MakeApp
from tests.talking import open_chat
from tests.test_cli import familiar

MIRA = {
    "name": "Mira",
    "description": "Mira keeps a lighthouse.",
    "character_book": {"entries": [{"keys": ["/(/"], "content": "It is late.", "name": "Late"}]},
    "extensions": {"familiar": {"model": "lab/other", "tool_groups": ["web"]}},
}


@pytest.fixture
def card(tmp_path: Path) -> Path:
    """A PNG card in the folder where commands are run; the data lies in the folder data there."""
    path = tmp_path / "mira.png"
    path.write_bytes(write_png(read_file(json.dumps(MIRA).encode()).card, None))
    return path


def test_a_card_is_imported_listed_shown_and_exported_again(tmp_path: Path, card: Path) -> None:
    done = familiar(tmp_path, "familiar persona import mira.png --yes --place discord:12")
    assert (done.returncode, done.stderr) == (0, "")
    assert "asks for a model or tools: lab/other, web; not granted without --accept" in done.stdout
    assert "Late: “/(/” can be no key" in done.stdout
    assert "Mira is imported as p_" in done.stdout
    listed = familiar(tmp_path, "familiar persona list").stdout
    assert "discord:12" in next(line for line in listed.splitlines() if "Mira" in line)
    assert "Mira keeps a lighthouse." in familiar(tmp_path, "familiar persona show mira").stdout
    done = familiar(tmp_path, "familiar persona export Mira -o out.png")
    assert "Mira is written to out.png." in done.stdout
    assert read_file((tmp_path / "out.png").read_bytes()).card.description == "Mira keeps a lighthouse."
    done = familiar(tmp_path, "familiar persona export Mira -o mira.png")
    assert done.returncode == 2
    assert "--force" in done.stderr
    assert read_file(card.read_bytes()).card.modification_date == 0


def test_a_card_is_removed_and_brought_back(tmp_path: Path, card: Path) -> None:
    persona_id = familiar(tmp_path, "familiar persona import mira.png -y").stdout.split(" as ")[1].split(".")[0]
    assert "is gone" in familiar(tmp_path, "echo y | familiar persona remove mira").stdout
    assert "Mira" not in familiar(tmp_path, "familiar persona list").stdout
    assert "is back" in familiar(tmp_path, f"familiar persona restore {persona_id}").stdout
    assert persona_id in familiar(tmp_path, "familiar persona list").stdout
    for line in ("remove bryony -y", f"restore {persona_id}"):
        assert familiar(tmp_path, f"familiar persona {line}").returncode == 2


def test_X08_a_hostile_name_is_written_nowhere_but_into_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "one" / "two"
    folder.mkdir(parents=True)
    (folder / "x.json").write_text(json.dumps({"name": "../../evil", "description": "x"}), encoding="utf-8")
    persona_id = familiar(folder, "familiar persona import x.json -y").stdout.split(" as ")[1].split(".")[0]
    assert familiar(folder, f"familiar persona export {persona_id}").returncode == 0
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == ["evil.json", "x.json"]
    assert [*tmp_path.iterdir()] == [tmp_path / "one"]


@pytest.mark.parametrize(("answer", "count"), [("y", 1), ("n", 0)])
def test_it_asks_before_it_keeps_a_card(
    tmp_path: Path, card: Path, monkeypatch: pytest.MonkeyPatch, answer: str, count: int
) -> None:
    done = familiar(tmp_path, f"echo {answer} | familiar persona import mira.png --accept")
    assert done.returncode == 0
    assert "Import it for all places?" in done.stdout
    assert "; granted" in done.stdout
    monkeypatch.chdir(tmp_path)
    found = known_personas().imported
    assert [persona.granted.model for persona in found.values()] == ["lab/other"] * count


def test_where_nobody_answers_the_way_without_a_question_is_told(tmp_path: Path, card: Path) -> None:
    done = familiar(tmp_path, "familiar persona import mira.png < /dev/null")
    assert done.returncode == 1
    assert "Nobody answers here, so nothing was done; --yes goes ahead without asking." in done.stderr


def test_settings_with_faults_are_no_silent_reason_to_leave_imported_cards_out(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("CONTEXT_TOKENS=many\n", encoding="utf-8")
    done = familiar(tmp_path, "familiar persona list")
    assert (done.returncode, "Bryony" in done.stdout) == (0, True)
    assert "imported cards are left out here; `familiar doctor` tells what is wrong" in done.stderr


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("import no.png", "The file cannot be read: No such file or directory."),
        ("import bad.png -y", "bad.png: "),
        ("import mira.png -y --place 12", "is a platform and an id"),
        ("export nobody", "There is no persona “nobody”."),
        ("export bryony -f webp", "json, png, charx"),
        ("export bryony -o no/such/folder.json", "cannot be written: No such file"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(tmp_path: Path, card: Path, line: str, told: str) -> None:
    (tmp_path / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    done = familiar(tmp_path, f"familiar persona {line}")
    assert done.returncode in (1, 2)
    assert told in " ".join((done.stdout + done.stderr).replace("│", " ").split())
    assert "Traceback" not in done.stderr


async def test_a_card_that_is_imported_beside_a_running_bot_can_speak_at_the_next_command(
    make_app: MakeApp, tmp_path: Path, card: Path
) -> None:
    chat = await open_chat(make_app)
    assert "I know no persona" in await chat.ask("/persona use mira")
    done = familiar(tmp_path, "export DATABASE_URL=sqlite:///familiar.db; familiar persona import mira.png --yes")
    assert done.returncode == 0, done.stderr
    assert await chat.offers("persona use", "persona", "Mir") == ["Mira"]
    assert "**Mira** speaks here" in await chat.ask("/persona use mira")
    await chat.say("hello")
    assert "Mira keeps a lighthouse." in str(chat.model.requests[-1])

"""The command line as a process: its version and help, streams that are closed, and text that means harm."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot import __version__
from bot.cli import command_line
from bot.cli.inert import inert, plain

ROOT = Path(__file__).parents[1]
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m[bold red]\u202eRex"


def familiar(folder: Path, shell: str) -> subprocess.CompletedProcess[str]:
    """Run a shell line in which `familiar` is our command, with nothing configured but a server that is not there."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    served = {"PROVIDERS__LAB__BASE_URL": "http://127.0.0.1:9/v1", "MODEL": "lab/none", "PERSONA": "none"}
    line = f'familiar() {{ "{sys.executable}" -m bot "$@"; }}; {shell}'
    return subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(ROOT), "COLUMNS": "200", **served},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"] == __version__
    done = familiar(tmp_path, "familiar --version")
    assert (done.returncode, done.stdout) == (0, f"Familiar {__version__}\n")


def test_the_help_says_where_settings_and_data_are_looked_for(tmp_path: Path) -> None:
    help_text = " ".join(familiar(tmp_path, "familiar --help").stdout.split())
    assert ".env in the folder where the command is called" in help_text
    assert "DATA_DIR" in help_text


def test_a_command_loads_only_what_it_needs(tmp_path: Path) -> None:
    program = (
        "import sys; from bot.cli import command_line; command_line(['model']); sys.exit('sqlmodel' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, check=True)


def test_a_misspelled_command_is_told_which_was_meant() -> None:
    assert "Did you mean 'persona'?" in CliRunner().invoke(command_line(["persna"]), ["persna"]).output


@pytest.mark.parametrize(
    "line",
    [
        "familiar chat <&-",
        "familiar chat < /dev/null >&-",
        "familiar chat < /dev/null 2>&-",
        "echo /help | familiar run >&- 2>&-",
        "familiar persona list <&- 2>&-",
        "familiar --help >&-",
        "familiar db check >&- || true",
        "(echo /help; echo /status; echo /help) | familiar chat | head -1",
        "familiar persona show bryony | head -1",
        "familiar --help | true",
    ],
)
def test_a_closed_stream_ends_nothing_with_a_traceback(tmp_path: Path, line: str) -> None:
    done = familiar(tmp_path, line)
    assert done.stderr == ""
    assert "Traceback" not in done.stdout
    assert done.returncode == 0


@pytest.mark.parametrize(
    "line", ["familiar run < /dev/null", "familiar run <&-", "familiar run < empty", "true | familiar run"]
)
def test_where_nobody_can_talk_a_run_ends_before_it_makes_or_fetches_anything(tmp_path: Path, line: str) -> None:
    (tmp_path / "empty").touch()
    done = familiar(tmp_path, line)
    assert (done.returncode, done.stdout) == (1, "")
    assert "nobody can talk here" in done.stderr
    assert not (tmp_path / "data").exists()


def test_lines_of_a_file_are_answered_and_what_is_kept_of_them_is_for_its_owner_alone(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("/help\n", encoding="utf-8")
    done = familiar(tmp_path, "familiar run < lines")
    assert done.returncode == 0
    assert "/persona" in done.stdout
    assert modes(tmp_path / "data") == {".": 0o700, "familiar.db": 0o600, "chat.log": 0o600}


def modes(folder: Path) -> dict[str, int]:
    """What its owner and others may do with a data folder and what is in it, but the lock, which holds nothing."""
    paths = (folder, *folder.iterdir())
    found = {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in paths}
    return {name: mode for name, mode in found.items() if not name.endswith(".lock")}


def test_characters_that_a_terminal_lacks_are_question_marks(tmp_path: Path) -> None:
    done = familiar(tmp_path, "PYTHONIOENCODING=ascii familiar persona show acen")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("??  acen  ")


def test_a_line_that_cannot_be_understood_is_told_once_and_in_our_words(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MODEL gpt-5\n", encoding="utf-8")
    done = familiar(tmp_path, "familiar db check")
    assert (done.returncode, done.stdout) == (1, "")
    first, *rest = done.stderr.splitlines()
    assert first == f"These settings need your attention (read from the environment and {tmp_path / '.env'}):"
    assert rest == ["  - .env line 1 cannot be understood; write NAME=value, quotes in pairs, # before a remark"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_output_that_a_full_disk_refuses_is_no_success(tmp_path: Path) -> None:
    done = familiar(tmp_path, "familiar --version > /dev/full")
    assert done.returncode == 1
    assert done.stderr == "Not everything could be printed: No space left on device\n"


def test_text_of_others_commands_no_terminal_and_turns_no_line_around() -> None:
    assert inert(HOSTILE) == "]0;owned[2J31m[bold red]Rex"
    assert inert("漢 👩\u200d🚀\n\tx") == "漢 👩\u200d🚀\n\tx"
    assert plain("[red]x") == "\\[red]x"
    inert("\udc80 of a file's name").encode()


@pytest.mark.parametrize(
    "command", ["validate card.json", "validate 'nothing[/red]\x1b'", "show '[/bold]\x1b]0;x\x07'"]
)
def test_what_a_card_is_called_commands_no_terminal(tmp_path: Path, command: str) -> None:
    name = HOSTILE.replace("\x1b", "\\u001b").replace("\x07", "\\u0007").replace("\x9b", "\\u009b")
    (tmp_path / "card.json").write_text(f'{{"name": "{name}", "description": "x"}}', encoding="utf-8")
    done = familiar(tmp_path, f"familiar persona {command}")
    told = done.stdout + done.stderr
    assert "Traceback" not in told
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(told)
    assert told.strip()

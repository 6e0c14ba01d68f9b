"""`familiar persona validate FILE` and `show FILE` with every kind of file that cards come in."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli.persona import app
from bot.personas.formats import MAX_FILE_BYTES
from tests.cards import PLAIN_PNG, apng, as_base64, as_json, asset, charx, picture, png, text, v2, v3
from tests.lore import entry

OOBABOOGA = b"name: Luna\ncontext: A clockmaker.\n"
FILES = {
    "json": as_json(v3()),
    "yaml": OOBABOOGA,
    "png": png(text("chara", as_base64(v2()))),
    "apng": apng(text("ccv3", as_base64(v3()))),
    "charx": charx(v3(assets=[asset("emotion", "embeded://joy.png", "joy")]), **{"joy.png": PLAIN_PNG}),
    "webp": picture("WEBP", as_json(v2())),
    "jpeg": picture("JPEG", as_json(v2())),
}


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, words, env={"COLUMNS": "500"})
    return done.exit_code, done.output


@pytest.mark.parametrize("container", FILES)
def test_a_file_of_every_kind_is_checked_and_shown_whatever_its_name(tmp_path: Path, container: str) -> None:
    path = tmp_path / "luna.dat"
    path.write_bytes(FILES[container])
    code, told = run("validate", str(path))
    assert (code, "“Luna” can be used" in told) == (0, True)
    code, told = run("show", str(path))
    assert code == 0
    assert container in told
    assert "A clockmaker." in told


def test_what_came_along_and_what_was_mended_is_told(tmp_path: Path) -> None:
    path = tmp_path / "luna.charx"
    listed = [asset("icon", "embeded://a.png"), asset("emotion", "embeded://joy.png", "joy")]
    path.write_bytes(charx(v3(assets=listed, alternate_greetings="Hi!"), **{"a.png": PLAIN_PNG, "x/1.json": b"{}"}))
    _, told = run("show", str(path))
    assert f"picture: {len(PLAIN_PNG)} bytes, other files: x/1.json" in told
    assert "alternate_greetings: should be a list" in told
    assert "“joy.png” did not come along" in told


def test_keys_of_a_lorebook_that_never_match_are_told(tmp_path: Path) -> None:
    book = {"entries": [entry("/drag[on/", name="Dragon"), entry("cat", name="Cat")], "extensions": {}}
    (tmp_path / "luna.json").write_bytes(as_json(v3(character_book=book)))
    code, told = run("validate", str(tmp_path / "luna.json"))
    assert code == 0
    assert "Dragon: “/drag[on/” can be no key" in told
    assert "Cat" not in told


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (PLAIN_PNG, "carries no card"),
        (b"\x89PNG\r\n\x1a\n\0\0" + bytes(200_000), "carries no card"),
        (b"\xff\xd8\xff\xe0" + bytes(200_000), "picture is damaged"),
        (b"PK\x03\x04" + bytes(200_000), "archive is damaged"),
        (bytes(MAX_FILE_BYTES + 7), "more than the 20,971,520 bytes allowed"),
    ],
)
def test_a_file_that_is_no_card_is_refused_with_the_exit_code_and_a_remedy(
    tmp_path: Path, data: bytes, words: str
) -> None:
    path = tmp_path / "card.png"
    path.write_bytes(data)
    for command in ("validate", "show"):
        code, told = run(command, str(path))
        assert code == 1
        assert words in told


def test_a_name_that_is_neither_a_persona_nor_a_file_is_told_as_before(tmp_path: Path) -> None:
    for name in ("nobody", "x" * 5_000, str(tmp_path)):
        code, told = run("show", name)
        assert code == 2
        assert "There is no persona" in told


def test_nothing_in_a_file_commands_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "luna.charx"
    path.write_bytes(charx(v3(creator_notes="a\x1b[2Jb[red]"), **{"\u202ex\x1b.png": b"", "[bold]y": b""}))
    for command in ("validate", "show"):
        _, told = run(command, str(path))
        assert not {"\x1b", "\u202e"} & set(told)
    assert "b[red]" in told
    assert "[bold]y" in told

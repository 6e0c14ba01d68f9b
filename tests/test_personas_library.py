"""Personas in folders: found by id and name, never by path, and each broken card told without harm to the others."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.chat import Severity
from bot.cli.persona import app
from bot.personas.library import NO_PERSONA, Ambiguous, Persona, PersonaLibrary
from bot.personas.macros import expand

AddCard = Callable[..., Path]


@pytest.fixture
def add_card(tmp_path: Path) -> AddCard:
    """Write `<id>/card.json` into the test's folder."""

    def add(
        persona_id: str, name: str | None = None, *, own: dict[str, object] | None = None, **fields: object
    ) -> Path:
        folder = tmp_path / persona_id
        folder.mkdir()
        card = {"name": name or persona_id, "description": "Somebody.", "extensions": {"familiar": own or {}}, **fields}
        (folder / "card.json").write_text(json.dumps(card), encoding="utf-8")
        return folder

    return add


def ids(personas: tuple[Persona, ...] | list[Persona]) -> list[str]:
    return [persona.id for persona in personas]


def test_the_folder_name_is_the_id_and_the_card_says_the_rest(tmp_path: Path, add_card: AddCard) -> None:
    folder = add_card("luna", "Luna Bright", nickname="Luna", own={"language": "en"})
    persona = PersonaLibrary([tmp_path]).get("luna")
    assert persona
    assert (persona.id, persona.name, persona.card.name, persona.language) == ("luna", "Luna", "Luna Bright", "en")
    assert persona.source_path == folder / "card.json"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("luna", "luna"),
        ("LUNA", "luna"),
        ("ｌｕｎａ", "luna"),
        ("  luna  bright ", "luna"),
        ("Lu", "luna"),
        ("東坡", "dongpo"),
        ("sol", "sol"),
        ("nobody", None),
        ("", None),
    ],
)
def test_a_persona_is_found_by_id_then_name_in_any_case_and_width(
    tmp_path: Path, add_card: AddCard, text: str, found: str | None
) -> None:
    add_card("luna", "Luna Bright", nickname="Lu")
    add_card("dongpo", "東坡")
    add_card("sol", "Sunny")
    add_card("other", "Sol")
    persona = PersonaLibrary([tmp_path]).find(text)
    assert (persona.id if isinstance(persona, Persona) else persona) == found


def test_a_name_that_two_personas_share_is_ambiguous(tmp_path: Path, add_card: AddCard) -> None:
    add_card("luna-a", "Luna")
    add_card("luna-b", "LUNA")
    found = PersonaLibrary([tmp_path]).find("luna")
    assert isinstance(found, Ambiguous)
    assert ids(found.matches) == ["luna-a", "luna-b"]


HOSTILE_NAMES = [
    "../../etc/cron.d/x",
    "..",
    ".",
    "/etc/passwd",
    "CON",
    "a:b|c?",
    "\u202eevil",
    "x" * 300,
    "luna/../luna",
    "\0",
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_X08_a_name_that_looks_like_a_path_finds_nothing(tmp_path: Path, add_card: AddCard, name: str) -> None:
    add_card("luna")
    library = PersonaLibrary([tmp_path / "luna" / "..", tmp_path / "luna"])
    assert library.find(name) is None
    assert library.get(name) is None
    assert library.search(name) == []
    library.near(name)


@pytest.mark.parametrize("name", [name for name in HOSTILE_NAMES if name != "\0"])
def test_X08_a_card_may_have_such_a_name_because_only_its_id_is_a_key(
    tmp_path: Path, add_card: AddCard, name: str
) -> None:
    add_card("safe", name)
    found = PersonaLibrary([tmp_path]).find(name.removeprefix("\u202e"))
    assert isinstance(found, Persona)
    assert found.id == "safe"


@pytest.mark.skipif(os.name == "nt", reason="Windows forbids such folder names by itself")
@pytest.mark.parametrize("folder", ["Luna", "lu na", "月", "p_01", NO_PERSONA, "a:b", "x" * 65, "-x"])
def test_X08_a_folder_whose_name_cannot_be_an_id_is_a_fault(tmp_path: Path, add_card: AddCard, folder: str) -> None:
    add_card(folder)
    add_card("luna")
    library = PersonaLibrary([tmp_path])
    assert ids(library.personas) == ["luna"]
    [finding] = library.findings
    assert finding.severity is Severity.FAULT
    assert folder in finding.subject
    assert finding.remedy


def test_none_is_kept_for_no_persona(tmp_path: Path, add_card: AddCard) -> None:
    add_card("silence", "None")
    assert PersonaLibrary([tmp_path]).find("none") is None


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("card.yaml", b"name: [unclosed"),
        ("card.yaml", b"name: !!python/object/apply:os.system [echo]"),
        ("card.json", b'{"name": '),
        ("card.yaml", b""),
        ("notes.txt", b"no card at all"),
    ],
)
def test_a_broken_card_is_told_and_stops_no_other(tmp_path: Path, add_card: AddCard, file: str, content: bytes) -> None:
    add_card("luna")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / file).write_bytes(content)
    library = PersonaLibrary([tmp_path])
    assert ids(library.personas) == ["luna"]
    [finding] = library.findings
    assert finding.severity is Severity.FAULT
    assert "broken" in finding.subject
    assert finding.message
    assert finding.remedy


def test_a_repaired_card_is_used_and_its_repair_told_as_a_warning(tmp_path: Path, add_card: AddCard) -> None:
    add_card("luna", alternate_greetings="hi")
    library = PersonaLibrary([tmp_path])
    assert ids(library.personas) == ["luna"]
    assert [finding.severity for finding in library.findings] == [Severity.WARNING]


def test_two_cards_in_one_folder_or_one_id_in_two_folders_are_faults(tmp_path: Path, add_card: AddCard) -> None:
    luna = add_card("luna")
    (luna / "card.yaml").write_text("name: Luna\ndescription: x", encoding="utf-8")
    sol = add_card("sol")
    (tmp_path / "more" / "sol").mkdir(parents=True)
    (tmp_path / "more" / "sol" / "card.yaml").write_text("name: Other\ndescription: x", encoding="utf-8")
    library = PersonaLibrary([tmp_path, tmp_path / "more"])
    assert ids(library.personas) == ["sol"]
    assert library.personas[0].source_path == sol / "card.json"
    assert [Path(finding.subject).name for finding in library.findings] == ["luna", "more", "sol"]


def test_a_missing_folder_is_a_fault_and_no_exception(tmp_path: Path) -> None:
    library = PersonaLibrary([tmp_path / "gone"])
    assert library.personas == ()
    assert library.default is None
    assert [finding.severity for finding in library.findings] == [Severity.FAULT]


def test_the_default_is_the_marked_card_and_else_the_first(tmp_path: Path, add_card: AddCard) -> None:
    add_card("b-plain", own={"default": "true"})
    add_card("c-marked", own={"default": True})
    library = PersonaLibrary([tmp_path])
    assert library.default is library.get("c-marked")
    (tmp_path / "c-marked" / "card.json").unlink()
    library.reload()
    assert library.default is library.get("b-plain")


def test_reload_sees_cards_that_came_changed_and_went(tmp_path: Path, add_card: AddCard) -> None:
    gone = add_card("gone")
    library = PersonaLibrary([tmp_path])
    (gone / "card.json").rename(gone / "old.json")
    add_card("new")
    assert ids(library.personas) == ["gone"]
    library.reload()
    assert ids(library.personas) == ["new"]


def test_search_ranks_names_before_tags_before_notes(tmp_path: Path, add_card: AddCard) -> None:
    add_card("a", creator_notes="Likes the MOON.")
    add_card("b", tags=["moonlight"])
    add_card("c", "Moon")
    add_card("d")
    library = PersonaLibrary([tmp_path])
    assert ids(library.search("moon")) == ["c", "b", "a"]
    assert ids(library.search(" ")) == ["a", "b", "c", "d"]
    assert library.search("tram") == []


def test_a_mistyped_name_brings_near_ids_once_each(tmp_path: Path, add_card: AddCard) -> None:
    add_card("bryony", "Bryony")
    add_card("thrupp", "Barnaby Thrupp")
    library = PersonaLibrary([tmp_path])
    assert library.near("bryny") == ["bryony"]
    assert library.near("barnaby trup") == ["thrupp"]
    assert library.near("zzzz") == []


SHIPPED = PersonaLibrary()


def test_the_shipped_cards_have_no_fault_and_no_warning() -> None:
    assert SHIPPED.findings == ()


def test_english_and_chinese_are_shipped_with_a_plain_assistant_and_one_chosen_default() -> None:
    languages = [persona.language for persona in SHIPPED.personas]
    assert languages.count("en") >= 2
    assert languages.count("zh") >= 2
    assert any("assistant" in persona.card.tags for persona in SHIPPED.personas)
    marked = [persona for persona in SHIPPED.personas if persona.card.extensions["familiar"].get("default")]
    assert marked == [SHIPPED.default]


@pytest.mark.parametrize("persona", SHIPPED.personas, ids=ids(SHIPPED.personas))
def test_a_shipped_card_is_short_enough_for_a_small_model_and_invites_an_answer(persona: Persona) -> None:
    card = persona.card
    prompt = "\n".join([card.description, card.personality, card.scenario, card.example_messages])
    size = len(prompt.split()) if persona.language == "en" else len(prompt) / 2  # about two characters to a word
    assert 150 <= size <= 350
    essence = card.description.splitlines()[0]
    assert card.name in essence
    assert len(essence) <= 140
    assert card.first_message.rstrip().rstrip("。")[-1] in "?？报"
    assert prompt.count("{{user}}:") >= 2
    for text in (prompt, card.first_message, *card.group_only_greetings):
        assert "{{" not in expand(text, char=persona.name, user="Sam")


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"})
    return result.exit_code, result.output


def test_the_command_lists_the_shipped_personas_and_marks_the_default() -> None:
    code, output = run("list")
    assert code == 0
    assert all(persona.id in output for persona in SHIPPED.personas)
    assert "bryony (default)" in output


def test_the_command_shows_a_whole_card_by_name() -> None:
    code, output = run("show", "东坡")
    assert code == 0
    assert "雪堂" in output
    assert "first message" in output


def test_the_command_names_near_matches_for_an_unknown_persona() -> None:
    code, output = run("show", "bryny")
    assert code == 2
    assert "bryony" in output


def test_validate_checks_files_folders_and_folders_of_them(tmp_path: Path, add_card: AddCard) -> None:
    folder = add_card("luna", alternate_greetings="hi")
    for path in (folder / "card.json", folder, tmp_path):
        code, output = run("validate", str(path))
        assert code == 0
        assert "warning" in output
        assert "ok" in output
    assert run("validate")[0] == 0


@pytest.mark.parametrize("content", [b"name: [x", b"", None])
def test_validate_ends_with_1_when_a_card_cannot_be_used(
    tmp_path: Path, add_card: AddCard, content: bytes | None
) -> None:
    path = tmp_path / "card.yaml"
    if content is not None:
        path.write_bytes(content)
    code, output = run("validate", str(add_card("luna")), str(path))
    assert code == 1
    assert "fault" in output
    assert "ok" in output


def test_a_new_card_is_there_when_it_is_asked_for(tmp_path: Path, add_card: AddCard) -> None:
    add_card("luna")
    library = PersonaLibrary([tmp_path])
    add_card("mira", "Mira")
    assert isinstance(library.find("mira"), Persona)
    add_card("sol")
    assert ids(library.search()) == ["luna", "mira", "sol"]


def test_a_card_that_is_being_written_stays_as_it_was_and_one_that_went_goes(tmp_path: Path, add_card: AddCard) -> None:
    folder = add_card("luna", "Luna")
    (add_card("sol", "Sol") / "card.json").unlink()
    library = PersonaLibrary([tmp_path])
    (folder / "card.json").write_text('{"name": "Lu', encoding="utf-8")
    assert [persona.name for persona in library.search()] == ["Luna"]
    assert Severity.FAULT in [finding.severity for finding in library.findings]
    (folder / "card.json").write_text('{"name": "Lune", "description": "Somebody."}', encoding="utf-8")
    assert [persona.name for persona in library.search()] == ["Lune"]
    (folder / "card.json").unlink()
    assert library.search() == []


def test_cards_that_did_not_change_are_not_read_again(tmp_path: Path, add_card: AddCard) -> None:
    add_card("luna")
    library = PersonaLibrary([tmp_path])
    before = library.get("luna")
    assert library.find("nobody") is None
    assert library.search()[0] is before

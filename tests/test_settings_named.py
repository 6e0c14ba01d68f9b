"""What the settings name must be there: every fault is told at one start, the same by run, chat and doctor."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.app.named import checked_settings
from bot.app.tool_groups import tool_group_problems
from bot.env import SettingsError, known_names, load_settings
from bot.settings import (
    MIN_BUDGET_TOKENS,
    McpSettings,
    ProviderSettings,
    Settings,
    least_window,
    output_reserve,
    place_keys,
    prompt_budget,
)
from tests.test_cli import familiar
from tests.test_tool_consent import Burning

ROOT = Path(__file__).parents[1]
SECRET = "sk-SENTINEL-0123456789"

FAULTS = {
    "STOP_GRACE=-3": ("STOP_GRACE", "0 seconds or more"),
    "PROVIDERS__OPENAI__TOTAL_TIMEOUT=soon": ("PROVIDERS__OPENAI__TOTAL_TIMEOUT", "a number of seconds"),
    "PERSONA=bryonie": ("PERSONA", "did you mean bryony?"),
    "MODEL=nosuch/x": ("MODEL", "set PROVIDERS__NOSUCH__API_KEY or PROVIDERS__NOSUCH__BASE_URL"),
    "SUMMARY__MODEL=opnai/gpt-5": ("SUMMARY__MODEL", "did you mean openai/model?"),
    "FALLBACKS=openai/gpt-5, nowhere/y": ("FALLBACKS", "set PROVIDERS__NOWHERE__API_KEY"),
    "PROFILES__TELEGRAM__FALLBACKS=elsewhere/z": ("PROFILES__TELEGRAM__FALLBACKS", "configured: openai"),
    "VISION_MODEL=openai/": ("VISION_MODEL", "names no model"),
    "VOICE__TRANSCRIPTION_MODEL=openia/ears": ("VOICE__TRANSCRIPTION_MODEL", "did you mean openai/model?"),
    "SUMMARY__HARD_RATIO=7": ("SUMMARY__HARD_RATIO", "1 or less"),
    "LANGUAGE=fr": ("LANGUAGE", "choose one of: auto, en, zh"),
    "TIMEZONE=Mars/Phobos": ("TIMEZONE", "use one such as Europe/Berlin"),
    "PROFILES__DISCORD__PERSONA=luna-of-nowhere": ("PROFILES__DISCORD__PERSONA", "there are "),
    "PROFILES__DISCORD__LANGUAGE=tlh": ("PROFILES__DISCORD__LANGUAGE", "choose one of"),
    "PROFILES__TELEGRAM__MODEL=nowhere/x": ("PROFILES__TELEGRAM__MODEL", "configured: openai"),
    "PROFILES__TELEGRAM__BURST_MS=soon": ("PROFILES__TELEGRAM__BURST_MS", "whole number"),
    "PROFILES__SLACK__PERSONA=bryony": ("PROFILES__SLACK", "there are discord, telegram, terminal"),
    "CONTEXT_TOKENS=1000": ("CONTEXT_TOKENS", "Raise CONTEXT_TOKENS to 1800 or more"),
    "CONTXT_TOKENS=9": ("CONTXT_TOKENS", "did you mean CONTEXT_TOKENS?"),
    "ACCESS__ADMINS=12345": ("ACCESS__ADMINS", "Write platform:id"),
    "DATABASE_URL=postgresql://host/familiar": ("DATABASE_URL", "write sqlite:///"),
}
"""A line of `.env`, the setting that must be told, and a part of the remedy."""


@pytest.mark.parametrize("command", ["run", "chat", "doctor"])
def test_every_fault_of_a_file_is_told_once_with_its_remedy_at_one_start(tmp_path: Path, command: str) -> None:
    secrets = (f"DISCORD__TOKEN={SECRET}", f"PROVIDERS__OPENAI__API_KEY={SECRET}", f"TELEGRAM__TOKEN=4242:{SECRET}")
    (tmp_path / ".env").write_text("\n".join((*FAULTS, *secrets)), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "bot", command],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    told = done.stdout if command == "doctor" else done.stderr
    mark = r"fault\s+settings: " if command == "doctor" else r"\s+- "
    assert done.returncode == 1
    assert SECRET not in done.stdout + done.stderr
    for name, remedy in FAULTS.values():
        (line,) = re.findall(rf"^{mark}({name} .*)$", told, re.MULTILINE)
        assert remedy in line
    assert len(re.findall(rf"^{mark}", told, re.MULTILINE)) == len(FAULTS)
    assert not (tmp_path / "data").exists(), "nothing is begun with settings that cannot be used"


def problems(*lines: str) -> list[str]:
    Path(".env").write_text("\n".join(lines), encoding="utf-8")
    try:
        checked_settings()
    except SettingsError as error:
        return error.problems
    return []


ONE = "PROVIDERS__LAB__BASE_URL=http://127.0.0.1:9/v1"
TWO = "PROVIDERS__GROQ__API_KEY=x"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["MODEL=foo"], "MODEL names neither a provider nor a file: write provider/model (configured providers: none)"),
        (["MODEL=foo", ONE, TWO], "several are configured: write it as lab/model or groq/model"),
        (["MODEL=nosuch/x"], "MODEL names the provider 'nosuch' that is not configured (configured: none)"),
        (["MODEL=lba/x", ONE], "(configured: lab); did you mean lab/model?"),
        (["MODEL=Lab/x", ONE], "did you mean lab/model?"),
        (["MODEL=lab/", ONE], "MODEL names no model: write lab/model"),
        (["MODEL=local/nosuch"], "MODEL names a file that is not there; write provider/model"),
        (["MODEL=./nosuch.gguf"], "MODEL names a file that is not there"),
        (["MODEL=."], "MODEL names neither a provider nor a file"),
        (["SUMMARY__MODEL=nosuch/x"], "SUMMARY__MODEL names the provider 'nosuch'"),
        (
            ["MODEL=lab/x", ONE, "SUMMARY__MODEL=local/small"],
            "SUMMARY__MODEL names the embedded model, which runs only",
        ),
        (
            ["MODEL=lab/x", ONE, "FALLBACKS=local/small, lab/y, local/demo"],
            "FALLBACKS (entry 3) names the embedded model, which runs only where MODEL names it, or FALLBACKS as",
        ),
        (["MODEL=lab/x", ONE, "VISION_MODEL=lab/y, foo/z"], "VISION_MODEL (entry 2) names the provider 'foo'"),
        (["SUMMARY__MODEL=foo", ONE], "SUMMARY__MODEL names neither a provider nor a file"),
        (["PROFILES__TERMINAL__MODEL=nosuch/x"], "PROFILES__TERMINAL__MODEL names the provider 'nosuch'"),
        (["LANGUAGE=french"], "LANGUAGE names a language that has no texts here; choose one of: auto, en, zh"),
    ],
)
def test_a_name_that_nothing_has_is_told_with_what_could_be_written(lines: list[str], told: str) -> None:
    (problem,) = problems(*lines)
    assert told in problem


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["MODEL=foo", ONE],
        ["MODEL=lab/foo/bar", ONE, TWO],
        ["MODEL=small"],
        ["MODEL=local/small", ONE],
        ["MODEL=lab/x", ONE, "FALLBACKS=lab/y, local/small", "PROFILES__TERMINAL__FALLBACKS=local/small"],
        ["MODEL=./own.gguf"],
        ["MODEL=own.gguf"],
        ["MODEL=lab/x", ONE, "SUMMARY__MODEL=y", "PROFILES__DISCORD__MODEL=z"],
        ["SUMMARY__MODEL=local/small", "PROFILES__DISCORD__MODEL=lab/z", ONE],
        ["LANGUAGE=zh_TW", "PROFILES__DISCORD__LANGUAGE=auto", "PROFILES__TELEGRAM__LANGUAGE=EN-gb"],
        ["PERSONA=none", "PROFILES__DISCORD__PERSONA=Bryony"],
    ],
)
def test_a_name_that_something_has_is_taken(lines: list[str]) -> None:
    Path("own.gguf").write_bytes(b"GGUF")
    assert problems(*lines) == []


def test_a_path_without_its_beginning_is_told_how_to_be_written() -> None:
    Path("models").mkdir()
    Path("models/own.gguf").write_bytes(b"GGUF")
    (problem,) = problems("MODEL=models/own.gguf")
    assert problem.endswith("write ./models/own.gguf")


def test_of_servers_that_cannot_be_read_nothing_is_concluded() -> None:
    assert [problem.partition(" ")[0] for problem in problems("PROVIDERS=x", "MODEL=openai/gpt-5")] == ["PROVIDERS"]
    told = problems("PROVIDERS__OPENAI=x", "MODEL=openai/gpt-5")
    assert [problem.partition(" ")[0] for problem in told] == ["PROVIDERS__OPENAI"]


@pytest.mark.parametrize("name", ["PERSONA", "MODEL", "LANGUAGE", "SUMMARY__MODEL", "PROFILES__DISCORD__PERSONA"])
def test_X01_a_key_written_in_the_wrong_line_is_not_shown(name: str) -> None:
    assert SECRET not in str(SettingsError(problems(f"{name}={SECRET}", "LOG_FORMAT=xml")))


def test_an_imported_persona_can_be_named_and_a_database_that_cannot_be_read_hides_no_other_fault(
    tmp_path: Path,
) -> None:
    (tmp_path / "mira.json").write_text('{"name": "Mira", "description": "keeps a lighthouse"}', encoding="utf-8")
    assert "Mira is imported" in familiar(tmp_path, "familiar persona import mira.json -y").stdout
    assert problems("PERSONA=Mira") == []
    told = problems("PERSONA=Mirra-of-nowhere", "DATABASE_URL=sqlite:////proc/no/such.db", "LANGUAGE=fr")
    assert [problem.partition(" ")[0] for problem in told] == ["PERSONA", "LANGUAGE"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"tool_groups": "wbe", "web": {"fetch": True}},
            "TOOL_GROUPS names wbe, a group that no tool has; did you mean web?",
        ),
        ({"tool_groups": "web"}, "TOOL_GROUPS names web, a group that no tool has; WEB__FETCH=on brings it"),
        ({"profiles": {"discord": {"tool_groups": "x, *"}}}, "PROFILES__DISCORD__TOOL_GROUPS names x"),
        (
            {"access": {"tool_groups": ["x"]}},
            "ACCESS__TOOL_GROUPS names x, a group that no tool has; MCP__NAME__COMMAND or",
        ),
        ({"tool_groups": "web, *", "web": {"fetch": True}}, None),
        (
            {"tool_groups": "lab, shelf", "mcp": {"lab": {"command": "x"}, "b": {"command": "y", "group": "shelf"}}},
            None,
        ),
    ],
)
def test_a_group_of_tools_that_no_tool_has_is_told(given: dict[str, Any], told: str | None) -> None:
    problems = [*tool_group_problems(Settings(**given), ())]
    assert [told] == [told and problem[: len(told)] for problem in problems] if told else problems == []


def test_the_group_of_an_extensions_tool_is_one() -> None:
    assert [*tool_group_problems(Settings(tool_groups=("fire",)), [Burning().tool])] == []


SETTINGS = [*known_names(), *(f"PROFILES__DISCORD__{name.upper()}" for name in place_keys())]
SETTINGS += [f"PROVIDERS__X__{name.upper()}" for name in ProviderSettings.model_fields]
SETTINGS += [f"MCP__X__{name.upper()}" for name in McpSettings.model_fields]


@pytest.mark.parametrize("value", ["-1", "nan", "[[1]]", '{"a": 1}'])
def test_no_fault_is_told_in_the_words_of_a_library(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    told: list[str] = []
    for name in SETTINGS:
        monkeypatch.setenv(name, value)
        try:
            load_settings(None)
        except SettingsError as error:
            told += error.problems
        monkeypatch.delenv(name)
    assert [one for one in told if re.search("[Ii]nput|should|[Vv]alid|Error|timedelta", one)] == []


@example(most=None, ratio=0.1, margin=0.09765625, more=1)
@given(
    most=st.none() | st.integers(16, 20_000),
    ratio=st.floats(0.1, 1),
    margin=st.floats(0, 0.5),
    more=st.integers(0, 999),
)
def test_a_window_of_the_size_that_a_remedy_names_has_room(
    most: int | None, ratio: float, margin: float, more: int
) -> None:
    settings = Settings(trim_threshold_ratio=ratio, reserve_ratio=margin)
    least = least_window(settings, most)
    assert (
        least is None or prompt_budget(settings, least + more, output_reserve(least + more, most)) >= MIN_BUDGET_TOKENS
    )

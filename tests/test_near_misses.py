"""Settings that came by the environment under a name that is almost one, and faults that only the whole can tell."""

from __future__ import annotations

import pytest

from bot.env import SettingsError, load_settings, near_misses, without_effect


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("PERSOMA", "PERSONA"),
        ("TIME_ZONE", "TIMEZONE"),
        ("context_token", "CONTEXT_TOKENS"),
        ("TELEGRM__TOKEN", "TELEGRAM__TOKEN"),
        ("PROVIDER__OPENAI__API_KEY", "PROVIDERS__OPENAI__API_KEY"),
    ],
)
def test_a_mistyped_variable_is_told_with_what_was_meant(name: str, meant: str) -> None:
    assert near_misses(["HOME", name]) == [f"{name} is no setting; did you mean {meant}?"]


@pytest.mark.parametrize(
    "name", ["PERSONA", "persona", "DISCORD__TOKEN", "PROVIDERS__X__API_KEY", "PATH", "XDG_DATA_DIRS", "LANG", "SHELL"]
)
def test_settings_and_names_of_other_programs_are_not_told(name: str) -> None:
    assert near_misses([name]) == []


@pytest.mark.parametrize("address", ["postgresql://localhost/familiar", "data/familiar.db"])
def test_a_wrong_database_address_is_told_beside_all_other_faults(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", address)
    monkeypatch.setenv("TIMEZONE", "Mars/Phobos")
    with pytest.raises(SettingsError) as refused:
        load_settings(None)
    assert [problem.partition(" ")[0] for problem in refused.value.problems] == ["TIMEZONE", "DATABASE_URL"]


def test_an_sqlite_address_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "sqlite:////var/lib/familiar.db")
    assert load_settings(None).sqlite_url == "sqlite:////var/lib/familiar.db"


def test_what_nothing_heeds_without_another_setting_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert without_effect(load_settings(None)) == []
    monkeypatch.setenv("TELEGRAM__WEBHOOK__PORT", "9000")
    (told,) = without_effect(load_settings(None))
    assert told.startswith("TELEGRAM__WEBHOOK__PORT has no effect without")
    monkeypatch.setenv("TELEGRAM__WEBHOOK__URL", "https://bot.example/hook")
    assert without_effect(load_settings(None)) == []


def test_a_mode_of_notes_and_its_model_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUMMARY__MODEL_MODE", "custom")
    assert without_effect(load_settings(None)) == ["SUMMARY__MODEL_MODE has no effect without SUMMARY__MODEL"]
    monkeypatch.setenv("SUMMARY__MODEL", "lab/notes")
    assert without_effect(load_settings(None)) == []
    monkeypatch.setenv("SUMMARY__MODEL_MODE", "session")
    assert without_effect(load_settings(None)) == ["SUMMARY__MODEL has no effect without SUMMARY__MODEL_MODE=custom"]


def test_a_model_server_that_no_setting_lets_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVIDERS__LAB__BASE_URL", "http://127.0.0.1:9/v1")
    assert without_effect(load_settings(None)) == [
        "MODEL is empty, so no model of PROVIDERS__LAB answers; write MODEL=lab/NAME"
    ]
    for name in ("MODEL", "FALLBACKS", "PROFILES__DISCORD__MODEL"):
        with monkeypatch.context() as given:
            given.setenv(name, "lab/it")
            assert without_effect(load_settings(None)) == []


def test_a_voice_that_nobody_gives_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVIDERS__LAB__BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("MODEL", "lab/it")
    given = {"SPOKEN_ANSWERS": "on", "VOICE__SPEAKER": "nova", "VOICE__MAX_SECONDS": "60"}
    for name, value in (given | {"PROFILES__TELEGRAM__SPOKEN_ANSWERS": "on"}).items():
        monkeypatch.setenv(name, value)
    assert without_effect(load_settings(None)) == [
        "PROFILES__TELEGRAM__SPOKEN_ANSWERS has no effect without VOICE__SPEECH_MODEL",
        "SPOKEN_ANSWERS has no effect without VOICE__SPEECH_MODEL",
        "VOICE__MAX_SECONDS has no effect without VOICE__TRANSCRIPTION_MODEL",
        "VOICE__SPEAKER has no effect without VOICE__SPEECH_MODEL",
    ]
    for name in ("SPEECH", "TRANSCRIPTION"):
        monkeypatch.setenv(f"VOICE__{name}_MODEL", "lab/voice")
    assert without_effect(load_settings(None)) == []

"""Settings that came by the environment under a name that is almost one, and faults that only the whole can tell."""

from __future__ import annotations

import pytest

from bot.env import SettingsError, env_example, load_settings, near_misses, without_effect


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


def test_what_has_no_effect_yet_is_told_where_it_is_set_and_in_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    assert without_effect(load_settings(None)) == []
    given = {"EXTENSIONS": "my.tools", "TOOL_GROUPS": "*"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    told = [problem.partition(" ")[0] for problem in without_effect(load_settings(None))]
    assert sorted(told) == sorted(given)
    example = env_example().splitlines()
    for name in told:
        line = next(number for number, line in enumerate(example) if line.startswith(f"#{name}="))
        assert example[line - 1].startswith("# no effect yet")

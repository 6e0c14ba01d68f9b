"""The `.env` file as people leave it behind, and lists of people in it: each fault is told with its remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.cli.in_vain import settings_in_vain
from bot.env import SettingsError, load_settings, repeated_names, without_effect
from bot.settings import Settings
from tests.unprivileged import ordinary_user


def refused(text: str = "", path: Path = Path(".env")) -> SettingsError:
    """What is said of a file with that text in the current folder."""
    if text:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_settings(path)
    return caught.value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("MODEL gpt-5\n", ".env line 1 cannot be understood"),
        ('\n\n# remark\nDISCORD__TOKEN="x-sentinel\nMODEL=y\n', ".env line 4 cannot be understood"),
        ("PERSONA=none\n\nMODEL\n", ".env line 3 has no = after the name; write NAME=value"),
        ("= x-sentinel", ".env line 1 cannot be understood"),
    ],
)
def test_a_line_that_says_nothing_is_told_by_its_number_and_not_shown(text: str, told: str) -> None:
    problem = refused(text).problems[0]
    assert problem.startswith(told)
    assert "sentinel" not in str(refused())


def test_a_name_that_stands_in_the_file_twice_is_told_with_its_lines() -> None:
    assert repeated_names() == []
    Path(".env").write_text("MODEL=x-sentinel\n\n# MODEL=z\nPERSONA=none\nmodel=y\n", encoding="utf-8")
    told = "MODEL stands in .env more than once (lines 1, 5); the last one counts"
    assert repeated_names() == [told]
    assert told in settings_in_vain(Settings(), ())


def test_faults_of_lines_are_told_beside_faults_of_values() -> None:
    assert len(refused("MODEL gpt-5\nLOG_FORMAT=xml\nCONTEXT_TOKENS=many\nPERSONA\n").problems) == 4


@pytest.mark.parametrize("text", ["", "\n\n", "# only a remark", "MODEL=\n", "export MODEL='gpt-5' # why not\r\n"])
def test_ordinary_files_are_read(text: str) -> None:
    Path(".env").write_text(text, encoding="utf-8")
    load_settings()


def test_it_is_told_where_the_file_is_or_was_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"(read from the environment and {tmp_path / '.env'})" in str(refused("LOG_FORMAT=xml"))
    (tmp_path / ".env").unlink()
    monkeypatch.setenv("LOG_FORMAT", "xml")
    assert f"(read from the environment; no {tmp_path / '.env'})" in str(refused())


def test_a_folder_in_its_place_is_told() -> None:
    Path(".env").mkdir()
    (problem,) = refused().problems
    assert problem.startswith(f"{Path('.env').absolute()} is a folder")


def test_a_file_of_somebody_else_is_told() -> None:
    with ordinary_user() as folder:
        path = folder / ".env"
        path.write_text("MODEL=x", encoding="utf-8")
        path.chmod(0)
        (problem,) = refused(path=path).problems
    assert problem == f"{path} cannot be read: Permission denied. Check its owner and mode (chmod u+r)"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("ACCESS__ALLOW_USERS=12345", "entry 12345 needs its platform: discord:12345 or telegram:12345"),
        ("ACCESS__ALLOW_USERS=[12345]", "entry 12345 needs its platform: discord:12345 or telegram:12345"),
        ("ACCESS__DENY_PLACES=discord:1, -100123", "entry -100123 needs its platform"),
        ("ACCESS__ADMINS=discord:1, slack:2", "entry 2 must begin with discord: or telegram: or terminal:"),
        ("ACCESS__ADMINS=Discord:1", "entry 1 must begin with discord:"),
        ("ACCESS__ADMINS=@alice", "entry 1 must begin with discord:"),
        ("ACCESS__ADMINS=telegram:@alice", "entry 1 needs a number after telegram:"),
        ("ACCESS__ALLOW_ROLES=discord:", "entry 1 needs a number after discord:"),
        ('ACCESS={"allow_users": [12345]}', "entry 12345 needs its platform"),
    ],
)
def test_an_entry_that_could_fit_nobody_is_told_with_its_form(line: str, told: str) -> None:
    (problem,) = refused(line).problems
    assert told in problem
    assert problem.endswith("Write platform:id, several with commas between or as a JSON list")


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "http_proxy", "NO_PROXY", "SSL_CERT_FILE"])
def test_what_libraries_read_from_the_process_is_told_where_it_belongs(name: str) -> None:
    (problem,) = refused(f"{name}=http://word-sentinel@10.0.0.1:3128").problems
    assert problem.startswith(f"{name.upper()} is no setting: libraries read it from the environment of the process")
    assert f"export {name.upper()}=..." in problem
    assert "sentinel" not in problem


@pytest.mark.parametrize(
    "value", ["discord:1, telegram:-2,terminal:root", '["discord:1", "telegram:-2", "terminal:root"]']
)
def test_lists_are_taken_with_commas_and_as_json(value: str) -> None:
    Path(".env").write_text(f"ACCESS__ADMINS={value}", encoding="utf-8")
    assert load_settings().access.admins == ("discord:1", "telegram:-2", "terminal:root")


def test_groups_of_tools_that_are_left_to_others_have_no_platform() -> None:
    Path(".env").write_text("ACCESS__TOOL_GROUPS=web, *", encoding="utf-8")
    assert load_settings().access.tool_groups == ("web", "*")


@pytest.mark.parametrize(
    ("platform", "told"),
    [
        ("SLACK", "there are discord, telegram, terminal"),
        ("DISCRD", "did you mean PROFILES__DISCORD?"),
        ("TELEGRAMM", "did you mean PROFILES__TELEGRAM?"),
    ],
)
def test_a_profile_for_no_platform_is_refused(platform: str, told: str) -> None:
    assert refused(f"PROFILES__{platform}__PERSONA=mira").problems == [
        f"PROFILES__{platform} names no platform; {told}"
    ]


def test_every_platform_there_is_can_have_a_profile() -> None:
    from adapters.console.adapter import PLATFORM
    from bot.app.platforms import ADAPTERS
    from bot.settings import PLATFORMS

    assert sorted(PLATFORMS) == sorted([*ADAPTERS, PLATFORM])


def test_the_example_explains_every_field_of_a_model_server() -> None:
    from bot.env import env_example
    from bot.settings import ProviderSettings

    lines = env_example().splitlines()
    for name in ProviderSettings.model_fields:
        at = next(
            number for number, line in enumerate(lines) if line.startswith(f"#PROVIDERS__OLLAMA__{name.upper()}=")
        )
        assert lines[at - 1].startswith("# ")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("TELEGRAM__WEBHOOK__URL=bot.example.org/hook", "TELEGRAM__WEBHOOK__URL must be a whole address"),
        ("TELEGRAM__WEBHOOK__URL=http://bot.example.org/hook", "begins with https://"),
        ("TELEGRAM__WEBHOOK__URL=https:///hook", "TELEGRAM__WEBHOOK__URL must be a whole address"),
        ("TELEGRAM__WEBHOOK__PATH=hook", "TELEGRAM__WEBHOOK__PATH must begin with a slash"),
        ("TELEGRAM__WEBHOOK__SECRET_TOKEN=x-sentinel!", "TELEGRAM__WEBHOOK__SECRET_TOKEN may hold A-Z"),
    ],
)
def test_what_telegram_would_refuse_of_a_webhook_is_refused_at_the_start(line: str, told: str) -> None:
    (problem,) = refused(line).problems
    assert told in problem
    assert "sentinel" not in problem


def test_a_server_of_ones_own_may_push_without_encryption_and_a_webhook_without_address_is_in_vain() -> None:
    own = "TELEGRAM__BASE_URL=http://127.0.0.1:8081/bot\n"
    Path(".env").write_text(
        f"{own}TELEGRAM__WEBHOOK__URL=http://127.0.0.1/x\nTELEGRAM__WEBHOOK__PORT=1", encoding="utf-8"
    )
    assert without_effect(load_settings()) == []
    Path(".env").write_text("TELEGRAM__WEBHOOK__PORT=1", encoding="utf-8")
    assert without_effect(load_settings()) == ["TELEGRAM__WEBHOOK__PORT has no effect without TELEGRAM__WEBHOOK__URL"]

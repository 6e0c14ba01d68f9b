"""Settings: read from the environment and `.env`, every fault told at once and in words, no secret ever shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.env import SettingsError, env_example, known_names, load_settings, secrets_of
from bot.settings import MIN_BUDGET_TOKENS, Activation, Settings, output_reserve, place_keys, prompt_budget

SECRET = "sk-SENTINEL-0123456789"

Load = Callable[..., Settings]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """`load("MODEL=x", ...)`: the settings of an `.env` file with those lines."""

    def read(*lines: str) -> Settings:
        path = tmp_path / ".env"
        path.write_text("\n".join(lines), encoding="utf-8")
        return load_settings(path)

    return read


def problems_of(load: Load, *lines: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load(*lines)
    return caught.value.problems


def test_without_any_setting_everything_has_its_default() -> None:
    settings = load_settings(None)
    assert (settings.model, settings.context_tokens, settings.activation) == ("", 16_000, Activation.MENTION)
    assert settings.answer_within == timedelta(minutes=15)
    assert settings.sqlite_url == "sqlite:///data/familiar.db"
    assert secrets_of(settings) == []


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("MODEL=gpt-5", "model", "gpt-5"),
        ("thinking=on", "thinking", True),
        ("TOOL_GROUPS=web, files ,", "tool_groups", ("web", "files")),
        ('TOOL_GROUPS=["web", "files"]', "tool_groups", ("web", "files")),
        ("TOOL_GROUPS=", "tool_groups", ()),
        ("ANSWER_WITHIN=90", "answer_within", timedelta(seconds=90)),
        ("ANSWER_WITHIN=0.5", "answer_within", timedelta(seconds=0.5)),
        ("ANSWER_WITHIN=PT15M", "answer_within", timedelta(minutes=15)),
        ("STOP_GRACE=3", "stop_grace", timedelta(seconds=3)),
        ("TIMEZONE=Asia/Shanghai", "timezone", "Asia/Shanghai"),
        ("ACTIVATION=always", "activation", Activation.ALWAYS),
        ("MAX_OUTPUT_TOKENS=", "max_output_tokens", None),
        ("DATA_DIR=/var/lib/familiar", "data_dir", Path("/var/lib/familiar")),
        ("CONTEXT_TOKENS=0", "context_tokens", 0),
        ("DATA_DIR=~/familiar", "data_dir", Path.home() / "familiar"),
        ('SYSTEM_PROMPT="  Be brief.\\n"', "system_prompt", "Be brief."),
        ('DATABASE_URL="  "', "database_url", ""),
    ],
)
def test_a_line_of_the_file_sets_a_value(load: Load, line: str, name: str, value: object) -> None:
    assert getattr(load(line), name) == value


def test_tables_are_written_by_their_parts_or_as_json(load: Load) -> None:
    settings = load(
        'PROVIDERS={"openai": {"api_key": "one-secret"}}',
        "PROVIDERS__OLLAMA__BASE_URL=http://127.0.0.1:11434/v1",
        "PROVIDERS__OLLAMA__TOTAL_TIMEOUT=30",
        'MODELS={"openai/gpt-5": {"context_window": 64000}}',
        "PROFILES__TELEGRAM__LANGUAGE=zh",
        "PROFILES__DISCORD__SUMMARY__KEEP_RECENT=5",
        'SUMMARY__PARAMETERS={"temperature": 0.3}',
        "ACCESS__ADMINS=discord:1, telegram:2",
        "QUOTA__MESSAGES_PER_MINUTE=7",
    )
    assert sorted(settings.providers) == ["ollama", "openai"]
    assert settings.providers["ollama"].total_timeout == timedelta(seconds=30)
    assert settings.models["openai/gpt-5"].context_window == 64_000
    assert settings.profiles == {"telegram": {"language": "zh"}, "discord": {"summary": {"keep_recent": 5}}}
    assert settings.summary.parameters == {"temperature": 0.3}
    assert settings.access.admins == ("discord:1", "telegram:2")
    assert settings.quota.messages_per_minute == 7


def test_the_environment_wins_over_the_file_part_by_part(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL", "from-environment")
    monkeypatch.setenv("PROVIDERS__OPENAI__API_KEY", "key-of-the-environment")
    settings = load("MODEL=from-file", "PERSONA=from-file", "PROVIDERS__OPENAI__BASE_URL=http://127.0.0.1:1/v1")
    assert (settings.model, settings.persona) == ("from-environment", "from-file")
    provider = settings.providers["openai"]
    assert provider.base_url == "http://127.0.0.1:1/v1"
    assert secrets_of(settings) == ["key-of-the-environment"]


def test_a_home_that_nobody_has_is_a_folder_of_that_name(load: Load) -> None:
    assert load("DATA_DIR=~nobody-here-0815/x").data_dir == Path("~nobody-here-0815/x")


def test_a_secret_that_ends_in_a_line_break_is_taken_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCORD__TOKEN", f" {SECRET}\n")
    monkeypatch.setenv("TELEGRAM__TOKEN", " \n")
    settings = load_settings(None)
    assert settings.telegram.token is None
    assert secrets_of(settings) == [SECRET]


def test_a_file_that_an_editor_began_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("MODEL=gpt-5", encoding="utf-8-sig")
    assert load_settings(path).model == "gpt-5"


def test_a_file_that_is_no_text_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("MODEL=gpt-5", encoding="utf-16")
    with pytest.raises(SettingsError, match="no UTF-8 text; save it again"):
        load_settings(path)


def test_every_fault_is_told_at_once_and_by_name(load: Load) -> None:
    problems = problems_of(
        load,
        "CONTXT_TOKENS=5",
        "CONTEXT_TOKENS=many",
        "DISCORD__TOKN=x",
        "DISCORD_TOKEN=x",
        "PROVIDERS__OPENAI__API_KYE=y",
        "LOG_FORMAT=xml",
        "TIMEZONE=GMT+25",
        "SUMMARY__TRIGGER__TYPE=tokens",
        "QUOTA__MESSAGES_PER_MINUTE=often",
        "PROFILES__DISCORD__PERSONNA=mira",
        "PROFILES__DISCORD__BURST_MS=soon",
    )
    assert [problem.partition(" ")[0] for problem in problems] == [
        "CONTEXT_TOKENS", "SUMMARY__TRIGGER", "TIMEZONE", "DISCORD__TOKN", "PROVIDERS__OPENAI__API_KYE", "LOG_FORMAT",
        "QUOTA__MESSAGES_PER_MINUTE", "CONTXT_TOKENS", "DISCORD_TOKEN", "PROFILES__DISCORD__PERSONNA",
        "PROFILES__DISCORD__BURST_MS",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "near"),
    [
        ("CONTXT_TOKENS=5", "CONTEXT_TOKENS"),
        ("DISCORD_TOKEN=x", "DISCORD__TOKEN"),
        ("DISCORD__TOKN=x", "DISCORD__TOKEN"),
        ("PROVIDERS__MINE__BASEURL=x", "PROVIDERS__MINE__BASE_URL"),
        ("SUMMARY__KEEP_RECENTS=5", "SUMMARY__KEEP_RECENT"),
        ("TELEGRAM__WEBHOOK__PROT=1", "TELEGRAM__WEBHOOK__PORT"),
        ("PROFILES__DISCORD__PERSONNA=mira", "PERSONA"),
    ],
)
def test_an_unknown_key_is_told_with_the_one_that_was_meant(load: Load, line: str, near: str) -> None:
    (problem,) = [problem for problem in problems_of(load, line) if "did you mean" in problem]
    assert problem.endswith(f"did you mean {near}?")


def test_a_key_like_no_other_is_told_without_a_guess(load: Load) -> None:
    assert problems_of(load, "WHATEVER_THIS_IS=5") == ["WHATEVER_THIS_IS is no setting; .env.example lists them all"]


def test_faults_of_the_whole_are_told_beside_faults_of_one_value(load: Load) -> None:
    problems = problems_of(load, "LOG_FORMAT=xml", "PROVIDERS__MINE__API_KEY=x", "CONTEXT_TOKENS=1000")
    assert len(problems) == 3
    assert "leaves too little room" in problems[1]
    assert "PROVIDERS__MINE__BASE_URL is needed" in problems[2]


def test_a_refused_part_does_not_hide_faults_of_what_stands_beside_it(load: Load) -> None:
    problems = problems_of(
        load,
        "SUMMARY__HARD_RATIO=7",
        "SUMMARY__TRIGGER__TYPE=tokens",
        "SUMMARY__TRIGGER__VALUE=many",
        "PROVIDERS__ONE__API_KYE=x",
        "PROVIDERS__ONE__BASE_URL=http://127.0.0.1:1/v1",
        "PROVIDERS__TWO__API_KEY=x",
        "TELEGRAM__WEBHOOK__PORT=many",
        "TELEGRAM__WEBHOOK__PATH=hook",
        "PROFILES__DISCORD__SUMMARY__TRIGGER__TYPE=token_ratio",
    )
    assert [problem.partition(" ")[0] for problem in problems] == [
        "SUMMARY__TRIGGER__VALUE", "SUMMARY__HARD_RATIO", "TELEGRAM__WEBHOOK__PORT", "PROVIDERS__ONE__API_KYE",
        "PROFILES__DISCORD__SUMMARY__TRIGGER", "PROVIDERS__TWO__BASE_URL", "TELEGRAM__WEBHOOK__PATH",
    ]  # fmt: skip


def test_nothing_is_concluded_from_a_setting_that_is_unsound_itself(load: Load) -> None:
    problems = problems_of(load, "PROVIDERS__MINE=x", "MAX_OUTPUT_TOKENS=15000", "CONTEXT_TOKENS=few")
    assert [problem.partition(" ")[0] for problem in problems] == ["CONTEXT_TOKENS", "PROVIDERS__MINE"]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["PROVIDERS__MINE__API_KEY=x"], "PROVIDERS__MINE__BASE_URL is needed"),
        (["PROVIDERS__MINE__BASE_URL=localhost:11434/v1"], "__BASE_URL must be a whole address that begins with https"),
        (["DISCORD=x"], "DISCORD is a table"),
        (["SUMMARY__TRIGGER__TYPE=token_ratio", "SUMMARY__TRIGGER__VALUE=2"], "between 0 and 1"),
        (["SUMMARY__TRIGGER__TYPE=tokens", "SUMMARY__TRIGGER__VALUE=0.5"], "positive whole number"),
        (["SUMMARY__TRIGGER__TYPE=tokens", "SUMMARY__TRIGGER__VALUE=inf"], "finite"),
        (["QUOTA__MESSAGES_PER_MINUTE=-1"], "QUOTA__MESSAGES_PER_MINUTE must be 0 or more, or auto"),
        (["QUOTA__MESSAGES_PER_MINUTE=often"], "QUOTA__MESSAGES_PER_MINUTE must be a whole number, or auto"),
        (["ANSWER_WITHIN=-5"], "ANSWER_WITHIN must be 0 seconds or more"),
        (["ANSWER_WITHIN=-PT5M"], "ANSWER_WITHIN must be 0 seconds or more"),
        (["STOP_GRACE=soon"], "STOP_GRACE must be a number of seconds, 0 or more, or a duration such as PT15M"),
        (["STOP_GRACE=99999999999999999999"], "STOP_GRACE must be a number of seconds"),
        (["ANSWER_WITHIN=9999999999999"], "ANSWER_WITHIN must be 10000 days or less"),
        (["DISCORD__API_BASE=proxy"], "DISCORD__API_BASE must be a whole address that begins with https://"),
        (
            ["DISCORD__GATEWAY_URL=https://gateway"],
            "DISCORD__GATEWAY_URL must be a whole address that begins with wss:",
        ),
        (["TELEGRAM__BASE_URL=ftp://x/bot"], "TELEGRAM__BASE_URL must be a whole address that begins with https://"),
        (["TELEGRAM__BASE_URL=http://h:p/bot"], "TELEGRAM__BASE_URL must be a whole address that begins with https://"),
        (["TELEGRAM__BASE_URL=http://x/bot/"], "TELEGRAM__BASE_URL must end in /bot, without a slash behind it"),
        (["TELEGRAM__BASE_FILE_URL=http://x/bot"], "TELEGRAM__BASE_FILE_URL must end in /file/bot"),
        (["DISCORD__TOKEN=“x”"], "DISCORD__TOKEN must be one word of plain letters and signs"),
        (["DISCORD__TOKEN=Bot a.b.c"], "DISCORD__TOKEN must be the bare key: take out the word Bot before it"),
        (["PROVIDERS__OPENAI__API_KEY=bearer x"], "must be the bare key: take out the word Bearer before it"),
        (["TELEGRAM__TOKEN=AAH-x"], "TELEGRAM__TOKEN must be a number, a colon and letters"),
        (["PROVIDERS__OPENAI__CURRENCY=doubloons"], "CURRENCY is refused: a currency has three letters (ISO 4217)"),
        (["PROVIDERS__OPENAI__API_KEY=x y"], "PROVIDERS__OPENAI__API_KEY must be one word of plain letters and signs"),
        (["PROVIDERS__OPENAI__TOTAL_TIMEOUT=-0.5"], "PROVIDERS__OPENAI__TOTAL_TIMEOUT must be 0 seconds or more"),
        (["BURST_MS=-1"], "BURST_MS must be 0 or more"),
        (["SUMMARY__IDLE_SECONDS=soon"], "SUMMARY__IDLE_SECONDS must be a whole number"),
        (["PROFILES__DISCORD__BURST_MS=1e9"], "PROFILES__DISCORD__BURST_MS must be a whole number"),
        (["LOG_FORMAT=xml"], "LOG_FORMAT must be text or json"),
        (["PROFILES__DISCORD__THINKING=perhaps"], "PROFILES__DISCORD__THINKING must be on or off"),
        (["ACTIVATION_PROBABILITY=2"], "ACTIVATION_PROBABILITY must be 1 or less"),
        (["PROFILES__DISCORD__MAX_OUTPUT_TOKENS=15500"], "PROFILES__DISCORD__CONTEXT_TOKENS leaves too little room"),
        (["PROFILES__DISCORD__TIMEZONE=GMT+25"], "no time zone has that name"),
    ],
)
def test_a_fault_is_told_with_what_is_wanted(load: Load, lines: list[str], told: str) -> None:
    assert told in str(SettingsError(problems_of(load, *lines)))


@pytest.mark.parametrize("name", known_names())
@pytest.mark.parametrize("form", ["{name}={secret}", "{name}__X={secret}", '{name}={{"{secret}": "{secret}"}}'])
def test_X01_no_fault_of_any_setting_shows_a_value(load: Load, name: str, form: str) -> None:
    other = "DISCORD__TOKEN" if name == "TELEGRAM__TOKEN" else "TELEGRAM__TOKEN"
    with pytest.raises(SettingsError) as caught:
        load(form.format(name=name, secret=SECRET), f"{other}={SECRET}", "LOG_FORMAT=xml")
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "lines",
    [
        [f"DISCORD__TOKEN={SECRET}"],
        [f"TELEGRAM__TOKEN=4242:{SECRET}"],
        [f"TELEGRAM__WEBHOOK__SECRET_TOKEN={SECRET}"],
        [f"PROVIDERS__OPENAI__API_KEY={SECRET}"],
        [f'PROVIDERS={{"openai": {{"api_key": "{SECRET}"}}}}'],
    ],
)
def test_X01_every_secret_is_known_to_the_logs_and_hidden_in_the_settings(load: Load, lines: list[str]) -> None:
    settings = load(*lines)
    (secret,) = secrets_of(settings)
    assert secret.endswith(SECRET)
    assert SECRET not in repr(settings)
    assert SECRET not in str(settings.model_dump())


@pytest.mark.parametrize(("window", "configured", "reserve"), [(8192, None, 1024), (4096, None, 512), (4096, 16, 16)])
def test_the_reply_reserve_is_an_eighth_of_the_window_at_most_1024(
    window: int, configured: int | None, reserve: int
) -> None:
    assert output_reserve(window, configured) == reserve


@pytest.mark.parametrize(
    ("window", "given", "budget"),
    [
        (16_000, {}, 16_000 - 1024 - 800),
        (8_000, {}, 8_000 - 1000 - 512),
        (16_000, {"trim_threshold_ratio": 0.5}, 8_000 - 1024 - 800),
        (16_000, {"reserve_ratio": 0.1}, 16_000 - 1024 - 1600),
        (16_000, {"max_output_tokens": 4000}, 16_000 - 4000 - 800),
    ],
)
def test_the_budget_is_the_window_less_the_reserve_and_the_margin(
    window: int, given: dict[str, Any], budget: int
) -> None:
    settings = Settings(context_tokens=window, **given)
    assert prompt_budget(settings, window, output_reserve(window, settings.max_output_tokens)) == budget


def test_the_smallest_window_is_the_one_that_leaves_1024_tokens(load: Load) -> None:
    smallest = next(
        window
        for window in range(1024, 4096)
        if prompt_budget(load_settings(None), window, output_reserve(window, None)) >= MIN_BUDGET_TOKENS
    )
    assert load(f"CONTEXT_TOKENS={smallest}").context_tokens == smallest
    (problem,) = problems_of(load, f"CONTEXT_TOKENS={smallest - 1}")
    assert f"{smallest - 1} x 1.0 - {(smallest - 1) // 8} for the answer - 512 margin = 1023 tokens" in problem


@pytest.mark.parametrize(
    "line",
    [
        "PROVIDERS__OPENAI__CONTEXT_WINDOW=1500",
        'MODELS={"openai/gpt-5": {"context_window": 1500}}',
        "PROFILES__DISCORD__CONTEXT_TOKENS=1500",
        "MAX_OUTPUT_TOKENS=15000",
    ],
)
def test_a_window_too_small_for_a_prompt_is_refused_wherever_it_is_stated(load: Load, line: str) -> None:
    (problem,) = problems_of(load, line)
    assert "too little room for a prompt" in problem


def test_every_shown_default_of_the_example_can_be_taken_as_it_stands(load: Load) -> None:
    lines = [line.removeprefix("#") for line in env_example().splitlines() if re.match(r"#[A-Z_]+=", line)]
    free = ("PROVIDERS", "PROFILES", "MODELS", "MCP")
    assert {line.partition("=")[0] for line in lines if not line.startswith(free)} == {*known_names()} - {*free}
    assert load(*(line for line in lines if not line.startswith(free))) == load_settings(None)
    assert set(load(*lines).providers) == {"ollama"}  # an empty key is none


def test_the_example_marks_what_can_be_changed_in_chat() -> None:
    marked = re.findall(r"\(place\)\n#([A-Z_]+)=", env_example())
    assert {name.lower() for name in marked} == {*place_keys()}

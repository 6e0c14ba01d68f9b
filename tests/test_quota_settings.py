"""What is wrong with limits is told at the start: a price that nobody knows, and people who are no ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.app.named import checked_settings
from bot.env import SettingsError

MINE = "PROVIDERS__MINE__BASE_URL=https://models.example/v1\nMODEL=mine/some\n"


def problems_of(folder: Path, text: str) -> list[str]:
    """What `.env` is refused for."""
    (folder / ".env").write_text(text, encoding="utf-8")
    try:
        checked_settings(folder / ".env")
    except SettingsError as error:
        return list(error.problems)
    return []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (MINE + "QUOTA__TOTAL__MONEY_PER_DAY=1", ["MODEL is mine/some"]),
        (
            MINE + "QUOTA__TOTAL__MONEY_PER_DAY=1\nSUMMARY__MODEL=mine/other",
            ["MODEL is", "SUMMARY__MODEL is mine/other"],
        ),
        (MINE + "QUOTA__PERSON__MONEY_PER_MONTH=1\nPROVIDERS__MINE__INPUT_PRICE=1", ["MODEL is"]),
        (MINE + "QUOTA__TOTAL__MONEY_PER_DAY=1\nPROVIDERS__MINE__INPUT_PRICE=1\nPROVIDERS__MINE__OUTPUT_PRICE=0", []),
        (MINE + "QUOTA__TOTAL__TOKENS_PER_DAY=1", []),
        (MINE.replace("some", "gpt-5-mini") + "QUOTA__TOTAL__MONEY_PER_DAY=1", []),
        (MINE.replace("https://models.example", "http://127.0.0.1:9") + "QUOTA__TOTAL__MONEY_PER_DAY=1", []),
        ("QUOTA__TOTAL__MONEY_PER_DAY=1", []),
        ("QUOTA__EXEMPT_USERS=Alice", ["QUOTA__EXEMPT_USERS"]),
        ("QUOTA__EXEMPT_ROLES=discord:moderators", ["QUOTA__EXEMPT_ROLES"]),
        ("QUOTA__EXEMPT_USERS=discord:12345678901234567\nQUOTA__EXEMPT_ROLES=discord:12345678901234567", []),
        ("QUOTA__WARN_AT=80", ["QUOTA__WARN_AT"]),
        ("QUOTA__TOTAL__TOKENS_PER_DAY=-1", ["QUOTA__TOTAL__TOKENS_PER_DAY"]),
    ],
)
def test_limits_that_cannot_hold_are_told_at_the_start(tmp_path: Path, text: str, named: list[str]) -> None:
    problems = problems_of(tmp_path, text)
    assert len(problems) == len(named), problems
    assert all(name in problem for name, problem in zip(named, problems, strict=True))

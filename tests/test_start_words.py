"""What the command line says before a chat begins comes in the language of whoever started it."""

from __future__ import annotations

from typing import Any

import pytest

from bot.cli.words import words_for
from bot.llm.model_files import MODEL_FILES
from bot.locale import Catalogue
from bot.settings import Settings

CHINESE, ENGLISH = "没有设置平台令牌", "No platform token is set"


@pytest.mark.parametrize(
    ("given", "terminal", "begins"),
    [
        ({}, "C.UTF-8", ENGLISH),
        ({}, "zh_CN.UTF-8", CHINESE),
        ({"language": "zh"}, "en_US.UTF-8", CHINESE),
        ({"language": "en"}, "zh_CN.UTF-8", ENGLISH),
        ({"language": "en", "profiles": {"terminal": {"language": "zh"}}}, "C", CHINESE),
        ({"language": "zh", "profiles": {"terminal": {"language": "auto"}}}, "en_GB", ENGLISH),
    ],
)
def test_a_start_speaks_the_language_of_the_settings_else_of_the_terminal(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], terminal: str, begins: str
) -> None:
    monkeypatch.setenv("LC_ALL", terminal)
    assert words_for(Settings(**given))("start-no-token").startswith(begins)


@pytest.mark.parametrize("locale", Catalogue().locales)
@pytest.mark.parametrize("name", MODEL_FILES)
def test_what_to_expect_of_each_embedded_model_is_told_in_every_language(name: str, locale: str) -> None:
    told = Catalogue().text(f"start-expect-{name}", locale)
    assert told.isascii() == (locale == "en")
    assert locale != "en" or told == MODEL_FILES[name].good_for

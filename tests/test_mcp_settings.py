"""Servers of tools in the settings: written by their parts, their faults told in words, their secrets kept."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from bot.env import SettingsError, env_example, load_settings, secrets_of
from bot.settings import McpSettings, Settings


def load(folder: Path, *lines: str) -> Settings:
    path = folder / ".env"
    path.write_text("\n".join(lines), encoding="utf-8")
    return load_settings(path)


def test_a_server_is_written_by_its_parts(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        "MCP__FILES__COMMAND=npx",
        'MCP__FILES__ARGS=["-y", "a,b", "{x}"]',
        "MCP__FILES__ENV__API_KEY=123456",
        'MCP__FILES__ENV__TABLE={"a": 1}',
        "MCP__WEB_SEARCH__URL=https://example.org/mcp",
        "MCP__WEB_SEARCH__HEADERS__X_API_KEY=word-sentinel",
        "MCP__WEB_SEARCH__GROUP=web",
        "MCP__WEB_SEARCH__TIMEOUT=5",
    )
    files, search = settings.mcp["files"], settings.mcp["web_search"]
    assert (files.command, files.args, files.group) == ("npx", ("-y", "a,b", "{x}"), "")
    assert files.environment == {"API_KEY": "123456", "TABLE": '{"a": 1}'}
    assert (search.url, search.group, search.timeout) == ("https://example.org/mcp", "web", timedelta(seconds=5))
    assert search.sent_headers == {"x-api-key": "word-sentinel"}
    assert sorted(secrets_of(settings)) == ["123456", "word-sentinel", '{"a": 1}']
    assert "sentinel" not in repr(settings)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["MCP__A__GROUP=x"], "MCP__A needs either MCP__A__COMMAND or MCP__A__URL"),
        (["MCP__A__COMMAND=x", "MCP__A__URL=http://x"], "MCP__A needs either MCP__A__COMMAND or MCP__A__URL"),
        (["MCP__A__COMAND=x"], "MCP__A__COMAND is no setting; did you mean MCP__A__COMMAND?"),
        (["MCP__A__COMMAND=x", "MCP__A__ARGS=-y"], 'MCP__A__ARGS is refused: write it as a JSON list: ["-y", "some'),
        (["MCP__A__COMMAND=x", "MCP__A__TIMEOUT=0"], "MCP__A__TIMEOUT must be more than 0 seconds"),
        (["MCP__A__URL=ftp://x"], "MCP__A__URL must be a whole address that begins with https:// or http://"),
        (["MCP__A__URL=http://[x"], "MCP__A__URL must be a whole address that begins with https:// or http://"),
        (["MCP__A__URL=http://x", "MCP__A__ENV__B=x"], "MCP__A__ARGS and MCP__A__ENV are for a COMMAND"),
        (["MCP__A__COMMAND=x", "MCP__A__HEADERS__B=x"], "MCP__A__HEADERS are for a URL; a COMMAND takes MCP__A__ENV"),
        (["MCP__A__URL=http://x", "MCP__A__HEADERS__B=日"], "MCP__A__HEADERS__B must be one line of plain letters"),
        (['MCP={"a__b": {"command": "x"}}'], "MCP__A__B must have a name of a-z, 0-9, and single _ or -"),
        ([f"MCP__{'A' * 25}__COMMAND=x"], f"MCP__{'A' * 25} must have a name"),
        (["MCP=npx"], "MCP is a table: write it as JSON, or its parts as MCP__NAME=value"),
    ],
)
def test_each_fault_is_told_by_name_and_once(tmp_path: Path, lines: list[str], told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, *lines)
    (problem,) = caught.value.problems
    assert problem.startswith(told)


def test_the_example_explains_every_field_of_a_server_of_tools() -> None:
    lines = env_example().splitlines()
    for name in McpSettings.model_fields:
        at = next(number for number, line in enumerate(lines) if line.startswith(f"#MCP__FILES__{name.upper()}="))
        assert lines[at - 1].startswith("# ")

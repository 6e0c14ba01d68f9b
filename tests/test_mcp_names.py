"""What models call the tools of servers: names that every model server takes, each its own."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.tools.mcp.names import offered_names

LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@pytest.mark.parametrize(
    ("tools", "names"),
    [
        (["read", "list-all"], ["files__read", "files__list-all"]),
        (["calendar.read", "docs/get"], ["files__calendar_read", "files__docs_get"]),
        (["Create CIFS Share"], ["files__Create_CIFS_Share"]),
        (["a.b", "a_b"], ["files__a_b_2e7336dc", "files__a_b"]),
        (["a.b", "a/b"], ["files__a_b_2e7336dc", "files__a_b_c14cddc0"]),
        (["日历"], ["files_____a00f295c"]),
        (["x" * 80], ["files__" + "x" * 48 + "_d929cdee"]),
    ],
)
def test_K01_names_that_a_model_server_refuses_are_changed_and_stay_apart(tools: list[str], names: list[str]) -> None:
    offered = offered_names("files", tools)
    assert [offered[tool] for tool in tools] == names


@given(st.lists(st.text(max_size=90), unique=True, max_size=12))
def test_K01_every_name_is_legal_and_names_one_tool(tools: list[str]) -> None:
    offered = offered_names("one", tools)
    assert sorted(offered) == sorted(tools)
    assert len(set(offered.values())) == len(tools)
    assert all(LEGAL.fullmatch(name) for name in offered.values())


def test_K01_tools_of_one_name_on_two_servers_are_two_tools() -> None:
    assert offered_names("a", ["b_c"])["b_c"] != offered_names("a_b", ["c"])["c"]
    assert offered_names("a", ["read"])["read"] != offered_names("b", ["read"])["read"]


def test_a_tool_keeps_its_name_when_one_joins_that_is_like_it() -> None:
    assert offered_names("files", ["a_b"])["a_b"] == offered_names("files", ["a_b", "a.b"])["a_b"]

"""What models read of results of servers: all that is text, the rest in words, and never more than a bound."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.types import CallToolResult

from bot.tools.mcp.results import MOST_CHARS, shortened, text_of

TEXT = {"type": "text", "text": "hello"}
IMAGE = {"type": "image", "data": "aGVsbG8h", "mimeType": "image/png"}
LINK = {"type": "resource_link", "name": "notes", "uri": "file:///notes.txt", "description": "Of the day."}
INSIDE = {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "inside"}}
FILE = {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": "aGVsbG8h"}}


@pytest.mark.parametrize(
    ("content", "structured", "told"),
    [
        ([], None, ""),
        ([TEXT, TEXT], None, "hello\n\nhello"),
        ([TEXT], {"word": "hello"}, "hello"),
        ([], {"word": "你好"}, '{"word": "你好"}'),
        ([IMAGE], {"word": 1}, '[image, image/png, 6 bytes; it cannot be shown here]\n\n{"word": 1}'),
        ([{**IMAGE, "type": "audio"}], None, "[audio, image/png, 6 bytes; it cannot be shown here]"),
        ([LINK], None, "[notes: file:///notes.txt] Of the day."),
        ([INSIDE], None, "[file:///a.txt]\ninside"),
        ([FILE], None, "[file, of unknown type, 6 bytes; it cannot be shown here]"),
    ],
)
def test_every_part_of_a_result_is_told(content: list[Any], structured: dict[str, Any] | None, told: str) -> None:
    assert text_of(CallToolResult.model_validate({"content": content, "structuredContent": structured})) == told


def test_K02_of_a_huge_result_its_beginning_and_its_end_are_kept() -> None:
    huge = {"type": "text", "text": "a" * MOST_CHARS + "b" * MOST_CHARS}
    told = text_of(CallToolResult.model_validate({"content": [huge]}))
    assert told.startswith("aaa")
    assert told.endswith("bbb")
    assert f"[... {MOST_CHARS} characters ...]" in told
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abcdefg", 6) == "abc\n[... 1 characters ...]\nefg"

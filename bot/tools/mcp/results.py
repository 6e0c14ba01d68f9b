"""What a tool of a server brought, as the text that a model reads. What is no text is told in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ContentBlock

MOST_CHARS = 400_000
"""Of one result, of which its beginning and its end stay: what a window takes is counted later, and counting takes
time (K02). Ours to choose.
"""


def text_of(result: CallToolResult) -> str:
    """All that it holds. Structured content counts where there is no text beside it: servers write it as both."""
    parts = [*_told(result.content)]
    if result.structured_content is not None and not any(block.type == "text" for block in result.content):
        parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    return shortened("\n\n".join(parts), MOST_CHARS)


def shortened(text: str, most: int) -> str:
    """The beginning and the end of a text that has more characters."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}\n[... {len(text) - 2 * half} characters ...]\n{text[-half:]}"


def _told(blocks: Sequence[ContentBlock]) -> Iterator[str]:
    for block in blocks:
        match block.type:
            case "text":
                yield block.text
            case "image" | "audio":
                yield _note(block.type, block.mime_type, block.data)
            case "resource_link":
                yield f"[{block.title or block.name}: {block.uri}] {block.description or ''}".rstrip()
            case "resource":
                resource = block.resource
                text, blob = getattr(resource, "text", None), getattr(resource, "blob", "")
                yield f"[{resource.uri}]\n{text}" if text is not None else _note("file", resource.mime_type, blob)


def _note(kind: str, media_type: str | None, encoded: str) -> str:
    return f"[{kind}, {media_type or 'of unknown type'}, {len(encoded) * 3 // 4} bytes; it cannot be shown here]"

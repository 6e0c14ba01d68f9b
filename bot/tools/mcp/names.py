"""Names that every model server takes for tools whose own names it might refuse (K01). Knows no server."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

MOST_LETTERS = 64
"""Of a name, which are `a-zA-Z0-9_-` (OpenAI's API reference, tools)."""

SEPARATOR = "__"
"""Between the name of a server, which has never two underscores in a row, and that of its tool."""


def offered_names(server: str, tools: Iterable[str]) -> Mapping[str, str]:
    """Under which name a model calls each tool of a server, by the server's own names: `files__read`. Those that must
    be changed so much that two would be the same end in a mark of their own name, so that each keeps its name whatever
    others come and go.
    """
    prefix = server + SEPARATOR
    names = {tool: prefix + _ILLEGAL.sub("_", tool) for tool in tools}
    wanted = list(names.values())
    return {
        tool: name
        if name == prefix + tool and len(name) <= MOST_LETTERS
        else name
        if wanted.count(name) == 1 and len(name) <= MOST_LETTERS and _SAYS_SOMETHING.search(name, len(prefix))
        else _marked(name, tool)
        for tool, name in names.items()
    }


def _marked(name: str, tool: str) -> str:
    mark = "_" + hashlib.sha256(tool.encode(errors="surrogatepass")).hexdigest()[:_MARK_LETTERS]
    return name[: MOST_LETTERS - len(mark)] + mark


_MARK_LETTERS = 8
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_SAYS_SOMETHING = re.compile(r"[a-zA-Z0-9]")

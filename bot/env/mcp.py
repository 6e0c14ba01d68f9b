"""Whether the servers of tools can be started or reached as they are described."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from urllib.parse import urlsplit

from bot.env.sources import Reading
from bot.settings import McpSettings


def mcp_problems(reading: Reading) -> Iterator[str]:
    """One sentence for each fault."""
    servers = reading.settings.mcp
    if servers and find_spec("mcp") is None:
        yield "MCP needs a package that is not installed: pip install 'familiar[mcp]'"
    for name, server in servers.items():
        if reading.is_sound(f"mcp__{name}"):
            yield from _server_problems(f"MCP__{name.upper()}", name, server)


def _server_problems(setting: str, name: str, server: McpSettings) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield f"{setting} must have a name of a-z, 0-9, and single _ or - between them, of {MOST_LETTERS} at most"
    if (server.command is None) == (server.url is None):
        yield f"{setting} needs either {setting}__COMMAND or {setting}__URL"
        return
    if server.url is not None:
        if not is_web_address(server.url):
            yield f"{setting}__URL must be a whole address that begins with https:// or http://"
        if server.args or server.env:
            yield f"{setting}__ARGS and {setting}__ENV are for a COMMAND; a URL takes {setting}__HEADERS"
    elif server.headers:
        yield f"{setting}__HEADERS are for a URL; a COMMAND takes {setting}__ENV"
    for header, value in server.sent_headers.items():
        if not (_HEADER.fullmatch(header) and _ONE_LINE.fullmatch(value)):
            yield f"{setting}__HEADERS__{header.upper().replace('-', '_')} must be one line of plain letters and signs"


def is_web_address(url: str, schemes: Collection[str] = ("http", "https")) -> bool:
    """Whether it is a whole address of the web; `localhost:11434/v1` is none."""
    try:
        address = urlsplit(url)
        return address.scheme in schemes and bool(address.hostname) and address.port != 0
    except ValueError:
        return False


MOST_LETTERS = 24
"""Of a name: the names of tools begin with it, and have 64 in all (OpenAI's API reference, tools)."""

_NAME = re.compile(rf"(?=.{{1,{MOST_LETTERS}}}$)[a-z0-9]+(?:[_-][a-z0-9]+)*")
"""The first two underscores in the name of a tool are thus those behind the name of its server."""

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_ONE_LINE = re.compile(r"[\x20-\x7e]*")
"""What httpx can send."""

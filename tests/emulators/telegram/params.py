"""The parameters of one call, from a form, a multipart body or JSON, and which of them the method looked at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.emulators.telegram.errors import bad_request


@dataclass(frozen=True, kw_only=True, slots=True)
class Upload:
    """A file that came with a call."""

    name: str
    data: bytes


class Params:
    """Typed access to parameters; a form sends everything as text. `unread` names what no method asked for."""

    def __init__(self, values: Mapping[str, Any], files: Mapping[str, Upload]) -> None:
        self.values, self.files = dict(values), dict(files)
        self._read: set[str] = set()

    @classmethod
    async def of(cls, request: web.Request) -> Params:
        """Read the body of a request."""
        if request.content_type == "application/json":
            return cls({**request.query, **await request.json()}, {})
        values: dict[str, Any] = dict(request.query)
        files: dict[str, Upload] = {}
        for name, value in (await request.post()).items():
            if isinstance(value, web.FileField):
                files[name] = Upload(name=value.filename, data=value.file.read())
            else:
                values[name] = value
        return cls(values, files)

    def unread(self) -> set[str]:
        """Names that were sent and never asked for."""
        return (self.values.keys() | self.files.keys()) - self._read

    def text(self, name: str) -> str:
        """A text; absent is empty."""
        self._read.add(name)
        return str(self.values.get(name) or "")

    def integer(self, name: str) -> int | None:
        """A number, or `None` when absent."""
        self._read.add(name)
        value = self.values.get(name)
        if value is None or value == "":
            return None
        try:
            return int(value)
        except (TypeError, ValueError):
            raise bad_request(f"can't parse {name}") from None

    def flag(self, name: str) -> bool:
        """A yes or no; absent is no."""
        self._read.add(name)
        return str(self.values.get(name, "")).lower() in {"true", "1"}

    def json(self, name: str) -> Any:
        """A structure, or `None` when absent."""
        self._read.add(name)
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            raise bad_request(f"can't parse {name} JSON object") from None

    def file(self, name: str) -> Upload | None:
        """An uploaded file, given under its own name or as `attach://`."""
        self._read.add(name)
        value = self.values.get(name)
        if isinstance(value, str) and value.startswith("attach://"):
            name = value.removeprefix("attach://")
            self._read.add(name)
        return self.files.get(name)

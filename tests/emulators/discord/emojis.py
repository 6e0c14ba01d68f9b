"""The emojis of the bot's application, which simcord leaves out. Knows no socket."""

from __future__ import annotations

import base64
import re
from typing import Any

from simcord.backend import Backend
from simcord.backend.errors import BackendError, invalid_form_body

ROUTE = re.compile(r"/applications/(\d+)/emojis(?:/(\d+))?")
MOST_BYTES = 256 << 10


class Emojis:
    """Keeps, lists and removes them, within Discord's limits."""

    def __init__(self, backend: Backend, *, most: int = 2_000) -> None:
        self.most = most
        self.pictures: dict[int, bytes] = {}
        self._backend = backend
        self._names: dict[int, str] = {}
        self._last = 10**18

    def put(self, name: str, picture: bytes = b"x") -> int:
        """Keep one, as if it had been uploaded before."""
        self._last += 1
        emoji_id = self._last
        self._names[emoji_id], self.pictures[emoji_id] = name, picture
        return emoji_id

    @property
    def names(self) -> list[str]:
        """What they are called, oldest first."""
        return list(self._names.values())

    def answer(self, method: str, path: str, body: Any) -> Any:
        """Carry out one request to the route."""
        found = ROUTE.fullmatch(path)
        assert found
        if int(found[1]) != self._backend.application_id:
            raise BackendError(403, 20012, "You are not authorized to perform this action on this application")
        if method == "POST":
            return self._create(body)
        if method == "DELETE":
            if self._names.pop(int(found[2]), None) is None:
                raise BackendError(404, 10014, "Unknown Emoji")
            del self.pictures[int(found[2])]
            return None
        return {"items": [self._told(emoji_id) for emoji_id in self._names]}

    def _create(self, body: Any) -> Any:
        kind, _, data = body["image"].partition(";base64,")
        picture = base64.b64decode(data)
        if kind not in ("data:image/png", "data:image/jpeg", "data:image/gif", "data:image/webp"):
            raise invalid_form_body(
                errors={"image": {"_errors": [{"code": "IMAGE_INVALID", "message": "Invalid image"}]}}
            )
        if len(picture) > MOST_BYTES:
            raise BackendError(400, 50138, "Failed to resize asset below the maximum size: 262144")
        if not re.fullmatch(r"\w{2,32}", body["name"], re.ASCII):
            raise invalid_form_body(errors={"name": {"_errors": [{"code": "BASE_TYPE_BAD_LENGTH", "message": "2-32"}]}})
        if len(self._names) >= self.most:
            raise BackendError(400, 30008, "Maximum number of emojis reached")
        return self._told(self.put(body["name"], picture))

    def _told(self, emoji_id: int) -> dict[str, Any]:
        return {
            "id": str(emoji_id),
            "name": self._names[emoji_id],
            "roles": [],
            "require_colons": True,
            "managed": False,
            "animated": False,
            "available": True,
        }

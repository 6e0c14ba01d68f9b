"""How the Bot API says no: an HTTP status, a description, and parameters a client may act on."""

from __future__ import annotations

from typing import Any


class ApiError(Exception):
    """A refused call. `code` is both the HTTP status and `error_code` of the body."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        self.code, self.description, self.parameters = code, description, parameters
        super().__init__(f"{code} {description}")

    def body(self) -> dict[str, Any]:
        """The JSON body of the answer."""
        parameters = {"parameters": self.parameters} if self.parameters else {}
        return {"ok": False, "error_code": self.code, "description": self.description, **parameters}


def bad_request(problem: str) -> ApiError:
    """A 400 in the server's usual spelling."""
    return ApiError(400, f"Bad Request: {problem}")

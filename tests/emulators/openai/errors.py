"""Refusals as real servers word them."""

from __future__ import annotations

from typing import Any

from tests.emulators.openai.script import Refuse


def openai_error(
    status: int, message: str, *, code: str | None = None, param: str | None = None, kind: str = "invalid_request_error"
) -> Refuse:
    """OpenAI's shape."""
    return Refuse(status=status, body={"error": {"message": message, "type": kind, "param": param, "code": code}})


def unsupported_parameter(param: str, instead: str = "") -> Refuse:
    """OpenAI about a parameter that a model does not take."""
    hint = f" Use '{instead}' instead." if instead else ""
    message = f"Unsupported parameter: '{param}' is not supported with this model.{hint}"
    return openai_error(400, message, code="unsupported_parameter", param=param)


def unsupported_value(param: str, value: Any) -> Refuse:
    """OpenAI about a value other than the default."""
    refused = f"Unsupported value: '{param}' does not support {value} with this model."
    message = f"{refused} Only the default (1) value is supported."
    return openai_error(400, message, code="unsupported_value", param=param)


def extra_forbidden(*path: str | int, status: int = 422) -> Refuse:
    """Servers built on pydantic (Mistral, vLLM behind FastAPI) about a field that they do not know."""
    fault = {"type": "extra_forbidden", "loc": ["body", *path], "msg": "Extra inputs are not permitted", "input": 1}
    return Refuse(
        status=status, body={"object": "error", "message": {"detail": [fault]}, "type": "invalid_request_error"}
    )


def unauthorized(key: str = "sk-wrong-key-0123456789") -> Refuse:
    """OpenAI about a wrong key, which it repeats."""
    return openai_error(401, f"Incorrect API key provided: {key}.", code="invalid_api_key")


def not_found(model: str) -> Refuse:
    """OpenAI about a model that it does not have."""
    return openai_error(404, f"The model `{model}` does not exist.", code="model_not_found")


def rate_limited(retry_after: float | None = None) -> Refuse:
    """Too many requests, with or without a time to wait in seconds."""
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    body = {"error": {"message": "Rate limit reached.", "type": "requests", "code": "rate_limit_exceeded"}}
    return Refuse(status=429, body=body, headers=headers)


def server_error(status: int = 500, body: Any = "") -> Refuse:
    """A fault of the server or of a proxy before it."""
    return Refuse(status=status, body=body)


def context_too_long(limit: int, given: int) -> Refuse:
    """llama.cpp about a prompt that does not fit."""
    message = f"request ({given} tokens) exceeds the available context size ({limit} tokens), try increasing it"
    error = {
        "code": 400,
        "message": message,
        "type": "exceed_context_size_error",
        "n_prompt_tokens": given,
        "n_ctx": limit,
    }
    return Refuse(status=400, body={"error": error})

"""Looks at a request as a kind of server would, and refuses it in that server's words. Knows no answers."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from tests.emulators.openai.profiles.profile import Json, No, Profile
from tests.emulators.openai.script import Refuse, text_of

FORBIDDEN = "something forbidden"
"""What a provider with a filter declines to hear."""

Path = tuple[str | int, ...]


def refusal_of(profile: Profile, body: Json) -> tuple[str, Refuse] | None:
    """Why this server does not take the request, and what it says; `None` when it does.

    What no server takes is refused by all of them, in words that no client should know a remedy for.
    """
    if flaw := next(_flaws(body), None):
        return "malformed", Refuse(status=400, body={"error": {"message": f"Malformed: {flaw}"}})
    for trait, no in profile.refuses.items():
        found = find(trait, profile, body)
        if found is not None:
            return trait, spoken(profile, no, path=found)
    if isinstance(profile.declines, No) and is_forbidden(body):
        return "forbidden", spoken(profile, profile.declines)
    if profile.overflow is not None and (given := words_in(body)) > profile.window:
        return "overflow", spoken(profile, profile.overflow, given=given)
    return None


def spoken(profile: Profile, no: No, *, path: Path = (), given: int = 0) -> Refuse:
    """A refusal in the form of this server."""
    name = next((str(step) for step in reversed(path) if isinstance(step, str)), "")
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
    facts = {"name": name, "where": where, "limit": str(profile.window), "given": str(given)}
    values = {
        "{words}": _filled(no.words, facts),
        "{status}": no.status,
        "{code}": no.code,
        "{param}": no.param and _filled(no.param, facts),
        "{path}": ["body", *path],
        "{limit}": profile.window,
        "{given}": given,
    }
    return Refuse(status=no.status, body=_shaped(profile.error if no.body is None else no.body, values))


def is_forbidden(body: Json) -> bool:
    """Whether the newest words of a person are not for this provider."""
    said = [text_of(message) for message in body["messages"] if message["role"] == "user"]
    return FORBIDDEN in (said[-1] if said else "")


def words_in(body: Json) -> int:
    """How long the prompt is for us."""
    return sum(len(text_of(message).split()) for message in body["messages"])


def _filled(words: str, facts: Mapping[str, str]) -> str:
    return re.sub(r"\{(name|where|limit|given)\}", lambda found: facts[found[1]], words)


def _shaped(form: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(form, dict):
        return {key: _shaped(value, values) for key, value in form.items()}
    if isinstance(form, list):
        return [_shaped(value, values) for value in form]
    if isinstance(form, str):
        return values[form] if form in values else form.replace("{words}", str(values["{words}"]))
    return form


def find(trait: str, profile: Profile, body: Json) -> Path | None:
    """Where in the body the trait is; `None` when it has not got it."""
    if trait == "unknown":
        unknown = sorted(body.keys() - (profile.knows or body.keys()))
        return (unknown[0],) if unknown else None
    if trait in _CONDITIONS:
        return next(_CONDITIONS[trait](body), None)
    return (trait,) if trait in body else None


# What a server may not take. Each yields the places of it.


def _roles(body: Json) -> list[str]:
    return [message["role"] for message in body["messages"]]


def _system(body: Json) -> Iterator[Path]:
    yield from (("messages", place, "role") for place, role in enumerate(_roles(body)) if role == "system")


def _late_system(body: Json) -> Iterator[Path]:
    yield from (place for place in _system(body) if place[1])


def _repeated_role(body: Json) -> Iterator[Path]:
    for place, (one, other) in enumerate(pairwise(_roles(body)), start=1):
        if one == other and one in ("user", "assistant"):
            yield ("messages", place)


def _assistant_first(body: Json) -> Iterator[Path]:
    spoken_roles = [role for role in _roles(body) if role != "system"]
    if spoken_roles[:1] == ["assistant"]:
        yield ("messages", 0)


def _user_after_tool(body: Json) -> Iterator[Path]:
    for place, pair in enumerate(pairwise(_roles(body)), start=1):
        if pair == ("tool", "user"):
            yield ("messages", place)


def _images(body: Json) -> Iterator[Path]:
    for place, message in enumerate(body["messages"]):
        parts = message["content"] if isinstance(message.get("content"), list) else []
        yield from (("messages", place, "content", at) for at, part in enumerate(parts) if "image_url" in part)


def _second_image(body: Json) -> Iterator[Path]:
    yield from list(_images(body))[1:]


def _format(kind: str) -> Callable[[Json], Iterator[Path]]:
    def found(body: Json) -> Iterator[Path]:
        if body.get("response_format", {}).get("type") == kind:
            yield ("response_format", "type")

    return found


def _unasked_json(body: Json) -> Iterator[Path]:
    if not any("json" in text_of(message).lower() for message in body["messages"]):
        yield from _format("json_object")(body)


def _names(body: Json) -> Iterator[Path]:
    for place, message in enumerate(body["messages"]):
        if message["role"] == "user" and "name" in message:
            yield ("messages", place, "user", "name")


def _unnamed_result(body: Json) -> Iterator[Path]:
    for place, message in enumerate(body["messages"]):
        if message["role"] == "tool" and not message.get("name"):
            yield ("messages", place)


def _foreign_call_id(body: Json) -> Iterator[Path]:
    for place, message in enumerate(body["messages"]):
        ids = [call["id"] for call in message.get("tool_calls", ())] + [message.get("tool_call_id")]
        for bad in (one for one in ids if one is not None and not re.fullmatch("[a-zA-Z0-9]{9}", one)):
            yield ("messages", place, bad)


def _lost_reasoning(body: Json) -> Iterator[Path]:
    for place, message in enumerate(body["messages"]):
        if message.get("tool_calls") and not message.get("reasoning_content"):
            yield ("messages", place, "reasoning_content")


def _lost_signature(body: Json) -> Iterator[Path]:
    start = max((place for place, role in enumerate(_roles(body)) if role == "user"), default=0)
    for place, message in enumerate(body["messages"][start:], start=start):
        if message.get("tool_calls") and not message["tool_calls"][0].get("extra_content"):
            yield ("messages", place, message["tool_calls"][0]["function"]["name"])


def _sent_reasoning(body: Json) -> Iterator[Path]:
    for place, message in enumerate(body["messages"]):
        for key in ("reasoning_content", "reasoning"):
            if key in message:
                yield ("messages", place, "assistant", key)


def _empty_content(body: Json) -> Iterator[Path]:
    for place, message in enumerate(body["messages"]):
        if not message.get("content") and not message.get("tool_calls"):
            yield ("messages", place, "content")


_CONDITIONS: Mapping[str, Callable[[Json], Iterator[Path]]] = {
    "system": _system,
    "late system": _late_system,
    "repeated role": _repeated_role,
    "assistant first": _assistant_first,
    "user after tool": _user_after_tool,
    "image": _images,
    "second image": _second_image,
    "json_schema": _format("json_schema"),
    "json_object": _format("json_object"),
    "unasked json": _unasked_json,
    "names": _names,
    "unnamed result": _unnamed_result,
    "foreign call id": _foreign_call_id,
    "lost reasoning": _lost_reasoning,
    "lost signature": _lost_signature,
    "sent reasoning": _sent_reasoning,
    "empty content": _empty_content,
}


# What no server takes


def _flaws(body: Json) -> Iterator[str]:
    messages = body.get("messages") or []
    if not isinstance(body.get("model"), str) or not messages:
        yield "model and messages are needed"
    if "stream_options" in body and not body.get("stream"):
        yield "stream_options without stream"
    if "max_tokens" in body and "max_completion_tokens" in body:
        yield "two output limits"
    if len(body.get("stop") or ()) > 4:
        yield "more than four stop sequences"
    if not any(message.get("role") == "user" for message in messages):
        yield "nobody has said anything"
    open_calls: list[str] = []
    for place, message in enumerate(messages):
        yield from (f"messages[{place}]: {flaw}" for flaw in _message_flaws(message, open_calls))
    if open_calls:
        yield "a tool call without its result"


def _message_flaws(message: Json, open_calls: list[str]) -> Iterator[str]:
    role = message.get("role")
    if role not in ("system", "user", "assistant", "tool"):
        yield f"no such role: {role}"
    if role == "tool":
        if message.get("tool_call_id") not in open_calls:
            yield "a result without its call"
        else:
            open_calls.remove(message["tool_call_id"])
    elif open_calls:
        yield "a tool call without its result"
    if message.get("content") is None and not message.get("tool_calls"):
        yield "no content"
    if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", message.get("name", "x")):
        yield "a name that the API does not take"
    for call in message.get("tool_calls", ()):
        open_calls.append(call["id"])
        if not isinstance(call["function"]["arguments"], str) or not call["id"]:
            yield "a tool call of another form"
    for part in message["content"] if isinstance(message.get("content"), list) else ():
        if part["type"] == "image_url" and not _is_picture(part["image_url"]["url"]):
            yield "an image that cannot be read"


def _is_picture(url: str) -> bool:
    found = re.fullmatch(r"data:image/[a-z]+;base64,(.+)", url)
    try:
        return found is not None and bool(base64.b64decode(found[1], validate=True))
    except binascii.Error:
        return False

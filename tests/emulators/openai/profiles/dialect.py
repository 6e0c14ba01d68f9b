"""Phrases an answer as a kind of server would: its chunks, its spelling, its framing. Knows no refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.emulators.openai.profiles.profile import Json, Profile
from tests.emulators.openai.script import DONE, Call, Raw, Request, Say, Step, Wait, chunk, event, pieces

THOUGHT = "They want an answer. I shall give one."
"""What a server that always thinks thinks."""


def phrased(profile: Profile, say: Say, request: Request) -> Iterator[Step]:
    """The answer as the stream of this server."""
    for step in _steps(profile, _limited(profile, say, request), request):
        if isinstance(step, Wait):
            yield step
        else:
            framed = step.data if isinstance(step, Raw) else event(step)
            yield Raw(framed.replace(b"\n", profile.line_end))


def whole(profile: Profile, say: Say, request: Request) -> Json:
    """The answer in one piece, for a request that did not want a stream."""
    said = _limited(profile, say, request)
    message: Json = {"role": "assistant", "content": "", "tool_calls": [_call(profile, 0, call) for call in said.calls]}
    for step in (*_thoughts(profile, said), *_texts(profile, said)):
        for key, value in step.items():
            message[key] = value if isinstance(value, list) else message.get(key, "") + value
    choice = {"index": 0, "message": message, "finish_reason": _finish(profile, said)}
    return {"id": "x", "object": "chat.completion", "choices": [choice], "usage": said.usage_for(request)}


def _limited(profile: Profile, say: Say, request: Request) -> Say:
    """What is left of the answer after a server has thought as long as it does."""
    if not profile.thinks_always:
        return say
    limit = request.body.get("max_tokens") or request.body.get("max_completion_tokens") or 0
    thought = say.reasoning or THOUGHT
    if limit > profile.thinks_always:
        return Say(text=say.text, reasoning=thought, calls=say.calls, finish=say.finish, gate=say.gate)
    spent = {"prompt_tokens": 9, "completion_tokens": limit, "completion_tokens_details": {"reasoning_tokens": limit}}
    return Say(reasoning=thought, finish="length", usage=spent)


def _steps(profile: Profile, say: Say, request: Request) -> Iterator[Step]:
    yield from map(_framed, profile.prelude)
    if profile.role_first:
        yield _chunk(profile, {"role": "assistant", "content": ""})
    for delta in _thoughts(profile, say):
        yield _chunk(profile, delta)
    for number, delta in enumerate(_texts(profile, say)):
        yield _chunk(profile, delta)
        if not number:
            yield from map(_framed, profile.interlude)
            if say.gate is not None:
                yield Wait(say.gate)
    for index, call in enumerate(say.calls):
        yield from (_chunk(profile, {"tool_calls": [part]}) for part in _call_parts(profile, index, call))
    yield from _ending(profile, say, request)


def _ending(profile: Profile, say: Say, request: Request) -> Iterator[Step]:
    usage = say.usage_for(request)
    finish = _finish(profile, say)
    last = chunk({}, finish=finish) if finish else chunk({})
    yield {**last, "usage": usage} if profile.usage in ("last chunk", "every chunk") else last
    if profile.usage == "asked" and (request.body.get("stream_options") or {}).get("include_usage"):
        yield {**last, "choices": [], "usage": usage}
    if profile.done:
        yield DONE


def _chunk(profile: Profile, delta: Json) -> Json:
    counted = {"usage": {"prompt_tokens": 1, "completion_tokens": 0}} if profile.usage == "every chunk" else {}
    return chunk(delta, finish=profile.unfinished, **counted)


def _framed(given: Json | bytes) -> Step:
    return Raw(given) if isinstance(given, bytes) else given


def _thoughts(profile: Profile, say: Say) -> Iterator[Json]:
    thoughts = pieces(say.reasoning)
    match profile.reasoning:
        case "reasoning_content" | "reasoning":
            yield from ({str(profile.reasoning): thought} for thought in thoughts)
        case "parts":
            for thought in thoughts:
                yield {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": thought}]}]}
        case "tag" | "open tag" if thoughts:
            opening = ["<think>"] if profile.reasoning == "tag" else []
            # Where there was no room for an answer the closing tag never came either.
            closing = ["</think>", "\n\n"] if say.text or say.calls else []
            yield from ({"content": piece} for piece in (*opening, *thoughts, *closing))
        case _:
            pass


def _texts(profile: Profile, say: Say) -> Iterator[Json]:
    yield from ({"content": piece} for piece in pieces(say.text))


def _call_parts(profile: Profile, index: int, call: Call) -> Iterator[Json]:
    first = _call(profile, index, call)
    if not profile.call_piece:
        yield first
        return
    yield {**first, "function": {"name": call.name, "arguments": ""}}
    for start in range(0, len(call.arguments), profile.call_piece):
        part: Json = {"function": {"arguments": call.arguments[start : start + profile.call_piece]}}
        yield {"index": index, **part} if profile.call_indexed else part


def _call(profile: Profile, index: int, call: Call) -> Json:
    ids: dict[str, Any] = {"given": call.id, "null": None, "empty": "", "same": "call_0"}
    place = {"index": index} if profile.call_indexed else {}
    function = {"name": call.name, "arguments": call.arguments}
    return {**place, "id": ids[profile.call_id], "type": "function", "function": function, **profile.call_extra}


def _finish(profile: Profile, say: Say) -> str | None:
    finish = say.finish_reason
    return profile.finishes.get(finish, finish) if finish else None


def error_event(body: Any) -> Raw:
    """A refusal in the middle of a stream that began with status 200."""
    return Raw(b"event: error\ndata: " + json.dumps(body).encode() + b"\n\n")

"""What the scripted server answers: whole answers, single steps of a stream, refusals, and rules that choose."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(kw_only=True)
class Request:
    """One request as it came in, for the journal and for scripts."""

    number: int
    """Counted from 1 over the life of the server."""
    path: str
    headers: Mapping[str, str]
    body: Json
    query: Mapping[str, str] = field(default_factory=dict)
    was_cancelled: bool = False
    """Whether the client went away before the answer was complete."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def messages(self) -> list[Json]:
        return list(self.body.get("messages", ()))

    @property
    def roles(self) -> list[str]:
        return [message["role"] for message in self.messages]

    @property
    def system(self) -> str:
        """The text of all system messages."""
        return "\n".join(text_of(message) for message in self.messages if message["role"] == "system")

    @property
    def last_user(self) -> str:
        """The text of the last user message."""
        return next((text_of(message) for message in reversed(self.messages) if message["role"] == "user"), "")

    @property
    def turn(self) -> int:
        """Which answer of the conversation is asked for: 1 + the assistant messages in the prompt."""
        return 1 + self.roles.count("assistant")

    @property
    def tool_results(self) -> list[str]:
        """Tool results after the last user message."""
        results: list[str] = []
        for message in self.messages:
            results = [] if message["role"] == "user" else results
            if message["role"] == "tool":
                results.append(text_of(message))
        return results


def text_of(message: Json) -> str:
    """The text of a message, whatever form its content has."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


# Steps of a stream. A plain dict is a chunk.


@dataclass(frozen=True)
class Raw:
    """Bytes as they are, for broken lines."""

    data: bytes


@dataclass(frozen=True)
class Wait:
    """Nothing more until the event is set."""

    event: asyncio.Event


@dataclass(frozen=True)
class Pause:
    """Nothing for some seconds."""

    seconds: float


@dataclass(frozen=True)
class Cut:
    """The connection is reset here."""


@dataclass(frozen=True)
class Stall:
    """Nothing more, for ever, with the connection open."""


Step = Json | Raw | Wait | Pause | Cut | Stall


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call of an answer; its arguments are streamed in pieces of some characters."""

    name: str
    arguments: str = "{}"
    id: str = "call_1"
    piece: int = 8


@dataclass(frozen=True, kw_only=True)
class Say:
    """One complete answer, streamed or whole as the request wants it.

    `text` is streamed word by word, or in exactly the given pieces. `usage` defaults to counts of words;
    `None` sends none. `gate` is waited for before the first token; for more gates write a `Stream`.
    """

    text: str | Sequence[str] = ""
    reasoning: str | Sequence[str] = ""
    reasoning_field: str = "reasoning_content"
    calls: Sequence[Call] = ()
    finish: str | None = "stop"
    usage: Json | None = field(default_factory=dict)
    gate: asyncio.Event | None = None
    first_token_seconds: float = 0.0
    chunk_seconds: float = 0.0

    @property
    def whole_text(self) -> str:
        return self.text if isinstance(self.text, str) else "".join(self.text)

    def usage_for(self, request: Request) -> Json | None:
        """What the server counts for this answer to that request."""
        if self.usage is None or self.usage:
            return self.usage
        prompt = sum(len(text_of(message).split()) for message in request.messages)
        output = len(self.whole_text.split())
        return {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}

    def steps(self, request: Request) -> Iterator[Step]:
        """The answer as a stream."""
        yield chunk({"role": "assistant", "content": ""})
        if self.gate is not None:
            yield Wait(self.gate)
        if self.first_token_seconds:
            yield Pause(self.first_token_seconds)
        for thought in pieces(self.reasoning):
            yield chunk({self.reasoning_field: thought})
        for number, piece in enumerate(pieces(self.text)):
            if number and self.chunk_seconds:
                yield Pause(self.chunk_seconds)
            yield chunk({"content": piece})
        for index, call in enumerate(self.calls):
            yield from _call_chunks(index, call)
        if self.finish is not None:
            yield chunk({}, finish=self.finish_reason)
        if (request.body.get("stream_options") or {}).get("include_usage") and self.usage is not None:
            yield {**_envelope(), "choices": [], "usage": self.usage_for(request)}
        yield DONE

    def whole(self, request: Request) -> Json:
        """The answer in one piece."""
        message: Json = {"role": "assistant", "content": self.whole_text or None}
        if self.reasoning:
            message[self.reasoning_field] = (
                self.reasoning if isinstance(self.reasoning, str) else "".join(self.reasoning)
            )
        if self.calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in self.calls
            ]
        return {
            **_envelope("chat.completion"),
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason}],
            "usage": self.usage_for(request),
        }

    @property
    def finish_reason(self) -> str | None:
        return "tool_calls" if self.calls and self.finish == "stop" else self.finish


@dataclass(frozen=True)
class Stream:
    """An answer step by step, for everything that `Say` is too well-behaved for."""

    steps: Iterable[Step]


@dataclass(frozen=True, kw_only=True)
class Plain:
    """A whole body with status 200, whatever was asked for: a server that does not stream, or fails politely."""

    body: Any


@dataclass(frozen=True, kw_only=True)
class Refuse:
    """An error answer. `body` is JSON, or text when it is a string, or nothing."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reset:
    """The connection is reset instead of an answer."""


Reply = Say | Stream | Plain | Refuse | Reset
Chooser = Callable[[Request], Reply | Awaitable[Reply | None] | None]


@dataclass(frozen=True, kw_only=True)
class When:
    """A rule: all given patterns must be found (regular expressions); the first rule that fits answers."""

    reply: Reply
    last_user: str = ""
    system: str = ""
    model: str = ""
    tool_result: str | None = None
    turn: int | None = None

    def fits(self, request: Request) -> bool:
        results = "\n".join(request.tool_results)
        return (
            re.search(self.last_user, request.last_user) is not None
            and re.search(self.system, request.system) is not None
            and re.search(self.model, request.model) is not None
            and (self.tool_result is None or (bool(results) and re.search(self.tool_result, results) is not None))
            and self.turn in (None, request.turn)
        )


Script = Reply | Sequence[When] | Chooser
"""One answer for everything, a table of rules, or a function."""

DONE = Raw(b"data: [DONE]\n\n")


def chunk(delta: Json | None, *, finish: str | None = None, **more: Any) -> Json:
    """One chunk with one choice; `more` goes beside the choices."""
    return {**_envelope(), "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def said(*pieces: str) -> list[Step]:
    """Chunks of text."""
    return [chunk({"content": piece}) for piece in pieces]


def event(data: Any) -> bytes:
    """A server-sent event."""
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def _envelope(kind: str = "chat.completion.chunk") -> Json:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": "scripted"}


def pieces(text: str | Sequence[str]) -> list[str]:
    """How a text is streamed: word by word, or as it was cut."""
    return re.findall(r"\s*\S+\s*|\s+", text) if isinstance(text, str) else list(text)


def _call_chunks(index: int, call: Call) -> Iterator[Json]:
    first = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
    yield chunk({"tool_calls": [first]})
    for start in range(0, len(call.arguments), call.piece):
        part = call.arguments[start : start + call.piece]
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})

"""What can be said of a kind of model server: what it refuses, in which words, and how it phrases an answer.

Data only: `gate` refuses and `dialect` answers by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Json = dict[str, Any]

API_FIELDS = frozenset(
    ("model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "top_p",
     "presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs", "seed", "stop", "tools",
     "tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort", "n", "user", "metadata", "store")
)  # fmt: skip
"""What the API calls its parameters."""

OPENAI_ERROR: Json = {
    "error": {"message": "{words}", "type": "invalid_request_error", "param": "{param}", "code": "{code}"}
}
CODED_ERROR: Json = {"error": {"code": "{status}", "message": "{words}"}}


@dataclass(frozen=True)
class No:
    """A refusal. The words may hold `{name}` of what is refused, `{where}` it stands, `{limit}` and `{given}`."""

    status: int
    words: str
    code: str | int | None = None
    param: str | None = None
    body: Any = None
    """Another form than the profile's `error`."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One kind of server. Every value stands for the ordinary server unless a profile says otherwise."""

    name: str
    model: str = "scripted"
    """The model it runs, where the name tells what no refusal will."""

    # What it takes
    error: Any = field(default_factory=lambda: OPENAI_ERROR)
    """The form of its refusals: JSON with `{words}`, `{status}`, `{code}`, `{param}`, `{path}` in it, or text."""
    knows: frozenset[str] | None = None
    """The parameters it has heard of; `None` = it ignores the others. What it refuses then stands under `unknown`."""
    refuses: Mapping[str, No] = field(default_factory=dict)
    """By parameter, or by one of the conditions in `gate`; the first that holds speaks."""
    refuses_in_stream: frozenset[str] = frozenset()
    """Those of them that come with status 200, as an event of the stream."""
    window: int = 6_000
    """Words of a prompt that fit."""
    overflow: No | None = None
    """What it says of a longer one; `None` = it forgets the beginning without a word."""
    declines: No | str | None = None
    """What its provider does with content it forbids: a refusal, a finish reason, or nothing (the model says no)."""

    # How it thinks
    reasoning: Literal["reasoning_content", "reasoning", "parts", "tag", "open tag", "hidden"] = "hidden"
    """Where reasoning appears: a field, typed parts of the content, `<think>`, `</think>` alone, or nowhere."""
    thinks_always: int = 0
    """Tokens of reasoning before any answer, whatever was asked for; an output limit below leaves nothing to say."""

    # How it speaks
    prelude: tuple[Json | bytes, ...] = ()
    """Events (or bytes as they are) before the answer."""
    interlude: tuple[Json | bytes, ...] = ()
    """The same after the first piece of text."""
    role_first: bool = True
    """Whether a chunk with the role and no text begins the answer."""
    unfinished: str | None = None
    """The finish reason of every chunk but the last."""
    finishes: Mapping[str, str | None] = field(default_factory=dict)
    """Its spelling of `stop`, `length` and `tool_calls`; `None` = it does not say."""
    call_piece: int = 8
    """Characters of arguments per chunk; 0 = a call comes in one piece."""
    call_indexed: bool = True
    call_id: Literal["given", "null", "empty", "same"] = "given"
    """Whether calls have ids of their own."""
    call_extra: Json = field(default_factory=dict)
    """What stands beside a call and has to come back with it."""
    usage: Literal["asked", "last chunk", "every chunk", "never"] = "asked"
    """Counts in a chunk without choices if asked for; unasked with the last chunk or with every one; or not at all."""
    line_end: bytes = b"\n"
    done: bool = True
    """Whether `[DONE]` ends a stream."""
    write_bytes: int | None = None
    """Bytes per write; `None` = an event at a time."""
    stumbles: int = 0
    """How many of the first requests fail for no reason."""

    @property
    def has_tools(self) -> bool:
        """Whether its models can call tools."""
        return "tools" not in self.refuses

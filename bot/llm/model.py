"""What a language model is to us: a request, a stream of events that ends in one completion, and the errors.

Knows no vendor and no SDK. `bot.llm.client` fills `Model` for every OpenAI-compatible server; `bot.testing` fakes it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from bot.errors import FamiliarError


class Role(StrEnum):
    """Who speaks in a prompt."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """An image given to a vision model as bytes, never as a URL that may have expired (D21)."""

    media_type: str
    data: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """The model asks for a tool. `arguments` is the JSON text as it came; "" means no arguments (L09)."""

    id: str
    name: str
    arguments: str
    extra: str = ""
    """What the server put beside the call, as JSON: it wants it back with the call, within one tool round (L19)."""
    by: str = field(default="", compare=False)
    """Who called, by its full name; "" = not known. No other model gets `extra`, or the thoughts before the call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelMessage:
    """One message of a prompt. Extra facts of ours never travel with it (L25)."""

    role: Role
    text: str
    images: tuple[Image, ...] = ()
    name: str | None = None
    """Speaker name for servers that take one; sent only when it matches the pattern of the API (L17)."""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    reasoning: str | None = None
    """What a thinking model must get back within one tool round (L19)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSpec:
    """A tool as the model sees it; `parameters` is a JSON schema object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class Purpose(StrEnum):
    """What a call is for. Which limits it counts against follows from that (`bot.quota.purposes`)."""

    CHAT = "chat"
    TOOL = "tool"
    PROACTIVE = "proactive"
    SUMMARY = "summary"
    VISION = "vision"
    TRANSCRIPTION = "transcription"
    SPEECH = "speech"
    EXTENSION = "extension"
    MODERATION = "moderation"
    WARMING = "warming"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bill:
    """Whom a call counts against: a place, and in it a person, unless nobody has asked (`None`)."""

    place_key: str
    purpose: Purpose = Purpose.CHAT
    author_key: str | None = None
    is_exempt: bool = False
    """Whether only the limits of the whole bot count."""
    is_awaited: bool = False
    """Whether somebody waits who would be told that a limit forbids it."""
    input_tokens: int = 0
    """What the request fills, as far as whoever makes it has counted; 0 = not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelRequest:
    """Everything one call needs. `model` is `provider/model`; `max_output_tokens` is also the budget for the answer."""

    model: str
    messages: tuple[ModelMessage, ...]
    max_output_tokens: int
    tools: tuple[ToolSpec, ...] = ()
    thinking: bool = False
    stop: tuple[str, ...] = ()
    json_schema: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Sampling parameters as the API names them (temperature, top_p); a server may refuse some (L02)."""
    bill: Bill | None = None
    """Whom it counts against; `None` = only the limits of the whole bot."""
    needs_images: bool = False
    """Whether it is about its images: no model that may answer gets it without them."""
    fallbacks: tuple[str, ...] = ()
    """Which models can still answer instead, in this order, where the server of `model` does not (`bot.llm.router`)."""
    are_fallbacks_away: bool = False
    """Whether all of those have failed lately."""

    @property
    def is_last(self) -> bool:
        """Whether nobody else is worth being asked soon."""
        return not self.fallbacks or self.are_fallbacks_away


class Finish(StrEnum):
    """Why the model stopped."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    FILTERED = "filtered"
    """The provider declined to answer (L12)."""
    INCOMPLETE = "incomplete"
    """The stream ended without saying why; the text is kept and flagged (L22)."""
    REPEATING = "repeating"
    """It went round in circles, and we ended it there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens as the server counted them; `None` of a `Completion` means that it did not say."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: int | None = None
    """In billionths of `currency`; `None` = nobody knows the price."""
    currency: str | None = None
    """`None` where nothing has to be paid."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TextDelta:
    """More visible text, reasoning already removed. Concatenated deltas equal `Completion.text`, with the one exception
    that `Completion.replaces_deltas` states.
    """

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """How a call ended; the last event of every stream that did not raise."""

    text: str
    finish: Finish
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    usage: Usage | None = None
    first_token_ms: int = 0
    total_ms: int = 0
    replaces_deltas: bool = False
    """The deltas turned out to be reasoning too late (L03, once per model): `text` alone is the answer."""
    model: str = ""
    """Who answered, by its full name; "" = the model of the request."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """A request of this call that brought no answer, so that another one follows; it may have to be paid as well.
    `outcome` is a `Finish` or the kind of a `ModelError`.
    """

    outcome: str
    usage: Usage | None = None
    first_token_ms: int = 0
    total_ms: int = 0
    model: str = ""
    """Who was asked, by its full name; "" = the model of the request."""
    fault: ModelError | None = field(default=None, compare=False)
    """Why another model is asked next, if one is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Handover:
    """From here on another model is asked than the one of the request."""

    model: str


INTERRUPTED = "interrupted"
"""Outcome of a call whose answer nobody waited for."""

ModelEvent = TextDelta | Attempt | Handover | Completion


class Model(Protocol):
    """Something that answers requests. Closing the iterator early cancels the call on the wire."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield text as it comes and one `Completion` at the end; before the text, what was attempted in vain.

        Raises:
            ModelError: a kind of it, when the call failed as a whole. Text already yielded must not count as an answer.
        """

    async def close(self) -> None:
        """Release connections."""


class ModelError(FamiliarError):
    """A call failed. The sentence is for the operator's log; users hear the catalogue text of `kind`."""

    kind = "failed"

    def __init__(self, model: str, problem: str, remedy: str = "") -> None:
        self.model, self.problem, self.remedy = model, problem, remedy
        super().__init__(f"{model}: {problem}" + (f"{'' if problem.endswith('.') else '.'} {remedy}" if remedy else ""))


class ModelUnreachable(ModelError):
    """No connection, a time-out, or the server is overloaded: trying later may help. `patience` are the seconds that it
    asks for, `is_of_server` says that none of its models can be reached.
    """

    kind = "unreachable"

    def __init__(
        self, model: str, problem: str, remedy: str = "", *, patience: float | None = None, is_of_server: bool = False
    ) -> None:
        super().__init__(model, problem, remedy)
        self.patience, self.is_of_server = patience, is_of_server


class ModelRefused(ModelError):
    """The server refused the request: key, model name, or a parameter that could not be adapted."""

    kind = "refused"


class ModelExhausted(ModelRefused):
    """The account at the provider has no credit left."""

    is_of_server = True


class ContextTooLong(ModelError):
    """The prompt does not fit the model's window (M17). `limit` and `given` are token counts when the server told."""

    kind = "too-long"

    def __init__(self, model: str, problem: str, *, limit: int | None = None, given: int | None = None) -> None:
        super().__init__(model, problem)
        self.limit, self.given = limit, given


class ModelHeldBack(ModelError):
    """A limit has no room for what this model costs, and it was not asked. `may_stand_in` says that one of its
    fallbacks costs nothing of it.
    """

    def __init__(self, model: str, problem: str, *, may_stand_in: bool) -> None:
        super().__init__(model, problem)
        self.may_stand_in = may_stand_in

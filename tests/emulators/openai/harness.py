"""The real model client on the scripted server, with everything a test looks at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from bot.llm.catalogue import LimitsOverride, ModelCatalogue
from bot.llm.client import OpenAIModel
from bot.llm.endpoints import Provider
from bot.llm.model import Completion, Image, ModelMessage, ModelRequest, Role, TextDelta, ToolCall, ToolSpec
from bot.llm.quirks import LearnedQuirk, Quirks
from tests.emulators.openai.emulator import OpenAIEmulator
from tests.emulators.openai.script import Say, Script

TOOL = ToolSpec(name="clock", description="time", parameters={"type": "object"})
PICTURE = Image(media_type="image/png", data=b"x")
SCHEMA = {"type": "object", "properties": {"mood": {"type": "string"}}}
HELLO = Say(text="Hello!")
SECRET = "sk-very-secret-0123456789"


@dataclass
class Bench:
    """A client of one provider, `test`, whose server is `openai`. Waits between attempts are noted, not waited."""

    openai: OpenAIEmulator
    model: OpenAIModel
    quirks: Quirks
    saved: list[LearnedQuirk] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    async def ask(self, request: ModelRequest) -> tuple[list[str], Completion]:
        """The deltas and the completion of one request."""
        *deltas, completion = [event async for event in self.model.stream(request)]
        assert isinstance(completion, Completion)
        return [delta.text for delta in deltas if isinstance(delta, TextDelta)], completion


@asynccontextmanager
async def bench(
    script: Script = HELLO,
    *,
    limits: LimitsOverride | None = None,
    known: tuple[LearnedQuirk, ...] = (),
    api_key: str | None = None,
    write_bytes: int | None = None,
    drop: Callable[[str, str], Awaitable[None]] | None = None,
    **provider: Any,
) -> AsyncIterator[Bench]:
    """Start both; `provider` are further fields of the `Provider`, `known` what was learned before, `drop`
    hears what is forgotten.
    """
    saved: list[LearnedQuirk] = []
    waits: list[float] = []

    async def save(learned: LearnedQuirk) -> None:
        saved.append(learned)

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async with OpenAIEmulator(script, api_key=api_key, write_bytes=write_bytes) as openai:
        quirks = Quirks(lambda: known, save, *([drop] if drop else []))
        server = Provider(name="test", base_url=openai.base_url, api_key=SecretStr(SECRET), **provider)
        catalogue = ModelCatalogue({"test": limits} if limits else {})
        model = OpenAIModel({"test": server}, quirks, catalogue, sleep=sleep, jitter=lambda: 0.5)
        try:
            yield Bench(openai=openai, model=model, quirks=quirks, saved=saved, waits=waits)
        finally:
            await model.close()


def asks(
    text: str = "Hi", *, model: str = "test/scripted", messages: tuple[ModelMessage, ...] = (), **more: Any
) -> ModelRequest:
    """A request of a persona and one user message, or of the given messages."""
    usual = (ModelMessage(role=Role.SYSTEM, text="You are Luna."), ModelMessage(role=Role.USER, text=text))
    return ModelRequest(model=model, messages=messages or usual, **{"max_output_tokens": 100, **more})


def system(text: str) -> ModelMessage:
    return ModelMessage(role=Role.SYSTEM, text=text)


def user(text: str, name: str | None = None, *images: Image) -> ModelMessage:
    return ModelMessage(role=Role.USER, text=text, name=name, images=images)


def assistant(text: str, *calls: ToolCall, reasoning: str | None = None) -> ModelMessage:
    return ModelMessage(role=Role.ASSISTANT, text=text, tool_calls=calls, reasoning=reasoning)


def tool(text: str, call_id: str) -> ModelMessage:
    return ModelMessage(role=Role.TOOL, text=text, tool_call_id=call_id, name="clock")


CALL = ToolCall(id="c1", name="clock", arguments="{}")
EVERYTHING = ModelRequest(
    model="test/scripted",
    messages=(
        system("You are Luna."),
        user("Hi", "Alice"),
        user("Look", "Bob", PICTURE),
        assistant("", CALL, reasoning="hm"),
        tool("noon", "c1"),
    ),
    max_output_tokens=100,
    tools=(TOOL,),
    thinking=True,
    stop=("\nAlice:",),
    json_schema=SCHEMA,
    parameters={"temperature": 0.8, "top_p": 0.9, "top_k": 40},
)
"""A request with everything in it that a server may refuse."""

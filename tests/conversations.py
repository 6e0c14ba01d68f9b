"""Ten conversations that every kind of model server must hold, each with what has to come of it.

`hold` has one conversation on a stage and returns how many calls of the model it takes.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from bot.app import App
from bot.chat import Author, ChannelRef
from bot.llm.model import Finish, Image, ModelMessage, ModelRequest, ToolCall
from bot.llm.wire import IMAGE_NOTE
from bot.testing import FakeAdapter, make_author, make_channel, make_inbound
from tests.conftest import MakeApp
from tests.emulators.openai.harness import Bench, assistant, system, tool, user
from tests.emulators.openai.profiles import FORBIDDEN, Profile
from tests.emulators.openai.script import Call, Request, Say, text_of

TEXT = "Grüße, 世界! I said `x < 3` & meant it."
SECRET = "nobody must see this plan"
MOOD = {"mood": "fine", "facts": ["likes tea"]}
SCHEMA = {
    "type": "object",
    "properties": {"mood": {"type": "string"}, "facts": {"type": "array", "items": {"type": "string"}}},
    "required": ["mood", "facts"],
    "additionalProperties": False,
}
ZONES = ("Asia/Tokyo", "Europe/Berlin", "UTC")
TIMES = [
    "Sunday, 2026-11-01 21:00 (Asia/Tokyo, UTC+0900)",
    "Sunday, 2026-11-01 13:00 (Europe/Berlin, UTC+0100)",
    "Sunday, 2026-11-01 12:00 (UTC, UTC+0000)",
]
GUESSES = ("The cat is Tom, I think.", "What is it called?", "I say Tom.")
DOUBTS = ("Or Tim.", "Are you sure?", "Quite sure.")
CHANNELS = itertools.count(1)


@dataclass(kw_only=True)
class Stage:
    """A server that behaves like a profile, our client before it, and on demand the whole bot."""

    profile: Profile
    bench: Bench
    make_app: MakeApp
    _bot: Bot | None = field(default=None)

    async def ask(self, *messages: ModelMessage, **more: Any) -> tuple[list[str], Any]:
        """One request to the client alone, with everything in it that a server may refuse."""
        return await self.bench.ask(self.request(*messages, **more))

    def request(self, *messages: ModelMessage, **more: Any) -> ModelRequest:
        model = f"test/{self.profile.model}"
        said = (system("You are Luna."), *messages)
        return ModelRequest(
            model=model, messages=said, **{"max_output_tokens": 100, "stop": ("\nBob:",), "thinking": True, **more}
        )

    async def bot(self, **settings: Any) -> Bot:
        """The bot, started at the first use: one persona that greets, tools, reasoning on."""
        if self._bot is None:
            adapter = FakeAdapter(streams=True)
            model = f"test/{self.profile.model}"
            given = {"thinking": True, "model_name": model, **settings}
            app = await self.make_app(model=self.bench.model, adapter=adapter, **given)
            self._bot = Bot(app=app, adapter=adapter)
        return self._bot

    def heard(self, shown: str, text: str) -> bool:
        """Whether people were shown the text, marked as unfinished where the server never says that it is (L22)."""
        says_so = self.profile.finishes.get("stop", "stop") is not None
        return shown == text if says_so else shown.startswith(f"{text} …")

    @property
    def last(self) -> Request:
        return self.bench.openai.last


@dataclass(kw_only=True)
class Bot:
    """The whole bot, and what people see of it."""

    app: App
    adapter: FakeAdapter

    async def hear(self, text: str, channel: ChannelRef, author: Author, **more: Any) -> list[str]:
        """Somebody says something; the texts that were shown until everything was quiet again."""
        before = len(self.adapter.replies)
        await self.app.pipeline.deliver(make_inbound(text, channel=channel, author=author, **more))
        await self.app.dispatcher.idle()
        return [reply.text for reply in self.adapter.replies[before:]]


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """`model` is what the model behind the server says; `hold` asserts what has to come of it."""

    name: str
    model: Callable[[Request], Say]
    hold: Callable[[Stage], Awaitable[int]]


def in_order(request: Request, lines: list[str]) -> None:
    """All the lines are in the prompt, each once, one after the other."""
    text, position = "\n".join(text_of(message) for message in request.messages), -1
    for line in lines:
        assert text.count(line) == 1, line
        assert position < text.index(line), f"{line} is out of order"
        position = text.index(line)


async def streamed_text(stage: Stage) -> int:
    deltas, completion = await stage.ask(user("Say something."))
    assert "".join(deltas) == completion.text == TEXT
    assert len(deltas) > 1
    assert completion.finish in (Finish.STOP, Finish.INCOMPLETE)
    assert (completion.usage is None) is (stage.profile.usage == "never")
    return 1


async def tools(stage: Stage) -> int:
    """Two rounds of tools, two calls in the first; then a question with that in its history."""
    bot, dm, alice = await stage.bot(), make_channel(f"tools{next(CHANNELS)}", dm=True), make_author("Alice")
    *greeting, answer = await bot.hear("What time is it?", dm, alice)
    assert len(greeting) == 1
    assert stage.heard(answer, "So late." if stage.profile.has_tools else "I have no clock.")
    if stage.profile.has_tools:
        assert stage.last.tool_results == TIMES
        first_round = next(message["tool_calls"] for message in stage.last.messages if "tool_calls" in message)
        assert len({call["id"] for call in first_round}) == 2
    (goodbye,) = await bot.hear("Thanks.", dm, alice)
    assert stage.heard(goodbye, "Bye.")
    in_order(stage.last, [greeting[0], "What time is it?", answer.partition(" …")[0], "Thanks."])
    return 4 if stage.profile.has_tools else 2


def clockwork(request: Request) -> Say:
    done = len(request.tool_results)
    if "Thanks." in request.last_user:
        return Say(text="Bye.")
    if "tools" not in request.body:
        return Say(text="I have no clock.")
    if done == 3:
        return Say(text="So late.")
    zones = ZONES[2:] if done else ZONES[:2]
    asked = [Call(name="current_time", arguments=json.dumps({"timezone": zone}), id=f"call_{zone}") for zone in zones]
    return Say(calls=[replace(call, id=f"c{done + number}") for number, call in enumerate(asked)])


async def reasoning(stage: Stage) -> int:
    """What a model thinks is shown to nobody, and goes back to it where it is needed within a round of tools (L19)."""
    bot, dm, alice = await stage.bot(), make_channel(f"thought{next(CHANNELS)}", dm=True), make_author("Alice")
    *_, answer = await bot.hear("Think hard.", dm, alice)
    assert stage.heard(answer, "Noon.")
    shown = [text for reply in bot.adapter.replies for text in (*reply.shown, reply.text)]
    assert [text for text in shown if "plan" in text or "think" in text.lower()] == []
    return 2 if stage.profile.has_tools else 1


def thinker(request: Request) -> Say:
    if "tools" in request.body and not request.tool_results:
        return Say(reasoning=SECRET, calls=[Call(name="current_time", id="c1")])
    return Say(reasoning=SECRET, text="Noon.")


async def json_result(stage: Stage) -> int:
    _, completion = await stage.ask(user("How is she?"), json_schema=SCHEMA, stop=())
    assert json.loads(completion.text) == MOOD
    asked = stage.last.body.get("response_format", {}).get("type")
    if asked != "json_schema":
        assert all(word in str(stage.last.messages) for word in ("JSON", "facts", "additionalProperties"))
    return 1


async def image(stage: Stage) -> int:
    """Each picture is seen or told of: the answer goes on either way (L23)."""
    one, two = (Image(media_type="image/png", data=data) for data in (b"one", b"two"))
    said = (user("Look", None, one), assistant("Nice."), user("And this?", None, two))
    _, completion = await stage.ask(*said)
    refused = [trait for trait in ("image", "second image") if trait in stage.profile.refuses]
    pictures = {(): 2, ("second image",): 1, ("image",): 0}[tuple(refused)]
    notes = sum(text_of(message).count(IMAGE_NOTE) for message in stage.last.messages)
    assert (completion.text, notes) == (f"I see {pictures}.", 2 - pictures)
    if pictures:
        assert "dHdv" in str(stage.last.messages)  # the newest one
    return 1


def viewer(request: Request) -> Say:
    contents = [message["content"] for message in request.messages if isinstance(message["content"], list)]
    return Say(text=f"I see {sum('image_url' in part for content in contents for part in content)}.")


async def long_history(stage: Stage) -> int:
    """Sixty lines of three, two of whom often speak in a row, and a round of tools from another server, cut short."""
    lines = [f"line {number} of a long talk," for number in range(60)]
    speakers: list[Callable[[str], ModelMessage]] = [
        lambda text: user(text, "Alice"), lambda text: user(text, "Bob"), assistant]  # fmt: skip
    talk = [speakers[number % 3](line) for number, line in enumerate(lines)]
    round_of_old = (assistant("", ToolCall(id="toolu_1", name="clock", arguments="")), tool("noon it was", "toolu_1"))
    _, completion = await stage.ask(*talk, user("Time?", "Bob"), *round_of_old, user("And?", "Alice"))
    assert completion.text == TEXT
    in_order(stage.last, ["You are Luna.", *lines, "Time?", "noon it was", "And?"])
    return 1


async def refusal(stage: Stage) -> int:
    """Declined by the provider: told as such, and not asked again (L12). Declined by the model: an answer."""
    bot, dm, alice = await stage.bot(), make_channel(f"no{next(CHANNELS)}", dm=True), make_author("Alice")
    await bot.hear("Hello.", dm, alice)
    before = len(stage.bench.openai.requests)
    *_, answer = await bot.hear(f"Tell me {FORBIDDEN}.", dm, alice)
    by_provider = bot.app.core.catalogue.text("model-filtered", "en")
    assert answer == ("I had rather not." if stage.profile.declines is None else by_provider)
    asked = [json.dumps(request.body, sort_keys=True) for request in stage.bench.openai.requests[before:]]
    assert len(asked) == len(set(asked)) == 1
    return 2


async def length_stop(stage: Stage) -> int:
    _, completion = await stage.ask(user("Tell me everything."))
    assert (completion.text, completion.finish) == ("Once upon a time there", Finish.LENGTH)
    return 1


async def cancelled(stage: Stage) -> int:
    """After a whole answer, one that nobody waits for: the server is told by the connection."""
    await stage.ask(user("Say something."))
    async with aclosing(stage.bench.model.stream(stage.request(user("Never end.")))) as events:
        await anext(events)
    async with asyncio.timeout(5):
        await stage.last.ended.wait()
    assert stage.last.was_cancelled
    return 2


def endless(request: Request) -> Say:
    return Say(text=TEXT, gate=asyncio.Event() if "Never end." in request.last_user else None)


async def group(stage: Stage) -> int:
    """Two people in a row, twice: everybody keeps their name and their place."""
    bot, room = await stage.bot(), make_channel(f"room{next(CHANNELS)}")
    alice, bob = make_author("Alice"), make_author("Bob")
    for guess, question, answer in (GUESSES, DOUBTS):
        assert await bot.hear(guess, room, bob) == []
        assert stage.heard((await bot.hear(question, room, alice, mentions_me=True))[-1], answer)
    said = [f"Bob: {GUESSES[0]}", f"Alice: {GUESSES[1]}", GUESSES[2], f"Bob: {DOUBTS[0]}", f"Alice: {DOUBTS[1]}"]
    in_order(stage.last, said)
    return 2


def namer(request: Request) -> Say:
    return Say(text=(DOUBTS if DOUBTS[1] in request.last_user else GUESSES)[2])


def talker(_request: Request) -> Say:
    return Say(text=TEXT, reasoning=SECRET)


CONVERSATIONS = (
    Conversation(name="streamed text", model=talker, hold=streamed_text),
    Conversation(name="tools", model=clockwork, hold=tools),
    Conversation(name="reasoning", model=thinker, hold=reasoning),
    Conversation(name="json result", model=lambda _: Say(text=json.dumps(MOOD)), hold=json_result),
    Conversation(name="image", model=viewer, hold=image),
    Conversation(name="long history", model=talker, hold=long_history),
    Conversation(name="two people in a row", model=namer, hold=group),
    Conversation(name="refusal", model=lambda _: Say(text="I had rather not."), hold=refusal),
    Conversation(name="length stop", model=lambda _: Say(text="Once upon a time there", finish="length"),
                 hold=length_stop),
    Conversation(name="cancel", model=endless, hold=cancelled),
)  # fmt: skip

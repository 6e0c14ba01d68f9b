"""Every kind of model server at once, as providers of one bot, each with a model that uses tools."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

from tests.emulators.openai.emulator import OpenAIEmulator
from tests.emulators.openai.profiles import PROFILES, Profile, behaving_like
from tests.emulators.openai.script import Call, Request, Say

QUESTION = "Who was there? And remind me of the tea."
ALONE = {
    "Wait.": Call(name="lab__wait"),
    "Does anybody wait?": Call(name="lab__count_waiting", arguments='{"until": 0}'),
}
"""What its model calls besides where somebody says that: a tool that never ends, and one that ends when none waits."""
REMINDED_AFTER = timedelta(seconds=3)


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """One kind of model server, and what comes of the question there."""

    number: int
    profile: Profile

    @property
    def provider(self) -> str:
        """Its name in the settings: one that says nothing of whose server it is."""
        return f"kind{self.number}"

    @property
    def model(self) -> str:
        """The full name of its model."""
        return f"{self.provider}/{self.profile.model}"

    @property
    def place(self) -> str:
        """Where people talk to it."""
        return f"room-{self.number}"

    @property
    def has_tools(self) -> bool:
        """Whether its models can call tools."""
        return self.profile.has_tools

    @property
    def reminder(self) -> str:
        """What somebody is reminded of."""
        return f"tea {self.number}"

    def shows(self, text: str) -> bool:
        """Whether this is the answer; where a server never says that it is at its end, it is marked so (L22)."""
        answer = f"Ada was in {self.place} and Bo was in {self.place}." if self.has_tools else "I cannot know."
        says_so = self.profile.finishes.get("stop", "stop") is not None
        return text == answer if says_so else text.startswith(answer)

    def answer(self, zone: str, request: Request) -> Say:
        """Two tools at once, then a reminder by the clock on the wall, then what the tools said."""
        if "tools" not in request.body:
            return Say(text="I cannot know.")
        results = request.tool_results
        if alone := next((call for word, call in ALONE.items() if word in request.last_user), None):
            return Say(text=results[0]) if results else Say(calls=[alone])
        if not results:
            names = ("Ada", "Bo")
            given = [json.dumps({"name": name, "place": f"in {self.place}"}) for name in names]
            return Say(calls=[Call(name="lab__meet", arguments=one, id=f"c{at}") for at, one in enumerate(given)])
        if len(results) == 2:
            wall = datetime.now(ZoneInfo(zone)).replace(tzinfo=None, microsecond=0) + REMINDED_AFTER
            when = {"text": self.reminder, "when": wall.isoformat(" ")}
            return Say(calls=[Call(name="remind_me", arguments=json.dumps(when), id="c2")])
        assert zone in results[2], results[2]
        return Say(text=f"{results[0]} and {results[1]}.")


@dataclass(frozen=True, slots=True)
class Kinds:
    """All of them, each served."""

    served: dict[Kind, OpenAIEmulator]
    zone: str

    def __iter__(self) -> Iterator[Kind]:
        return iter(self.served)

    @property
    def settings(self) -> dict[str, str]:
        """What joins a bot to them."""
        addresses = {f"PROVIDERS__{kind.provider.upper()}__BASE_URL": it.base_url for kind, it in self.served.items()}
        return {**addresses, "TIMEZONE": self.zone}


@asynccontextmanager
async def every_kind(zone: str) -> AsyncIterator[Kinds]:
    """They serve inside. Their models read the clocks of `zone`."""
    async with AsyncExitStack() as stack:
        served: dict[Kind, OpenAIEmulator] = {}
        for number, profile in enumerate(PROFILES):
            kind = Kind(number, profile)
            script = behaving_like(profile, partial(kind.answer, zone))
            server = OpenAIEmulator(script, models=[profile.model], write_bytes=profile.write_bytes)
            served[kind] = await stack.enter_async_context(server)
        yield Kinds(served, zone)

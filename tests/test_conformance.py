"""Every kind of model server holds every conversation, and after the first time without a request too many."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bot.llm.model import ContextTooLong, ModelError
from tests.conftest import MakeApp
from tests.conversations import CONVERSATIONS, Conversation, Stage, talker
from tests.emulators.openai.harness import bench, user
from tests.emulators.openai.profiles import PROFILES, Profile, behaving_like
from tests.emulators.openai.script import Chooser

each_profile = pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
each_conversation = pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda one: one.name)


@asynccontextmanager
async def staged(profile: Profile, script: Chooser, make_app: MakeApp, **provider: float) -> AsyncIterator[Stage]:
    parameters = {"temperature": 0.8, "top_k": 40}
    async with bench(script, write_bytes=profile.write_bytes, parameters=parameters, **provider) as it:
        yield Stage(profile=profile, bench=it, make_app=make_app)


@each_profile
@each_conversation
async def test_every_server_holds_every_conversation(
    profile: Profile, conversation: Conversation, make_app: MakeApp
) -> None:
    async with staged(profile, behaving_like(profile, conversation.model), make_app) as stage:
        await conversation.hold(stage)
        taught = len(stage.bench.openai.requests)
        calls = await conversation.hold(stage)
        assert len(stage.bench.openai.requests) - taught == calls, "what a server cannot take is learned once"


@pytest.mark.parametrize("profile", [one for one in PROFILES if one.overflow], ids=lambda profile: profile.name)
async def test_M17_every_server_that_says_so_is_understood_when_a_prompt_does_not_fit(
    profile: Profile, make_app: MakeApp
) -> None:
    async with staged(profile, behaving_like(profile, talker), make_app) as stage:
        await stage.ask(user("Hi"))
        with pytest.raises(ContextTooLong) as caught:
            await stage.ask(user("word " * (profile.window + 1)))
    assert profile.overflow is not None
    if "{limit}" in profile.overflow.words:
        assert caught.value.limit == profile.window
        assert (caught.value.given or 0) > profile.window
    assert isinstance(caught.value, ModelError)

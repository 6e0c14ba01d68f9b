"""What Discord hands out while we run, the tokens of webhooks and interactions, is in no log and no error (X01)."""

from __future__ import annotations

import io
import logging
import traceback
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import pytest

from adapters.discord.parts import Part
from adapters.pacing import Refused, Uncertain, Unreachable, Wait
from bot.chat import Speaker
from bot.telemetry import setup_logging
from tests.emulators.discord.harness import Scene, staged

MIRA = Speaker(persona_id="mira", name="Mira")
FAULTS: list[dict[str, Any]] = [
    {"status": 400},
    {"status": 403, "body": {"code": 50013, "message": "no"}},
    {"status": 404, "body": {"code": 10015, "message": "Unknown Webhook"}},
    {"status": 429, "body": {"retry_after": 900.0, "message": "slow down", "global": False}},
    {"status": 429, "body": {"retry_after": 0.0, "message": "slow down", "global": True}},
    {"status": 429, "headers": {"Via": "", "Retry-After": "40"}},
    {"drop": True},
]


async def failure(act: Awaitable[object]) -> str:
    """All that is told of what went wrong, if anything did."""
    try:
        await act
    except (Wait, Refused, Uncertain, Unreachable) as error:
        return repr(error) + "".join(traceback.format_exception(error))
    return ""


async def failures(scene: Scene, by: str) -> AsyncIterator[str]:
    """What is told when sends, edits and deletions fail in every way."""
    for fault in FAULTS:
        inbound = await (scene.asked() if by == "webhook" else scene.commanded("retry"))
        transport = scene.transport(inbound, speaker=MIRA if by == "webhook" else None)
        message_id = await transport.send(Part(text="before"), 0)
        edit, delete = transport.edit(message_id, Part(text="x"), 0), transport.delete(message_id)
        for act in (edit, delete, transport.send(Part(text="x"), 1)):
            scene.emulator.fault("*", "/webhooks/*/*", **fault)
            yield await failure(act)
            scene.emulator.rules.clear()


@pytest.fixture
def log(logging_as_before: None) -> io.StringIO:
    """What the operator would read, and all that the library tells of webhooks, which nobody asks it for."""
    stream = io.StringIO()
    setup_logging(form="text", level="debug", stream=stream)
    for name in ("", "discord.webhook.async_"):
        logging.getLogger(name).setLevel(logging.DEBUG)
    return stream


@pytest.mark.parametrize("by", ["webhook", "interaction"])
async def test_X01_no_token_of_a_webhook_or_an_interaction_is_told(log: io.StringIO, by: str) -> None:
    async with staged() as scene:
        told = [text async for text in failures(scene, by)]
        paths = [request.path.split("/") for request in scene.emulator.requests]
        used = {path[3] for path in paths if path[1] == "webhooks"}
    assert len([text for text in told if text]) >= len(FAULTS)
    assert used
    assert "/webhooks/" in log.getvalue(), "the addresses were told"
    for token in used:
        assert token not in log.getvalue() + "".join(told)

"""Which persona has a face of its own: every one but the one that a platform knows the bot by."""

from __future__ import annotations

from typing import Any

import pytest

from bot.chat import Speaker
from tests.conftest import MakeApp
from tests.talking import GROUP, open_chat


@pytest.mark.parametrize(
    ("settings", "chosen", "face"),
    [
        ({}, "bryony", None),
        ({}, "thrupp", "thrupp"),
        ({}, "none", None),
        ({"persona": "thrupp"}, "bryony", "bryony"),
        ({"persona": "none"}, "bryony", "bryony"),
        ({"profiles": {"fake": {"persona": "thrupp"}}}, "thrupp", None),
    ],
)
async def test_a_persona_other_than_the_platforms_own_has_a_face(
    make_app: MakeApp, settings: dict[str, Any], chosen: str, face: str | None
) -> None:
    chat = await open_chat(make_app, **settings, access={"admins": ["fake:alice"]})
    await chat.choose("persona use", channel=GROUP, persona=chosen)
    was_speaker = chat.last_reply.speaker
    await chat.say("hello", channel=GROUP)
    persona = chat.app.core.library.get(face) if face else None
    expected = Speaker(persona_id=persona.id, name=persona.name) if persona else None
    assert (was_speaker, chat.last_reply.speaker) == (None, expected), "a command is answered by the bot itself"

"""People on Discord read and change what a running bot remembers, on the wire: menu, completion, buttons, a file."""

from __future__ import annotations

import pytest

from tests.scenarios.discord_lab import DiscordLab, Spot

pytestmark = [
    pytest.mark.wire,
    pytest.mark.xdist_group("wire-discord-commands"),
    pytest.mark.asyncio(loop_scope="module"),
]


async def test_people_see_change_clear_and_take_along_what_is_remembered(lab: DiscordLab, spot: Spot) -> None:
    added = await spot.slash(lab.bob, "memory add", kind="fact", text="likes tea")
    assert lab.is_private(added)
    number = lab.told(added).split()[3].rstrip(":")
    assert lab.told(added) == f"Written down as {number}: Bob: likes tea"
    await spot.ask(lab.bob, "what do I like?")
    await spot.says(lambda text: "what do I like?" in text)
    assert "Bob: likes tea" in lab.model.last.system
    told = lab.told(await spot.slash(lab.alice, "memory list"))
    assert f"**About Bob**\n- `{number}` Bob: likes tea" in told
    pinned = await spot.slash(lab.bob, "memory pin", item=f"{number} · Bob: likes tea")
    assert lab.told(pinned).startswith("Pinned")
    exported = await spot.slash(lab.bob, "memory export")
    assert lab.told(exported) == "All I remember here: 1 item."
    asked = await spot.slash(lab.alice, "memory clear", what="facts")
    assert lab.told(asked).startswith("Shall I forget this? 1 fact about people.")
    done = await spot.slash(lab.alice, "memory clear", what="facts", yes=True)
    assert lab.told(done).startswith("Forgotten: 1 item.")
    await spot.ask(lab.bob, "and now?")
    await spot.says(lambda text: "and now?" in text)
    assert "likes tea" not in lab.model.last.system

"""People on Discord look at personas, edit one by a form and choose a greeting, on the wire."""

from __future__ import annotations

import json

import pytest
from simcord.results import InteractionResult, ResponseMessage

from bot.personas.formats import read_file, write_png
from tests.emulators.openai.script import Call, Request, Say
from tests.scenarios.discord_lab import DiscordLab, Spot

pytestmark = [
    pytest.mark.wire,
    pytest.mark.xdist_group("wire-discord-commands"),
    pytest.mark.asyncio(loop_scope="module"),
]


def card(name: str, **more: object) -> bytes:
    said = {"name": name, "description": f"{name} keeps a lighthouse.", "first_mes": f"{name} is here.", **more}
    return write_png(read_file(json.dumps(said).encode()).card, None)


async def bring(spot: Spot, name: str, **more: object) -> str:
    """Let Alice import a card; returns its id."""
    kept = await spot.slash(spot.lab.alice, "persona import", file=(f"{name}.png", card(name, **more)), yes=True)
    return spot.lab.told(kept).split(", as ")[1].split(".")[0].strip("*` ")


def shown(result: InteractionResult) -> ResponseMessage:
    return [answer for answer in (result.response, *result.followups) if answer][-1]


def fields_of(opener: InteractionResult) -> list[dict[str, str]]:
    assert opener.modal is not None
    return [row["components"][0] for row in opener.modal["components"]]


async def opened(spot: Spot, opener: InteractionResult) -> list[str]:
    """Wait for the form, and give the labels of its fields."""
    await spot.lab.discord.requests.first(lambda _: opener.modal is not None)
    return [field["label"] for field in fields_of(opener)]


async def sent(spot: Spot, opener: InteractionResult, **values: str) -> InteractionResult:
    """Send a form as a client does, with some fields changed, and have its answer."""
    requests, mark = spot.lab.discord.requests, spot.lab.discord.requests.mark()
    fields = fields_of(opener)
    written = {field["custom_id"]: values.get(field["label"], field.get("value", "")) for field in fields}
    result = await spot.lab.alice.submit_modal(opener, written)
    await requests.first(lambda request: request.path.startswith("/webhooks/"), after=mark)
    return result


async def test_a_persona_is_shown_with_its_picture_and_the_next_one_in_its_place(lab: DiscordLab, spot: Spot) -> None:
    await bring(spot, "Aaron")
    await bring(spot, "Abel")
    first = await spot.slash(lab.bob, "persona info", persona="Aaron")
    assert lab.told(first).startswith("**Aaron**")
    assert lab.is_private(first)
    assert [file.filename for file in shown(first).attachments] == ["picture.jpg"]
    second = await spot.click(lab.bob, shown(first).message, "Abel ▶")
    assert lab.told(second).startswith("**Abel**")
    assert shown(first).message.id == shown(second).message.id
    assert [file.filename for file in shown(second).attachments] == ["picture.jpg"]


async def test_a_form_is_opened_filled_in_and_taken_back(lab: DiscordLab, spot: Spot) -> None:
    persona_id = await bring(spot, "Mira")
    opener = await lab.alice.slash(spot.channel, "persona edit", persona=persona_id)
    assert await opened(spot, opener) == ["name", "nickname", "description", "personality", "scenario"]
    assert opener.modal is not None
    assert opener.modal["title"] == "Edit Mira"
    answer = await sent(spot, opener, scenario="An island.")
    assert lab.told(answer) == "scenario of **Mira** is changed (version 2)."
    assert lab.is_private(answer)
    more = await lab.alice.click(shown(answer).message, label="More fields…")
    assert (await opened(spot, more))[-1] == "tags"
    answer = await sent(spot, more, tags="calm, wise")
    assert lab.told(answer) == "tags of **Mira** is changed (version 3)."
    told = await spot.slash(lab.alice, "persona info", persona=persona_id)
    assert "- Tags: calm, wise" in lab.told(told)
    undone = await spot.click(lab.alice, shown(answer).message, "Take it back")
    assert "version 4" in lab.told(undone)
    silent = lab.spot("where-nobody-has-spoken")
    opener = await lab.alice.slash(silent.channel, "persona edit", persona=persona_id)
    assert (await opened(silent, opener))[0] == "name"


async def test_who_may_not_edit_gets_no_form_but_is_told_why(lab: DiscordLab, spot: Spot) -> None:
    persona_id = await bring(spot, "Vera")
    refused = await spot.slash(lab.bob, "persona edit", persona=persona_id)
    assert lab.told(refused) == "Only people who manage this chat can change that."
    assert refused.modal is None


async def test_a_greeting_is_chosen_before_anybody_speaks(lab: DiscordLab, spot: Spot) -> None:
    await spot.slash(lab.alice, "persona use", persona=await bring(spot, "Ivo", alternate_greetings=["Fog, {{user}}."]))
    await spot.says(lambda text: "Ivo is here." in text)
    picker = await spot.slash(lab.alice, "persona greeting")
    assert lab.told(picker).startswith("Greeting 1 of 2 of **Ivo**")
    turned = await spot.click(lab.alice, shown(picker).message, "2 ▶")
    assert lab.told(turned).endswith("Fog, Alice.")
    await spot.click(lab.alice, shown(turned).message, "Begin with this one")
    await spot.says(lambda text: "Fog, Alice." in text)
    assert not [post for post in spot.posts if "Ivo is here." in post]


async def test_a_persona_notes_how_it_feels(lab: DiscordLab, spot: Spot) -> None:
    state = {"trust": {"type": "integer", "minimum": 0, "maximum": 10, "default": 3}}
    persona_id = await bring(spot, "Nora", extensions={"familiar": {"state": state}})
    await spot.slash(lab.alice, "persona use", persona=persona_id)

    def script(request: Request) -> Say:
        if request.tool_results:
            return Say(text=f"noted: {request.tool_results[-1]}")
        return Say(calls=(Call(name="set_state", arguments=json.dumps({"trust": 8})),))

    lab.model.script = script
    await spot.ask(lab.bob, "I brought your keys back")
    await spot.says(lambda text: "noted: Your state is now: trust: 8." in text)
    assert "- State: trust: 8" in lab.told(await spot.slash(lab.bob, "persona info", persona=persona_id))

"""Forms on Discord: opened before anything else, filled in, and done without where there is none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from adapters.discord import interactions
from adapters.discord.forms import LABEL_LENGTH, TITLE_LENGTH, filled_in, to_modal
from bot.chat import Button, CommandSpec, Form, FormField, Inbound, InboundKind
from tests.emulators.discord.harness import MENU, Scene, staged

FORM = Form(
    title="Edit Mira " * 9,
    command="persona edit -p mira",
    fields=(
        FormField(key="name:1", label="name", value="Mira", is_required=True),
        FormField(key="scenario:2", label="scenario " * 9, is_long=True),
    ),
)


@pytest.fixture
async def asked() -> list[Inbound]:
    return []


@pytest.fixture
async def scene(asked: list[Inbound]) -> AsyncIterator[Scene]:
    async def ask_form(inbound: Inbound) -> Form | None:
        asked.append(inbound)
        if "slow" in inbound.text:
            await asyncio.Event().wait()
        return None if "none" in inbound.text else FORM

    specs = (*MENU.specs, CommandSpec(path=("edit",), ephemeral=True, opens_form=True))
    async with staged(menu=replace(MENU, specs=specs, ask_form=ask_form)) as scene:
        yield scene


def test_a_form_fits_into_what_discord_takes() -> None:
    modal = to_modal(FORM).to_dict()
    name, scenario = (row["components"][0] for row in modal["components"])
    assert len(modal["title"]) == TITLE_LENGTH
    assert modal["custom_id"] == "familiar:persona edit -p mira"
    assert (name["custom_id"], name["value"], name["required"], name["style"]) == ("name:1", "Mira", True, 1)
    assert (len(scenario["label"]), scenario["required"], scenario["style"]) == (LABEL_LENGTH, False, 2)
    assert "value" not in scenario


def test_what_was_filled_in_is_read_from_rows_and_from_labels() -> None:
    row = {"type": 1, "components": [{"type": 4, "custom_id": "a", "value": "1"}]}
    label = {"type": 18, "component": {"type": 4, "custom_id": "b", "value": None}}
    assert filled_in({"components": [row, label, {"type": 10}]}) == {"a": "1", "b": ""}
    assert filled_in({}) == {}


async def test_D10_a_form_is_the_first_answer_and_what_is_filled_in_is_handed_on(
    scene: Scene, asked: list[Inbound]
) -> None:
    await scene.registered()
    opener = await scene.bob.slash("edit")
    await scene.emulator.requests.first(lambda _: opener.modal is not None)
    assert not opener.deferred
    assert [inbound.command.path for inbound in asked if inbound.command] == [("edit",)]
    assert len(scene.bot.heard) == 0
    answer = await scene.bob.submit_modal(opener, {"name:1": "Mirabel", "scenario:2": "Here."})
    heard = await scene.bot.hears(InboundKind.BUTTON)
    assert (heard.text, heard.filled) == (FORM.command, {"name:1": "Mirabel", "scenario:2": "Here."})
    await scene.bot.reply(heard, "changed")
    assert answer.response
    assert (answer.response.content, answer.response.ephemeral) == ("changed", True)


async def test_a_button_may_open_a_form_and_the_message_under_it_stays(scene: Scene) -> None:
    inbound = await scene.asked()
    await scene.bot.reply(inbound, "Mira", buttons=((Button(label="Edit", command="edit", opens_form=True),),))
    message = scene.channel.history()[-1]
    opener = await scene.alice.click(message, label="Edit")
    await scene.emulator.requests.first(lambda _: opener.modal is not None)
    assert scene.channel.history()[-1].content == "Mira"


@pytest.mark.parametrize("command", ["edit none", "edit slow"])
async def test_where_no_form_comes_in_time_the_command_runs_without(
    scene: Scene, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interactions, "FORM_SECONDS", 0.05)
    inbound = await scene.asked()
    await scene.bot.reply(inbound, "Mira", buttons=((Button(label="Edit", command=command, opens_form=True),),))
    pressed = await scene.alice.click(scene.channel.history()[-1], label="Edit")
    heard = await scene.bot.hears(InboundKind.BUTTON)
    assert (heard.text, heard.filled) == (command, None)
    assert pressed.acknowledged

"""People on Discord use the commands of a running bot, on the wire: who may, completion, deferral, pages."""

from __future__ import annotations

import asyncio

import pytest

from tests.emulators.openai.script import Say
from tests.scenarios.discord_lab import KEY, DiscordLab, Spot

pytestmark = [
    pytest.mark.wire,
    pytest.mark.xdist_group("wire-discord-commands"),
    pytest.mark.asyncio(loop_scope="module"),
]

NEEDS_RIGHTS = "Only people who manage this chat can change that."
NOT_OPEN = "Sorry, I'm not open to you here. That is up to the person who runs me."


async def test_X02_X03_only_those_who_manage_a_channel_switch_its_persona(lab: DiscordLab, spot: Spot) -> None:
    mallory = lab.guild.add_member(lab.discord.world.create_user("mallory", global_name="Alice"))
    await lab.alice.send(spot.channel, "/persona use bryony")  # meant for nobody, as it mentions nobody
    for stranger in (lab.bob, mallory):
        refused = await spot.slash(stranger, "persona use", persona="bryony")
        assert (lab.told(refused), lab.is_private(refused)) == (NEEDS_RIGHTS, True)
    await spot.ask(lab.bob, "/persona use bryony")
    button = await spot.says(NEEDS_RIGHTS)
    spot.put_button(button, "Switch", "persona use bryony")
    refused = await spot.click(lab.bob, spot.messages[-1], "Switch")
    assert (lab.told(refused), lab.is_private(refused)) == (NEEDS_RIGHTS, True)
    assert spot.posts == [NEEDS_RIGHTS]
    await spot.ask(lab.bob, "who are you?")
    await spot.says("answer to: Bob: who are you?")
    assert "Bryony" not in lab.model.last.system
    switched = await spot.slash(lab.alice, "persona use", persona="Bryony")
    assert (lab.told(switched), lab.is_private(switched)) == ("From now on **Bryony** speaks here.", False)
    await spot.ask(lab.bob, "and now?")
    await spot.says(lambda text: "and now?" in text)
    assert "You are Bryony." in lab.model.last.system
    assert not any("persona" in line or "Only people" in line for line in lab.heard())


async def test_X02_somebody_denied_is_refused_on_every_path(lab: DiscordLab, spot: Spot) -> None:
    await spot.ask(lab.bob, "hi")
    await spot.says("answer to: Bob: hi")
    asked = len(lab.model.requests)
    for name in ("persona list", "reset", "retry"):
        refused = await spot.slash(lab.carol, name)
        assert (lab.told(refused), lab.is_private(refused)) == (NOT_OPEN, True)
    spot.put_button(await spot.says("answer to: Bob: hi"), "Again", "retry")
    refused = await spot.click(lab.carol, spot.messages[-1], "Again")
    assert (lab.told(refused), lab.is_private(refused)) == (NOT_OPEN, True)
    await spot.ask(lab.carol, "hi")
    await spot.ask(lab.carol, "/reset")
    await lab.carol.user.send_dm("hi")
    await lab.alice.autocomplete(spot.channel, "persona use", "persona", "br")
    await spot.ask(lab.bob, "still there?")
    await spot.says("answer to: Bob: still there?")
    assert len(lab.model.requests) == asked + 1
    assert lab.heard() == ["Bob: hi", "answer to: Bob: hi", "Bob: still there?"]


@pytest.mark.parametrize(
    ("command", "option", "typed", "offered"),
    [
        ("persona use", "persona", "bry", ["Bryony"]),
        ("session set", "key", "timez", ["timezone"]),
        ("session set", "value", "Europe/Berl", ["Europe/Berlin"]),
        ("session set", "model", "m0", [f"lab/m{number:02}" for number in range(10)]),
    ],
)
async def test_options_are_completed_while_they_are_typed(
    lab: DiscordLab, spot: Spot, command: str, option: str, typed: str, offered: list[str]
) -> None:
    await lab.registered()
    mark = lab.discord.requests.mark()
    await lab.bob.autocomplete(spot.channel, command, option, typed)
    answer = await lab.discord.requests.first(lambda request: request.path.endswith("/callback"), after=mark)
    assert [choice["value"] for choice in answer.body["data"]["choices"]] == offered


async def test_commands_have_chinese_names_in_the_menu_and_as_text(lab: DiscordLab, spot: Spot) -> None:
    await lab.registered()
    names = {
        name: command["name_localizations"] for (name, _), command in lab.discord.world.backend.commands[None].items()
    }
    assert names["persona"] == {"zh-CN": "角色", "zh-TW": "角色"}
    assert names["stop"] == {"zh-CN": "停止", "zh-TW": "停止"}
    await spot.ask(lab.alice, "/角色 使用 东坡")
    await spot.says(lambda text: text.startswith("From now on **东坡** speaks here."))


async def test_D10_a_command_is_deferred_before_its_slow_answer_is_made(lab: DiscordLab, spot: Spot) -> None:
    await spot.ask(lab.bob, "hi")
    await spot.says("answer to: Bob: hi")
    gate, asked = asyncio.Event(), len(lab.model.requests)
    lab.model.queue(Say(text="Second thoughts.", gate=gate))
    result = await lab.bob.slash(spot.channel, "retry")
    await lab.model.request(asked + 1)
    assert result.deferred
    gate.set()
    await spot.says("Second thoughts.")
    assert lab.told(result) == "Second thoughts."
    assert spot.posts == ["Second thoughts."]


async def test_D10_a_command_whose_deferral_came_too_late_costs_nothing(lab: DiscordLab, spot: Spot) -> None:
    await spot.ask(lab.bob, "hi")
    await spot.says("answer to: Bob: hi")
    asked = len(lab.model.requests)
    lab.discord.fault("POST", "*/callback", status=404, body={"code": 10062, "message": "Unknown interaction"})
    await lab.bob.slash(spot.channel, "retry")
    await spot.ask(lab.bob, "again")
    await spot.says("answer to: Bob: again")
    assert len(lab.model.requests) == asked + 1


async def test_D10_a_deferral_whose_answer_is_stopped_is_taken_back(lab: DiscordLab, spot: Spot) -> None:
    await spot.ask(lab.bob, "hi")
    await spot.says("answer to: Bob: hi")
    asked = len(lab.model.requests)
    lab.model.queue(Say(text="never said", gate=asyncio.Event()))
    await lab.bob.slash(spot.channel, "retry")
    await lab.model.request(asked + 1)
    requests, mark = lab.discord.requests, lab.discord.requests.mark()
    stopped = await spot.slash(lab.bob, "stop")
    assert lab.told(stopped) == "Stopped."
    await requests.first(lambda request: request.is_for("DELETE", "*/@original"), after=mark)
    assert spot.posts == ["Stopped."]


async def test_lists_are_turned_by_their_buttons(lab: DiscordLab, spot: Spot) -> None:
    listed = await spot.slash(lab.bob, "model list")
    assert "lab/m00" in lab.told(listed)
    assert "Page 1 of 3" in lab.told(listed)
    turned = await spot.click(lab.bob, listed.response, "2 ▶")
    await spot.click(lab.bob, turned.response, "3 ▶")
    assert "Page 3 of 3" in lab.told(listed)
    assert "lab/m18" in lab.told(listed)
    assert lab.is_private(listed)
    personas = await spot.slash(lab.bob, "persona list")
    assert "**Bryony** (bryony)" in lab.told(personas)


async def test_X13_strangers_learn_nothing_of_the_host(lab: DiscordLab, spot: Spot) -> None:
    results = [await spot.slash(lab.bob, name) for name in ("help", "status", "session show", "model info")]
    told = "\n".join(map(lab.told, results))
    assert all(map(lab.is_private, results))
    for secret in ("127.0.0.1", KEY, lab.discord.token, str(lab.folder), "familiar.db"):
        assert secret not in told

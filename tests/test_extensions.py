"""How extensions are found and loaded, what stops the start, and what a broken one cannot take down."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.app.host import FAULT
from bot.app.named import checked_settings
from bot.cli.doctor import platform_findings
from bot.cli.extended import brings_platform, extension_findings
from bot.env import SettingsError
from bot.extensions import find_modules
from bot.guard import MOST_LATE
from bot.llm.model import ModelUnreachable, ToolCall
from bot.settings import Settings
from bot.store import ledger
from bot.testing import Reply, ScriptedModel
from tests.conftest import Extend, MakeApp
from tests.folding import GIST
from tests.talking import open_chat

GREETER = """
from bot.chat import CommandSpec, Outbound
from bot.commands.command import Command

async def answer(call, desk):
    return Outbound(text="{text}")

COMMANDS = (Command(spec=CommandSpec(path=("{name}",)), run=answer),)
"""

BROKEN = """
import asyncio
from bot.chat import CommandSpec
from bot.commands.command import Command
from bot.hooks import Hooks
from bot.llm.model import ToolSpec
from bot.prompt.sections import Section, Slot
from bot.tools import Tool

async def broken(*_):
    {fault}

HOOKS = Hooks(**{{name: broken for name in Hooks.__slots__ if name not in ("seconds", "summarise")}}, seconds=0.01)
SECTIONS = (Section(name="broken", slot=Slot.STABLE, build=broken),)
TOOLS = (Tool(spec=ToolSpec(name="broken", description="Breaks.", parameters={{"type": "object"}}), run=broken),)
COMMANDS = (Command(spec=CommandSpec(path=("broken",)), run=broken),)
"""


def refused(*names: str) -> str:
    with pytest.raises(SettingsError) as told:
        find_modules(names)
    return str(told.value)


async def test_a_module_in_the_working_directory_is_found_and_named_extensions_keep_their_order(
    make_app: MakeApp, extend: Extend
) -> None:
    names = [extend(name, GREETER.format(name=name, text=f"I am {name}.")) for name in ("zoe", "abe")]
    chat = await open_chat(make_app, extensions=names)
    assert [name for name, _ in chat.app.core.added.extensions] == names
    assert await chat.say("/abe") == ["I am abe."]
    assert "`/zoe` – zoe" in (await chat.say("/help"))[0]


async def test_an_installed_package_registers_itself(
    make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extend: Extend
) -> None:
    extend("parrot_extension", GREETER.format(name="parrot", text="Squawk."))
    info = tmp_path / "parrot-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parrot\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[familiar.extensions]\nparrot = parrot_extension\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    chat = await open_chat(make_app)
    assert await chat.say("/parrot") == ["Squawk."]
    assert [name for name, _ in chat.app.core.added.extensions] == ["parrot"]
    again = find_modules(("parrot_extension",))
    assert [*again] == ["parrot_extension"]


def test_every_module_that_cannot_be_imported_is_told_at_once_in_words(extend: Extend) -> None:
    broken = extend("broken_one", "import no_such_library")
    told = refused(broken, "no.such.module")
    assert "EXTENSIONS names broken_one, which cannot be imported: ModuleNotFoundError: No module named" in told
    assert "EXTENSIONS names no.such.module, which cannot be imported" in told
    assert "put it into the working directory, or leave it out" in told


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("TOOLS = 'roll_dice'", "odd: TOOLS must be a tuple of Tool, and holds str"),
        ("SECTIONS = ('text',)", "odd: SECTIONS must be a tuple of Section, and holds str"),
        ("HOOKS = {'on_inbound': print}", "odd: HOOKS must be Hooks(...), and is dict"),
        (
            "from bot.hooks import Hooks\nHOOKS = Hooks(on_inbound='x')",
            "HOOKS must hold functions, and on_inbound is none",
        ),
        ("TEXTS = 5", "odd: TEXTS must be a table"),
        ("def extend(host): return 5", "odd.extend() must return an Extension, and returns int"),
        ("def extend(host): raise KeyError('x')", "odd.extend() failed: KeyError: 'x'. Mend it, or leave it out"),
        ("from bot.tools import TOOLS", "odd brings the tool current_time, which the bot has already"),
        ("from bot.commands.privacy import PRIVACY_COMMANDS as COMMANDS", "odd brings the command /privacy show"),
        ("from bot.prompt.sections import SECTIONS", "odd brings the section persona, which the bot has already"),
    ],
)
async def test_what_is_not_as_it_should_be_stops_the_start(
    make_app: MakeApp, extend: Extend, code: str, problem: str
) -> None:
    with pytest.raises(SettingsError) as told:
        await open_chat(make_app, extensions=[extend("odd", code)])
    assert problem in str(told.value)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("import no_such_library", "EXTENSIONS names odd, which cannot be imported"),
        ("raise SystemExit(3)", "EXTENSIONS names odd, which cannot be imported: SystemExit: 3"),
        ("TOOLS = 'roll_dice'", "odd: TOOLS must be a tuple of Tool, and holds str"),
        ("from bot.tools import TOOLS", "odd brings the tool current_time, which the bot has already"),
    ],
)
def test_what_is_wrong_before_anything_runs_is_told_with_the_other_faults_of_the_settings(
    extend: Extend, code: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTENSIONS", extend("odd", f"{code}\ndef extend(host): raise AssertionError"))
    monkeypatch.setenv("CONTEXT_TOKENS", "many")
    with pytest.raises(SettingsError) as told:
        checked_settings(None)
    first, *others = told.value.problems
    assert first == "CONTEXT_TOKENS must be a whole number"
    assert problem in others[0]


@pytest.mark.parametrize(
    "fault", ["raise RuntimeError('what I was told')", "await asyncio.Event().wait()", "return 42"]
)
async def test_one_that_fails_everywhere_takes_nothing_down_and_is_told_once_by_name(
    make_app: MakeApp, extend: Extend, fault: str
) -> None:
    calls = (ToolCall(id="1", name="broken", arguments="{}"), ToolCall(id="2", name="roll_dice", arguments="{}"))
    is_hanging = "wait()" in fault  # tools and commands have a minute: they are left out
    model = ScriptedModel(["All is well."] if is_hanging else [Reply(text="", tool_calls=calls), "All is well."])
    names = [extend("clumsy", BROKEN.format(fault=fault))]
    chat = await open_chat(make_app, extensions=names, model=model, section_timeout_ms=10)
    with capture_logs() as logs:
        if not is_hanging:
            assert (await chat.say("hello"))[-1] == "All is well."
            assert model.requests[-1].messages[-2].text == "Error: The tool failed. Go on without it."
            assert await chat.say("/broken") == [chat.app.core.catalogue.text("error-internal", "en")]
        for _ in range(MOST_LATE + 1):
            assert (await chat.say("once more"))[-1] == "All is well."
    told = [log["what"] for log in logs if log["event"] == "extension.failed"]
    assert len(told) == len(set(told)) >= 5
    assert {log["extension"] for log in logs if log["event"] == "extension.failed"} == {"clumsy"}
    assert "section broken" in told
    assert [log for log in logs if log["event"] in ("pipeline.failed", "turn.broken", "turn.failed")] == []
    given_up = {log["what"] for log in logs if log["event"] == "extension.given_up"}
    assert ("before_reply" in given_up) == is_hanging


async def test_a_section_is_cut_to_its_budget_and_never_stands_in_the_way(make_app: MakeApp, extend: Extend) -> None:
    code = """
from bot.prompt.sections import Section, Slot
async def flood(turn): return "wave " * 50_000
SECTIONS = (
    Section(name="flood", slot=Slot.STABLE, build=flood),
    Section(name="spray", slot=Slot.TAIL, build=flood, budget=30),
)
"""
    chat = await open_chat(make_app, extensions=[extend("sea", code)], memory_token_budget=500)
    await chat.say("hello")
    system, last = chat.model.requests[-1].messages[0].text, chat.last_prompt[-1][1]
    assert 300 < system.count("wave") <= 500
    assert last.startswith("hello\n\nwave")
    assert 15 < last.count("wave") <= 30


async def test_an_extension_asks_a_model_and_for_a_compaction(make_app: MakeApp, extend: Extend) -> None:
    code = """
from bot.chat import CommandSpec, Outbound
from bot.commands.command import Command
from bot.extensions import Extension
from bot.llm.model import ModelMessage, Role

def extend(host):
    async def ask(call, desk):
        asked = [ModelMessage(role=Role.USER, text="What now?")]
        said = await host.ask(call.session, asked, max_tokens=9)
        folded = await host.compact(call.session, focus="boats")
        return Outbound(text=f"{said} {folded} {host.count('three little words')}")
    return Extension(commands=(Command(spec=CommandSpec(path=("oracle",)), run=ask),))
"""
    model = ScriptedModel(["a"] * 6 + ["Wait."], summaries=[GIST])
    chat = await open_chat(make_app, extensions=[extend("oracle", code)], model=model, summary={"keep_recent": 2})
    for text in "abcdef":
        await chat.say(f"{text} and so on, and so forth")
    assert await chat.say("/oracle") == ["Wait. True 3"]
    assert model.requests[-1].max_output_tokens == 9
    assert "Above all, keep what concerns: boats" in model.summaries[-1].messages[-1].text
    purposes = "SELECT purpose, outcome FROM model_call WHERE purpose = 'extension'"
    rows = await chat.app.core.db.read(lambda tx: [tuple(row) for row in tx.exec_driver_sql(purposes)])
    assert rows == [("extension", "stop")]


async def test_a_model_that_cannot_be_asked_is_in_the_ledger_too(make_app: MakeApp, extend: Extend) -> None:
    code = """
from bot.extensions import Extension
from bot.hooks import Hooks

def extend(host):
    async def ask(turn, answered):
        await host.ask(turn.session, [])
    return Extension(hooks=Hooks(after_turn=ask))
"""
    error = ModelUnreachable("test/scripted", "no route")
    model = ScriptedModel(lambda request: Reply(error=error) if not request.messages else "Fine.")
    chat = await open_chat(make_app, extensions=[extend("caller", code)], model=model)
    assert (await chat.say("hello"))[-1] == "Fine."
    purposes = "SELECT purpose, outcome FROM model_call ORDER BY id"
    rows = await chat.app.core.db.run(lambda tx: [tuple(row) for row in tx.exec_driver_sql(purposes)])
    assert rows == [("chat", "stop"), ("extension", "unreachable")]


@pytest.mark.parametrize("value", ["object()", "float('nan')", "'x' * 70_000"])
async def test_what_is_no_json_or_too_large_is_not_kept(make_app: MakeApp, extend: Extend, value: str) -> None:
    code = f"""
from bot.extensions import Extension
from bot.hooks import Hooks

def extend(host):
    async def keep(turn, answered):
        store = host.metadata("hoard", turn.session)
        try:
            await store.put("much", {value})
        except ValueError as error:
            await store.put("problem", str(error))
        await store.put("gone", 1)
        assert await store.drop("gone")
    return Extension(hooks=Hooks(after_turn=keep))
"""
    chat = await open_chat(make_app, extensions=[extend("hoard", code)])
    await chat.say("hello")
    await chat.say("/memory export json")
    assert chat.last_reply.outbound is not None
    assert chat.last_reply.outbound.file is not None
    told = chat.last_reply.outbound.file.text
    assert '"problem"' in told
    assert '"much"' not in told
    assert '"gone"' not in told


async def test_the_doctor_names_what_each_brings_and_how_it_failed(
    make_app: MakeApp, extend: Extend, database_url: str
) -> None:
    names = [extend("clumsy", BROKEN.format(fault="raise RuntimeError('what I was told')"))]
    chat = await open_chat(make_app, extensions=names)
    await chat.say("hello")
    kept = await chat.app.core.db.read(ledger.recall_all, FAULT)
    await chat.app.close()
    assert kept.keys() == {"clumsy"}
    given: dict[str, Any] = {"database_url": database_url, "extensions": names}
    found = await asyncio.to_thread(lambda: [*extension_findings(Settings(**given))])
    assert found[0].message.startswith("tools broken; sections broken; hooks on_inbound, before_turn, before_model")
    assert "has failed since the last start (" in found[1].message
    assert "told" not in found[1].message
    given["extensions"] = ["missing_one"]
    found = await asyncio.to_thread(lambda: [*extension_findings(Settings(**given))])
    assert [finding.severity for finding in found] == ["fault"]


async def test_a_start_forgets_what_failed_before(make_app: MakeApp, extend: Extend) -> None:
    names = [extend("clumsy", BROKEN.format(fault="raise RuntimeError"))]
    chat = await open_chat(make_app, extensions=names)
    await chat.say("hello")
    await chat.app.close()
    chat = await open_chat(make_app)
    assert await chat.app.core.db.read(ledger.recall_all, FAULT) == {}


def test_a_platform_of_an_extension_is_enough_to_run(extend: Extend) -> None:
    name = extend("own_platform", "ADAPTERS = {'own': print}")
    assert brings_platform(Settings(extensions=[name]))
    assert not brings_platform(Settings())


@pytest.mark.parametrize(
    ("brought", "told"),
    [("ADAPTERS = {'own': print}", "only what extensions bring is served"), ("", "only the terminal")],
)
async def test_the_doctor_tells_what_is_served_without_a_token(extend: Extend, brought: str, told: str) -> None:
    settings = Settings(extensions=[extend("own_platform", brought)], database_url="sqlite://")
    (found,) = [finding async for finding in platform_findings(settings)]
    assert told in found.message

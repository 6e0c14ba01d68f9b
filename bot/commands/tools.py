"""/tools: which tools the persona has here and why, switching their groups, and allowing a call that asks first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bot.chat import CommandSpec, OptionSpec, Outbound, ValueQuery
from bot.commands import changes
from bot.commands.changes import FOR, Changes, reach_of, source_of
from bot.commands.command import Call, Command, Desk
from bot.commands.members import OF
from bot.commands.servers import away_line
from bot.commands.tool_rights import find_group, groups_at
from bot.errors import UserError
from bot.model_in_force import model_in_force
from bot.prompt.build import NoRoom
from bot.tools import Tool
from bot.tools.tool import ALL_GROUPS
from bot.turn import Asker

NONE = "–"
"""In place of the tools of a group that has none."""


async def list_tools(call: Call, desk: Desk) -> Outbound:
    """`/tools [-o persona]`: what is on here, what could be, and where that was decided."""
    tools = await _tools_here(call, desk)
    source = desk.text(f"source-{call.settings.source('tool_groups').value}", call.locale)
    on = call.settings.values.tool_groups
    lines = [desk.text("tools-always", call.locale, names=_names(tool for tool in tools if tool.group is None))]
    groups = desk.toolbox.groups()
    for group in groups:
        is_on = group in on or ALL_GROUPS in on
        word = "tools-group-on" if is_on else "tools-group-off"
        away = [*_away(group, call, desk)]
        names = _names(tool for tool in tools if tool.group == group) or ("" if away else NONE)
        told = desk.text(word, call.locale, group=group, names=names, source=source)
        lines.append(" ".join((told.rstrip(), *away)))
    pieces = [desk.text("tools-list", call.locale), "\n".join(f"- {line}" for line in lines)]
    pieces.append(desk.text("tools-switch" if groups else "tools-no-groups", call.locale))
    if missing := [group for group in on if group not in (*groups, ALL_GROUPS)]:
        pieces.append(desk.text("tools-groups-missing", call.locale, groups=", ".join(missing), source=source))
    if left_out := await _left_out(call, desk):
        pieces.append(desk.text("tools-left-out", call.locale, names=", ".join(left_out)))
    model = model_in_force(desk.models, call.settings).name
    if not desk.calls_tools(model):
        pieces.append(desk.text("tools-not-by-model", call.locale, model=model))
    return Outbound(text="\n\n".join(pieces))


async def _left_out(call: Call, desk: Desk) -> Sequence[str]:
    author = call.inbound.author
    try:
        return await desk.gauge.tools_left_out(
            call.session.id, Asker(key=author.key, name=author.name), call.persona_id
        )
    except NoRoom:
        return ()


def _away(group: str, call: Call, desk: Desk) -> Iterator[str]:
    """What is wrong with the servers that bring a group."""
    down = (server for server in desk.servers() if server.group == group and not server.is_connected)
    return (away_line(server, call, desk) for server in down)


async def _tools_here(call: Call, desk: Desk) -> list[Tool]:
    """Those that are there for the persona that speaks here, on or not."""
    author = call.inbound.author
    turn = await desk.gauge.opener.preview(call.session.id, Asker(key=author.key, name=author.name), call.persona_id)
    return [tool for tool in desk.toolbox.tools() if (tool.shaped(turn) if turn else tool.shape is None)]


def _names(tools: Iterable[Tool]) -> str:
    return ", ".join(tool.spec.name for tool in tools)


async def switch_on(call: Call, desk: Desk) -> Outbound:
    """`/tools on GROUP`."""
    groups_there = desk.toolbox.groups()
    if not groups_there:
        raise UserError("tools-no-groups")
    group = _demand_group(groups_there, call)
    before = _groups_before(call, desk)
    groups = (ALL_GROUPS,) if group == ALL_GROUPS else tuple(dict.fromkeys((*before, group)))
    return await _switch(groups, group, "tools-on", call, desk)


async def switch_off(call: Call, desk: Desk) -> Outbound:
    """`/tools off GROUP`: where all are on, all but that one stay on. One that no tool has any more can be left out."""
    before = _groups_before(call, desk)
    group = _demand_group((*desk.toolbox.groups(), *before), call)
    named = desk.toolbox.groups() if ALL_GROUPS in before else before
    groups = () if group == ALL_GROUPS else tuple(one for one in named if one != group)
    return await _switch(groups, group, "tools-off", call, desk)


async def _switch(groups: tuple[str, ...], group: str, told: str, call: Call, desk: Desk) -> Outbound:
    reach = reach_of(call)
    now = await changes.make(Changes(set={"tool_groups": groups}), reach, call, desk)
    own, source = source_of(reach, call.inbound.channel), now.settings.source("tool_groups")
    text = desk.text(f"{told}-all" if group == ALL_GROUPS else told, call.locale, group=group)
    if source is not own:  # something nearer has another word
        where = desk.text(f"source-{source.value}", call.locale)
        text += "\n\n" + desk.text("session-masked", call.locale, key="tool_groups", source=where)
    return Outbound(text=text)


def _groups_before(call: Call, desk: Desk) -> tuple[str, ...]:
    return groups_at(source_of(reach_of(call), call.inbound.channel), call.settings, desk)


def _demand_group(groups: Sequence[str], call: Call) -> str:
    typed = call.options.get(GROUP.name, "")
    if not typed and groups:
        raise UserError("tools-which", names=", ".join(groups))
    return find_group(typed, groups)


async def allow(call: Call, desk: Desk) -> Outbound:
    """`/tools allow`: let the tool run that has asked."""
    return await _answer(call, desk, is_allowed=True)


async def refuse(call: Call, desk: Desk) -> Outbound:
    """`/tools refuse`: do not let it run."""
    return await _answer(call, desk, is_allowed=False)


async def _answer(call: Call, desk: Desk, *, is_allowed: bool) -> Outbound:
    question = desk.approvals.find(call.session.id, call.options.get(TOKEN.name))
    if question is None:
        raise UserError("tools-nothing-asked")
    if question.asker_key != call.inbound.author.key and not await desk.may_manage(call):
        raise UserError("access-not-yours")
    if not desk.approvals.answer(question, is_allowed=is_allowed):
        raise UserError("tools-nothing-asked")
    told = "tools-allowed" if is_allowed else "tools-refused"
    return desk.say(told, call, tool=question.tool, who=call.inbound.author.name)


async def _suggest_groups(desk: Desk, query: ValueQuery) -> Sequence[str]:
    return [group for group in (*desk.toolbox.groups(), ALL_GROUPS) if query.typed.casefold() in group.casefold()]


GROUP = OptionSpec(name="group", completes=True)
TOKEN = OptionSpec(name="question")

TOOL_COMMANDS = (
    Command(spec=CommandSpec(path=("tools", "list"), options=(OF,), ephemeral=True), run=list_tools),
    Command(
        spec=CommandSpec(path=("tools", "on"), options=(GROUP, FOR), manages=True, example="tools on web"),
        run=switch_on,
        suggest=_suggest_groups,
    ),
    Command(
        spec=CommandSpec(path=("tools", "off"), options=(GROUP, FOR), manages=True),
        run=switch_off,
        suggest=_suggest_groups,
    ),
    Command(spec=CommandSpec(path=("tools", "allow"), options=(TOKEN,)), run=allow),
    Command(spec=CommandSpec(path=("tools", "refuse"), options=(TOKEN,)), run=refuse),
)

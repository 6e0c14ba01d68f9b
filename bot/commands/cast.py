"""/cast: the personas that speak in one place together, and the words that call each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bot.cast import Cast, Member, write_cast
from bot.chat import CommandSpec, OptionSpec, Outbound, ValueQuery
from bot.commands import changes
from bot.commands.changes import FOR, Changes, InForce, reach_of
from bot.commands.command import Call, Command, Desk, inert
from bot.commands.keys import find_persona, name_to_type
from bot.commands.members import cast_at, demand_room, story_of
from bot.commands.persona import CHOSEN_PERSONA
from bot.errors import UserError
from bot.personas.library import Persona

MOST_WORDS = 10
"""That call one persona besides its names; ours to choose."""


async def list_cast(call: Call, desk: Desk) -> Outbound:
    """`/cast list`: who speaks here, and what calls each."""
    cast = _cast(call, desk)
    left_out = [_left_out(persona, call, desk) for persona in cast.namesakes]
    if not cast.is_several:
        return Outbound(text="\n".join([desk.text("cast-alone", call.locale), *left_out]))
    lines = [_line(member, member.persona.id == cast.main_id, call, desk) for member in cast.members]
    return Outbound(text="\n".join([desk.text("cast-list", call.locale), *lines, *left_out]))


def _line(member: Member, is_main: bool, call: Call, desk: Desk) -> str:
    mark = f" – {desk.text('cast-main', call.locale)}" if is_main else ""
    words = f" ({inert(', '.join(member.words))})" if member.words else ""
    return f"- **{inert(member.persona.name)}**{words}{mark}"


def _left_out(persona: Persona, call: Call, desk: Desk) -> str:
    return "- " + desk.text("cast-namesake", call.locale, persona=persona.name, id=persona.id)


async def add_to_cast(call: Call, desk: Desk) -> None:
    """`/cast add NAME [-w words]`: one more speaks here, and greets if nobody has heard it. A word has one owner."""
    persona, cast = _chosen(call, desk), _cast(call, desk)
    words = tuple(filter(None, re.split(r"[\s,，、]+", call.options.get(WORDS.name, ""))))[:MOST_WORDS]
    if any(":" in word for word in words):
        raise UserError("cast-word-colon")
    known = cast.member(persona.id)
    if known is not None and not words:
        raise UserError("cast-already", persona=persona.name)
    added = Member(persona=persona, words=words)
    members = [member for member in cast.members if member is not known]
    demand_room(added, members)
    now = await _store([*members, added], cast, call, desk)
    await call.answer(desk.say("cast-added", call, persona=persona.name))
    if known is None:
        await _greet(persona, now, call, desk)


async def _greet(persona: Persona, now: InForce, call: Call, desk: Desk) -> None:
    story = await desk.db.read(story_of, call.session.id, persona.id, now.settings) or now.conversation_id
    user = call.inbound.author.name
    await desk.greeter.greet(now.session, story, persona, user=user, position=call.message_id)


async def remove_from_cast(call: Call, desk: Desk) -> Outbound:
    """`/cast remove NAME`: one speaks here no more; what it remembers stays for its return."""
    persona, cast = _chosen(call, desk), _cast(call, desk)
    if persona.id == cast.main_id:
        raise UserError("cast-is-main", persona=persona.name)
    if cast.member(persona.id) is None and persona not in cast.namesakes:
        raise UserError("cast-not-in", persona=persona.name)
    await _store([member for member in cast.members if member.persona.id != persona.id], cast, call, desk)
    return desk.say("cast-removed", call, persona=persona.name)


async def _store(members: Iterable[Member], cast: Cast, call: Call, desk: Desk) -> InForce:
    entries = write_cast(members, cast.main_id)
    return await changes.make(Changes(set={"cast": entries}), reach_of(call), call, desk)


def _cast(call: Call, desk: Desk) -> Cast:
    return cast_at(call.inbound.channel, call.settings, desk)


def _chosen(call: Call, desk: Desk) -> Persona:
    persona = find_persona(desk.shelf(call), call.options[CHOSEN_PERSONA.name])
    if persona is None:
        raise UserError("persona-which")
    return persona


async def suggest_members(desk: Desk, query: ValueQuery) -> Sequence[str]:
    """Personas that `remove` understands: all that can be seen, as what is in force is not known here."""
    shelf = desk.library.at(query.channel.place_key)
    return [name_to_type(shelf, persona) for persona in shelf.search(query.typed)]


WORDS = OptionSpec(name="words", flag="-w")

CAST_COMMANDS = (
    Command(spec=CommandSpec(path=("cast", "list"), ephemeral=True), run=list_cast),
    Command(
        spec=CommandSpec(path=("cast", "add"), options=(CHOSEN_PERSONA, WORDS, FOR), manages=True),
        run=add_to_cast,
        suggest=suggest_members,
    ),
    Command(
        spec=CommandSpec(path=("cast", "remove"), options=(CHOSEN_PERSONA, FOR), manages=True),
        run=remove_from_cast,
        suggest=suggest_members,
    ),
)

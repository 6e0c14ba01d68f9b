"""Who speaks in a place, how many may, and whom of them a command is about: the option OF, for commands that show or
change what belongs to one persona.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bot.cast import MOST_MEMBERS, Cast, Member, read_cast
from bot.chat import ChannelRef, CommandSpec, OptionSpec, ValueQuery
from bot.commands.command import Call, Desk
from bot.commands.keys import name_to_type
from bot.errors import UserError
from bot.overrides import SessionSettings
from bot.personas.shelf import fold, persona_id_for
from bot.store.conversations import open_conversation
from bot.store.database import Tx
from bot.store.sessions import find_session, load_overrides

OF = OptionSpec(name="of", flag="-o", rest=True, completes=True)
"""Names another one of the cast than the main persona."""


def cast_at(channel: ChannelRef, settings: SessionSettings, desk: Desk) -> Cast:
    """Everybody who speaks in a channel."""
    shelf = desk.library.at(channel.place_key)
    return read_cast(shelf, settings.values, persona_id_for(shelf, settings.values.persona))


def demand_room(added: Member, others: Sequence[Member]) -> None:
    """Make sure that one more can speak beside others.

    Raises:
        UserError: they are too many, or it is called like one of them.
    """
    if len(others) >= MOST_MEMBERS:
        raise UserError("cast-full", most=MOST_MEMBERS)
    for word in (*added.names, *added.words):
        owner = next((member for member in others if member.owns(word)), None)
        if owner is not None:
            raise UserError("cast-word-taken", word=word, persona=owner.persona.name)


async def as_meant(call: Call, spec: CommandSpec, desk: Desk) -> Call:
    """The call as if the persona that OF names spoke here alone, for commands that have that option.

    Raises:
        UserError: none of that name speaks here.
    """
    typed = call.options.get(OF.name) if OF in spec.options else None
    if typed is None:
        return call
    cast = cast_at(call.inbound.channel, call.settings, desk)
    member = cast.meant(typed)
    if member is None:
        names = _as_typed(cast.members)
        raise UserError("cast-of-whom" if names else "persona-nobody", persona=typed, names=names)
    persona_id = member.persona.id
    found = await desk.db.read(story_of, call.session.id, persona_id, call.settings)
    return replace(call, persona_id=persona_id, conversation_id=found or call.conversation_id)


def story_of(tx: Tx, session_id: int, persona_id: str, settings: SessionSettings) -> int | None:
    """The conversation of one of the cast; `None` where all share the current one, or where it never listened."""
    return None if settings.values.persona_switch == "shared" else open_conversation(tx, session_id, persona_id)


def repeated(call: Call) -> str:
    """What a button's command says so that it is about the same persona; "" where that is the main one."""
    return f" {OF.flag} {call.persona_id}" if OF.name in call.options else ""


def told_of(call: Call, desk: Desk) -> str:
    """Whose what is shown is, and how that of the others is had; "" where one speaks alone."""
    cast = cast_at(call.inbound.channel, call.settings, desk)
    shown = cast.member(call.persona_id)
    others = [member for member in cast.members if member is not shown]
    if shown is None or not others or call.settings.values.persona_switch == "shared":
        return ""
    return desk.text("cast-of", call.locale, persona=shown.persona.name, names=_as_typed(others))


def _as_typed(members: Iterable[Member]) -> str:
    """Names with commas between them, in quotes where one of several words needs that before another option."""
    names = (member.persona.name for member in members)
    return ", ".join(f'"{name}"' if " " in name else name for name in names)


async def suggest_members(desk: Desk, query: ValueQuery) -> Sequence[str]:
    """Names for OF: of those who speak where it is typed."""
    settings = await desk.db.read(_settings_at, query.channel, desk)
    wanted, shelf = fold(query.typed), desk.library.at(query.channel.place_key)
    names = [name_to_type(shelf, member.persona) for member in cast_at(query.channel, settings, desk).members]
    return [name for name in names if wanted in fold(name)]


def queried_story(tx: Tx, query: ValueQuery, desk: Desk) -> int | None:
    """The conversation that a command is about while its options are still being typed."""
    session, typed = find_session(tx, query.channel), query.given.get(OF.name)
    if session is None or typed is None:
        return session.conversation_id if session else None
    settings = _settings_at(tx, query.channel, desk)
    member = cast_at(query.channel, settings, desk).meant(typed)
    found = story_of(tx, session.id, member.persona.id, settings) if member else None
    return found or session.conversation_id


def _settings_at(tx: Tx, channel: ChannelRef, desk: Desk) -> SessionSettings:
    return desk.resolver.resolve(channel.platform, load_overrides(tx, channel))

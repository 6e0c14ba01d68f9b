"""Changes what is in force: overrides of a session, of its parent channel or of its place, in one transaction.

Either everything that a command asked for is stored and sound together, or nothing is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bot.cast import read_cast
from bot.chat import ChannelRef, OptionKind, OptionSpec
from bot.commands.command import Call, Desk
from bot.commands.keys import demand_sound
from bot.commands.moderation_rights import demand_moderation
from bot.commands.tool_rights import demand_groups, groups_at
from bot.errors import UserError
from bot.overrides import SessionSettings, Source
from bot.personas.shelf import persona_id_for
from bot.store import answers, conversations, sessions
from bot.store.database import Tx
from bot.store.sessions import SessionRow
from bot.store.tables import Scope


class Reach(StrEnum):
    """For whom a change counts."""

    HERE = "here"
    CHANNEL = "channel"
    """The channel that a thread hangs under; outside threads the same as HERE (D17)."""
    PLACE = "place"


FOR = OptionSpec(name="for", kind=OptionKind.CHOICE, flag="-f", choices=tuple(Reach))
"""The option that commands take a `Reach` from."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """Keys to set to typed values, keys to inherit again, and a new label for the session."""

    set: Mapping[str, Any] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    label: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class InForce:
    """What holds in the session after a change."""

    session: SessionRow
    settings: SessionSettings
    conversation_id: int
    is_fresh: bool
    """Whether nothing has been answered in the conversation yet."""


def reach_of(call: Call) -> Reach:
    """What the option FOR says."""
    return Reach(call.options.get(FOR.name, Reach.HERE))


def source_of(reach: Reach, channel: ChannelRef) -> Source:
    """How a value that was changed for `reach` is called where it counts."""
    if reach is Reach.PLACE:
        return Source.PLACE
    return Source.PARENT if reach is Reach.CHANNEL and channel.thread else Source.SESSION


async def make(changes: Changes, reach: Reach, call: Call, desk: Desk) -> InForce:
    """Store changes; where they change who speaks here, that persona's conversation becomes the current one.

    Raises:
        UserError: the values do not go together, or are not the caller's to change; nothing is stored.
    """
    is_open = desk.policy.access.open_commands
    if reach is Reach.PLACE and not is_open and not await desk.may_manage(call, whole_place=True):
        # Who manages one channel of a guild does not decide for all of them.
        raise UserError("command-needs-rights")
    if groups := changes.set.get("tool_groups"):
        on = groups_at(source_of(reach, call.inbound.channel), call.settings, desk)
        demand_groups(groups, call, desk, already=on)
    await demand_moderation(changes.set, source_of(reach, call.inbound.channel), call, desk)
    return await desk.db.run(_make, changes, reach, call, desk)


def _make(tx: Tx, changes: Changes, reach: Reach, call: Call, desk: Desk) -> InForce:
    channel, source = call.inbound.channel, source_of(reach, call.inbound.channel)
    scope, key = _scope(source, channel)
    for name in changes.unset:
        sessions.unset_override(tx, scope, key, name)
    for name, value in changes.set.items():
        by = call.inbound.author.key
        sessions.set_override(tx, scope, key, name, json.dumps(value), set_by=by, now=call.now)
    if changes.label is not None:
        sessions.set_label(tx, call.session.id, changes.label)
    rows = sessions.load_overrides(tx, channel)
    # What one session changed for itself must not decide what its place may have.
    counts_there = [row for row in rows if _RANKS[row.scope] >= _RANKS[source]]
    changed = {*changes.set, *changes.unset}
    demand_sound(desk.resolver.resolve(channel.platform, counts_there), changed, desk)
    settings = desk.resolver.resolve(channel.platform, rows)
    session = sessions.session_by_id(tx, call.session.id)
    persona_id = persona_id_for(desk.library.at(channel.place_key), settings.values.persona)
    switch = settings.values.persona_switch
    conversation_id = conversations.ensure_conversation(tx, session, persona_id, call.now, switch)
    cast = read_cast(desk.library.at(channel.place_key), settings.values, persona_id)
    conversations.listen_together(tx, session, cast.ids, call.now, switch)
    is_fresh = answers.last_reply(tx, conversation_id) is None
    return InForce(session=session, settings=settings, conversation_id=conversation_id, is_fresh=is_fresh)


def _scope(source: Source, channel: ChannelRef) -> tuple[Scope, str]:
    if source is Source.PLACE:
        return Scope.PLACE, channel.place_key
    return Scope.SESSION, (channel.parent_key if source is Source.PARENT else None) or channel.session_key


_RANKS = {source: rank for rank, source in enumerate(Source)}

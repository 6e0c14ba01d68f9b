"""Who may switch moderation off, and what /session and /status tell of it.

On is for everybody who may change the place; off is for whoever switched it on, or for those above them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bot.commands.command import Call, Desk
from bot.commands.keys import written
from bot.errors import UserError
from bot.overrides import Source

SWITCHES = ("moderation__input", "moderation__output")


async def demand_moderation(wanted: Mapping[str, Any], source: Source, call: Call, desk: Desk) -> None:
    """Make sure that the caller may set what is wanted of it at `source`.

    Raises:
        UserError: they may not, or there is nothing to judge by.
    """
    for name in SWITCHES:
        if wanted.get(name) and not desk.settings.moderation.is_possible:
            raise UserError("moderation-unset")
        if wanted.get(name) is False and (by := _switched_on_at(name, source, call, desk)) is not None:
            await _demand_rights(by, call, desk)


def _switched_on_at(name: str, source: Source, call: Call, desk: Desk) -> Source | None:
    """Who has it on for more than a change at `source` reaches."""
    order = [*Source]
    farther = [link for link in call.settings.chain.get(name, ()) if order.index(link[0]) > order.index(source)]
    by, is_on = next(iter(farther), (Source.DEFAULT, desk.resolver.default(name)))
    return by if is_on else None


async def _demand_rights(by: Source, call: Call, desk: Desk) -> None:
    if by is Source.PLACE:
        if not desk.policy.access.open_commands and not await desk.may_manage(call, whole_place=True):
            raise UserError("command-needs-rights")
    elif by is not Source.PARENT and not desk.policy.is_operator(call.inbound.author):
        raise UserError("moderation-is-operators")


def moderation_lines(call: Call, desk: Desk) -> Iterator[str]:
    """A line where some of it is on."""
    given = call.settings.values.moderation
    if given.input or given.output:
        said, answered = (desk.names.of_choice(written(is_on), call.locale)[0] for is_on in (given.input, given.output))
        yield desk.text("status-moderation", call.locale, input=said, output=answered)

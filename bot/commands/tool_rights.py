"""Who may switch a group of tools on: the operator any, everybody else who changes a place only those they are left.

What the operator's own settings switch on is asked nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable

from bot.commands.command import Call, Desk
from bot.errors import UserError
from bot.overrides import SessionSettings, Source
from bot.tools.tool import ALL_GROUPS


def demand_groups(wanted: Iterable[str], call: Call, desk: Desk, *, already: Iterable[str] = ()) -> None:
    """Make sure that the caller may switch these groups on, where some are `already` on.

    Raises:
        UserError: they may not; names the groups and the setting that would let them.
    """
    known = {*already, *desk.policy.access.tool_groups}
    if ALL_GROUPS in known or desk.policy.is_operator(call.inbound.author):
        return
    if refused := [group for group in dict.fromkeys(wanted) if group not in known]:
        raise UserError("tools-group-is-operators", groups=", ".join(refused))


def groups_at(source: Source, settings: SessionSettings, desk: Desk) -> tuple[str, ...]:
    """The groups that are on as far as a change at `source` reaches, whatever was changed nearer."""
    order = [*Source]
    links = settings.chain.get("tool_groups", ())
    given = (value for link, value in links if order.index(link) >= order.index(source))
    found: tuple[str, ...] = next(given, desk.resolver.default("tool_groups"))
    return found

"""Who may switch a group of tools on: the operator any, everybody else who changes a place only those they are left.

What the operator's own settings switch on is asked nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bot.commands.command import Call, Desk
from bot.errors import UserError
from bot.overrides import SessionSettings, Source
from bot.spelling import near_names
from bot.tools.tool import ALL_GROUPS


def demand_groups(wanted: Iterable[str], call: Call, desk: Desk, *, already: Iterable[str] = ()) -> None:
    """Make sure that the caller may switch these groups on, where some are `already` on.

    Raises:
        UserError: they may not; names the groups and the setting that would let them.
    """
    if refused := operators_groups(wanted, call, desk, already=already):
        raise UserError("tools-group-is-operators", groups=", ".join(refused))


def operators_groups(wanted: Iterable[str], call: Call, desk: Desk, *, already: Iterable[str] = ()) -> tuple[str, ...]:
    """Those of some groups that the caller may not switch on."""
    known = {*already, *desk.policy.access.tool_groups}
    if ALL_GROUPS in known or desk.policy.is_operator(call.inbound.author):
        return ()
    return tuple(group for group in dict.fromkeys(wanted) if group not in known)


def find_group(typed: str, groups: Sequence[str]) -> str:
    """The group that somebody means, of those that there are; `*` is all of them.

    Raises:
        UserError: there is none of that name; says which there are, or how some come to be.
    """
    found = next((group for group in (*groups, ALL_GROUPS) if group.casefold() == typed.casefold()), None)
    if found is not None:
        return found
    if not groups:
        raise UserError("tools-no-groups")
    raise UserError("tools-group-unknown", group=typed, names=", ".join(near_names(typed, groups) or groups))


def groups_at(source: Source, settings: SessionSettings, desk: Desk) -> tuple[str, ...]:
    """The groups that are on as far as a change at `source` reaches, whatever was changed nearer."""
    order = [*Source]
    links = settings.chain.get("tool_groups", ())
    given = (value for link, value in links if order.index(link) >= order.index(source))
    found: tuple[str, ...] = next(given, desk.resolver.default("tool_groups"))
    return found

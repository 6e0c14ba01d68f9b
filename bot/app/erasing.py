"""Makes what forgets people, and tells it who in this process keeps what they said."""

from __future__ import annotations

from bot.app.running import Core
from bot.commands.command import Desk
from bot.dispatch import Dispatcher
from bot.gauge import Gauge
from bot.memory.eraser import Eraser
from bot.memory.keeper import Keeper
from bot.reposts import RecentReposts


def build_eraser(core: Core, dispatcher: Dispatcher, gauge: Gauge, keeper: Keeper) -> Eraser:
    """What forgets people."""
    core.recollections.add(lambda _: core.counter.forget())
    core.recollections.add(lambda _: gauge.opener.forget())
    core.recollections.add(lambda _: gauge.builder.forget())
    core.recollections.add(keeper.let_go)
    core.recollections.add(lambda traces: core.lore.forget({traces.key, *traces.places, *traces.cards}))
    return Eraser(
        db=core.db,
        hooks=core.hooks,
        tasks=core.tasks,
        recollections=core.recollections,
        end_turns=dispatcher.end_turns,
        turns_in=dispatcher.turns_in,
        refresh=core.imported.refresh,
        now=core.now,
    )


def let_desk_forget(core: Core, desk: Desk, reposts: RecentReposts) -> None:
    """What commands and the pipeline keep is forgotten as well."""
    core.recollections.add(lambda traces: desk.interviews.end_of(traces.key))
    core.recollections.add(lambda traces: desk.portraits.forget(traces.cards))
    core.recollections.add(lambda traces: reposts.forget(traces.key))

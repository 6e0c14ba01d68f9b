"""Makes the parts that fold conversations into memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from bot.app.running import Core, Models
from bot.llm.configured import is_small
from bot.llm.model import Bill, Purpose
from bot.memory.compaction import Compactor
from bot.memory.consolidation import Consolidator
from bot.memory.keeper import Keeper
from bot.memory.notices import MemoryNotices
from bot.memory.reuse import Reuse
from bot.memory.summariser import Subject, Summariser
from bot.model_in_force import fallbacks_in_force
from bot.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from bot.quota.purse import Purse


def build_keeper(core: Core, models: Models, toolbox: Toolbox) -> Keeper:
    """What decides when to fold, with everything behind it."""

    def window_of(model: str) -> int:
        return min(filter(None, (models.catalogue.limits(model).context_window, core.settings.context_tokens)))

    summariser = Summariser(
        db=core.db,
        model=models.model,
        settings=core.settings,
        directory=models.directory,
        window_of=window_of,
        factor=models.tokens.factor,
        estimate=models.estimate,
        now=core.now,
        is_small=is_small,
        fallbacks_of=partial(fallbacks_in_force, models.directory),
    )
    consolidator = Consolidator(
        db=core.db,
        summariser=summariser,
        settings=core.settings,
        count=core.counter.count,
        now=core.now,
        recalling=toolbox.recalling,
    )
    compactor = Compactor(
        db=core.db,
        summariser=summariser,
        consolidator=consolidator,
        settings=core.settings,
        count=core.counter.count,
        now=core.now,
        # What hooks rewrite is not what was built, so that nothing can be asked behind it.
        reuse=Reuse(
            models.prices.billed_price,
            "off" if core.hooks.rewrites_requests else core.settings.summary.reuse_prefix,
        ),
        hooks=core.hooks,
        stand_in=core.added.stand_in,
        recalling=toolbox.recalling,
    )
    notices = MemoryNotices(adapters=core.platforms, catalogue=core.catalogue)
    return Keeper(
        compactor,
        core.tasks,
        cached_price=models.prices.cached_price,
        tell_done=notices.tell_done,
        may_spend=_may_spend(core, models.purse, summariser) if models.purse is not None else None,
    )


def _may_spend(core: Core, purse: Purse, summariser: Summariser) -> Callable[[Subject], Awaitable[bool]]:
    async def may_spend(subject: Subject) -> bool:
        bill = Bill(place_key=subject.session.channel.place_key, purpose=Purpose.SUMMARY)
        terms = summariser.terms(subject)
        models = (terms.model, *summariser.fallbacks(subject))
        return await core.db.read(purse.may_spend, bill, models, tokens=terms.max_output_tokens)

    return may_spend

"""What /status tells of the servers of models that are asked here and failed when they were last asked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bot.commands.command import Call, Desk
from bot.llm.router import EndpointHealth
from bot.model_in_force import fallbacks_in_force, model_in_force


def endpoint_lines(call: Call, desk: Desk) -> Iterator[str]:
    """A line for each, and who answers meanwhile; what is wrong with one is for the operator alone (X13)."""
    chosen = model_in_force(desk.models, call.settings).name
    models = (chosen, *fallbacks_in_force(desk.models, call.settings.values, chosen))
    away = [endpoint for endpoint in desk.endpoints() if any(map(partial(_is_part_of, endpoint), models))]
    for endpoint in away:
        if desk.policy.is_operator(call.inbound.author):
            yield desk.text(
                "status-endpoint-problem",
                call.locale,
                endpoint=endpoint.name,
                problem=endpoint.problem,
                seconds=endpoint.seconds_left,
            )
        else:
            yield desk.text("status-endpoint-away", call.locale, endpoint=endpoint.name)
    left_alone = [endpoint for endpoint in away if endpoint.seconds_left]
    fresh = (model for model in models if not any(_is_part_of(endpoint, model) for endpoint in left_alone))
    if (now := next(fresh, chosen)) != chosen:
        yield desk.text("status-stands-in", call.locale, model=now, chosen=chosen)


def _is_part_of(endpoint: EndpointHealth, model: str) -> bool:
    """Whether a model cannot answer while this is away."""
    return endpoint.name in (model, model.partition("/")[0])

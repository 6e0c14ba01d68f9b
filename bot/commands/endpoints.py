"""What /status tells of the servers of models that are asked here and failed when they were last asked."""

from __future__ import annotations

from collections.abc import Iterator

from bot.commands.command import Call, Desk
from bot.model_in_force import fallbacks_in_force, model_in_force


def endpoint_lines(call: Call, desk: Desk) -> Iterator[str]:
    """A line for each; what is wrong with one is for the operator alone (X13)."""
    chosen = model_in_force(desk.models, call.settings).name
    models = (chosen, *fallbacks_in_force(desk.models, call.settings.values, chosen))
    for endpoint in desk.endpoints():
        if not any(endpoint.name in (model, model.partition("/")[0]) for model in models):
            continue
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

"""/model: which models can answer here, which one does, what is known of each, and the switch."""

from __future__ import annotations

from collections.abc import Sequence

from bot.chat import CommandSpec, OptionSpec, Outbound, ValueQuery
from bot.commands import changes
from bot.commands.changes import Changes, Reach
from bot.commands.command import Call, Command, Desk, inert
from bot.commands.model_details import choice_lines, detail_lines, figures, quirks_in_words
from bot.commands.pages import KEYWORD, PAGE, near_action, page_of, paged
from bot.errors import UserError
from bot.model_in_force import model_in_force


async def list_models(call: Call, desk: Desk) -> Outbound:
    """`/model [keyword] [-p page]`: the models, each with what is known of it in a few figures."""
    keyword = call.options.get("keyword", "")
    found = await desk.models.search(keyword)
    current = model_in_force(desk.models, call.settings).name
    if not found:
        meant = near_action(keyword, "model", desk)
        raise UserError("command-meant", near=meant) if meant else UserError("model-none-found", keyword=keyword)
    page = page_of(found, call)
    lines = [
        inert(name) + (" ✅" if name == current else "") + (f" – {known}" if (known := figures(name, desk)) else "")
        for name in page.entries
    ]
    return paged(desk.text("model-list", call.locale, count=len(found)), lines, page, "model list", call, desk)


async def use_model(call: Call, desk: Desk) -> Outbound:
    """`/model use NAME`."""
    current = model_in_force(desk.models, call.settings).name
    model = await desk.models.resolve(call.options["model"], current)
    await changes.make(Changes(set={"model": model}), Reach.HERE, call, desk)
    return desk.say("model-answers", call, model=model)


async def show_model(call: Call, desk: Desk) -> Outbound:
    """`/model info [MODEL]`: the model that answers here and by whose word, or another one; what it takes and gives,
    what it costs, and what its server was found not to take.
    """
    current = model_in_force(desk.models, call.settings)
    model = current.name
    if "model" in call.options:
        model = await desk.models.resolve(call.options["model"], model)
    is_here = model == current.name
    lines = await choice_lines(current, call, desk) if is_here else [desk.text("model-other", call.locale, model=model)]
    return Outbound(text="\n".join(f"- {line}" for line in (*lines, *detail_lines(model, call, desk))))


async def forget_model(call: Call, desk: Desk) -> Outbound:
    """`/model forget [MODEL]`: forget what was learned about a model, as after an update of its server.

    It counts wherever the model answers: where the operator has named admins, it is theirs alone.
    """
    if desk.settings.access.admins and not desk.policy.is_operator(call.inbound.author):
        raise UserError("command-needs-operator")
    model = model_in_force(desk.models, call.settings).name
    if "model" in call.options:
        model = await desk.models.resolve(call.options["model"], model)
    learned = desk.learned(model)
    if not learned:
        return desk.say("model-nothing-learned", call, model=model)
    await desk.forget(model)
    return desk.say("model-forgotten", call, model=model, quirks=quirks_in_words(learned, call, desk))


async def suggest_models(desk: Desk, query: ValueQuery) -> Sequence[str]:
    """Models by what is typed of their names."""
    return await desk.models.search(query.typed)


CHOSEN_MODEL = OptionSpec(name="model", required=True, completes=True)
ANY_MODEL = OptionSpec(name="model", completes=True)

MODEL_COMMANDS = (
    Command(spec=CommandSpec(path=("model", "list"), options=(KEYWORD, PAGE), ephemeral=True), run=list_models),
    Command(
        spec=CommandSpec(path=("model", "use"), options=(CHOSEN_MODEL,), manages=True),
        run=use_model,
        suggest=suggest_models,
    ),
    Command(
        spec=CommandSpec(path=("model", "info"), options=(ANY_MODEL,), ephemeral=True),
        run=show_model,
        suggest=suggest_models,
    ),
    Command(
        spec=CommandSpec(path=("model", "forget"), options=(ANY_MODEL,), ephemeral=True, manages=True),
        run=forget_model,
        suggest=suggest_models,
    ),
)

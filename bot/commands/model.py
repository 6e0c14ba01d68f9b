"""/model: which models can answer here, which one does, what was learned about it, and the switch."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bot.chat import CommandSpec, OptionSpec, Outbound, ValueQuery
from bot.commands import changes
from bot.commands.changes import Changes, Reach
from bot.commands.command import Call, Command, Desk, inert
from bot.commands.pages import KEYWORD, PAGE, near_action, page_of, paged
from bot.errors import UserError
from bot.llm.quirks import Quirk
from bot.opening import model_in_force


async def list_models(call: Call, desk: Desk) -> Outbound:
    """`/model [keyword] [-p page]`."""
    keyword = call.options.get("keyword", "")
    found = await desk.models.search(keyword)
    current = model_in_force(desk.models, call.settings).name
    if not found:
        meant = near_action(keyword, "model", desk)
        raise UserError("command-meant", near=meant) if meant else UserError("model-none-found", keyword=keyword)
    page = page_of(found, call)
    lines = [inert(name) + (" ✅" if name == current else "") for name in page.entries]
    return paged(desk.text("model-list", call.locale, count=len(found)), lines, page, "model list", call, desk)


async def use_model(call: Call, desk: Desk) -> Outbound:
    """`/model use NAME`."""
    current = model_in_force(desk.models, call.settings).name
    model = await desk.models.resolve(call.options["model"], current)
    await changes.make(Changes(set={"model": model}), Reach.HERE, call, desk)
    return desk.say("model-answers", call, model=model)


async def show_model(call: Call, desk: Desk) -> Outbound:
    """`/model info`: the model in use, where that was decided, what it can take, and what its server does not."""
    current = model_in_force(desk.models, call.settings)
    limits, learned = desk.limits(current.name), desk.learned(current.name)
    source = desk.text(f"source-{current.source.value}", call.locale)
    abilities = [
        desk.text(f"model-can-{ability}", call.locale)
        for ability, lacking in (("vision", Quirk.NO_IMAGES), ("thinking", None), ("tools", Quirk.NO_TOOLS))
        if getattr(limits, ability) and lacking not in learned
    ]
    pieces = [
        desk.text("model-info", call.locale, model=current.name, source=source),
        desk.text("model-lost", call.locale, chosen=current.lost) if current.lost else "",
        desk.text("model-info-window", call.locale, window=limits.context_window),
        desk.text("model-info-abilities", call.locale, abilities=", ".join(abilities)) if abilities else "",
        desk.text("model-info-learned", call.locale, quirks=_in_words(learned, call, desk)) if learned else "",
    ]
    return Outbound(text="\n".join(f"- {piece}" for piece in pieces if piece))


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
    return desk.say("model-forgotten", call, model=model, quirks=_in_words(learned, call, desk))


def _in_words(quirks: Collection[Quirk], call: Call, desk: Desk) -> str:
    return ", ".join(
        desk.text(f"quirk-{quirk.value.replace('_', '-')}", call.locale) for quirk in Quirk if quirk in quirks
    )


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
    Command(spec=CommandSpec(path=("model", "info"), ephemeral=True), run=show_model),
    Command(
        spec=CommandSpec(path=("model", "forget"), options=(ANY_MODEL,), ephemeral=True, manages=True),
        run=forget_model,
        suggest=suggest_models,
    ),
)

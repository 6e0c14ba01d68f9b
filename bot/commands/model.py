"""/model: which models can answer here, which one does, and the switch."""

from __future__ import annotations

from collections.abc import Sequence

from bot.chat import CommandSpec, OptionSpec, Outbound, ValueQuery
from bot.commands import changes
from bot.commands.changes import Changes, Reach
from bot.commands.command import Call, Command, Desk, inert
from bot.commands.pages import KEYWORD, PAGE, page_of, paged
from bot.errors import UserError


async def list_models(call: Call, desk: Desk) -> Outbound:
    """`/model [keyword] [-p page]`."""
    keyword = call.options.get("keyword", "")
    found = await desk.models.search(keyword)
    current = desk.models.effective(call.settings.values.model)
    if not found:
        raise UserError("model-none-found", keyword=keyword)
    page = page_of(found, call)
    lines = [inert(name) + (" ✅" if name == current else "") for name in page.entries]
    return paged(desk.text("model-list", call.locale, count=len(found)), lines, page, "model list", call, desk)


async def use_model(call: Call, desk: Desk) -> Outbound:
    """`/model use NAME`."""
    current = desk.models.effective(call.settings.values.model)
    model = await desk.models.resolve(call.options["model"], current)
    await changes.make(Changes(set={"model": model}), Reach.HERE, call, desk)
    return desk.say("model-answers", call, model=model)


async def show_model(call: Call, desk: Desk) -> Outbound:
    """`/model info`: the model in use, where that was decided, and what it can take."""
    model = desk.models.effective(call.settings.values.model)
    limits = desk.limits(model)
    source = desk.text(f"source-{call.settings.source('model').value}", call.locale)
    abilities = [
        desk.text(f"model-can-{ability}", call.locale)
        for ability in ("vision", "thinking", "tools")
        if getattr(limits, ability)
    ]
    pieces = [
        desk.text("model-info", call.locale, model=model, source=source),
        desk.text("model-info-window", call.locale, window=limits.context_window),
        desk.text("model-info-abilities", call.locale, abilities=", ".join(abilities)) if abilities else "",
    ]
    return Outbound(text="\n".join(f"- {piece}" for piece in pieces if piece))


async def suggest_models(desk: Desk, query: ValueQuery) -> Sequence[str]:
    """Models by what is typed of their names."""
    return await desk.models.search(query.typed)


CHOSEN_MODEL = OptionSpec(name="model", required=True, completes=True)

MODEL_COMMANDS = (
    Command(spec=CommandSpec(path=("model", "list"), options=(KEYWORD, PAGE), ephemeral=True), run=list_models),
    Command(
        spec=CommandSpec(path=("model", "use"), options=(CHOSEN_MODEL,), manages=True),
        run=use_model,
        suggest=suggest_models,
    ),
    Command(spec=CommandSpec(path=("model", "info"), ephemeral=True), run=show_model),
)

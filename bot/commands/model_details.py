"""What /model tells of one model: what it takes and gives, what it costs, who chose it, and how its server is doing."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from bot.commands.command import Call, Desk
from bot.commands.endpoints import endpoint_lines
from bot.llm.quirks import Quirk
from bot.llm.tariffs import PER_MILLION, Tariff
from bot.model_in_force import ModelInForce, fallbacks_in_force
from bot.overrides import Source
from bot.store.database import Tx
from bot.store.sessions import who_chose
from bot.store.usage import name_of_person

CHOSEN_IN_CHAT = (Source.SESSION, Source.PARENT, Source.PLACE)


def figures(model: str, desk: Desk) -> str:
    """What is known of a model in a few figures, such as "128k, 0.15/0.6 USD"; "" where nothing is."""
    limits, tariff = desk.limits(model), desk.tariff_of(model)
    window = f"{limits.context_window // 1000}k" if limits.source != "default" else ""
    price = f"{_amount(tariff.input)}/{_amount(tariff.output)} {tariff.currency}" if tariff and tariff.currency else ""
    return ", ".join(filter(None, (window, price)))


async def choice_lines(current: ModelInForce, call: Call, desk: Desk) -> list[str]:
    """Which model answers here, by whose word, and which ones do while it cannot."""
    source = desk.text(f"source-{current.source.value}", call.locale)
    lines = [desk.text("model-info", call.locale, model=current.name, source=source)]
    if current.source in CHOSEN_IN_CHAT and (chosen := await desk.db.read(_who_chose, current.source, call)):
        name, day = chosen
        lines.append(desk.text("model-info-chosen", call.locale, name=name, day=day))
    if current.lost:
        lines.append(desk.text("model-lost", call.locale, chosen=current.lost))
    if fallbacks := fallbacks_in_force(desk.models, call.settings.values, current.name):
        lines.append(desk.text("model-info-fallbacks", call.locale, models=", ".join(fallbacks)))
    return [*lines, *endpoint_lines(call, desk)]


def detail_lines(model: str, call: Call, desk: Desk) -> Iterator[str]:
    """What any model takes and gives, what it costs, and what its server was found not to take."""
    limits, learned = desk.limits(model), desk.learned(model)
    known = desk.text(f"model-window-{limits.source}", call.locale)
    yield desk.text("model-info-window", call.locale, window=limits.context_window, known=known)
    if limits.max_output_tokens:
        yield desk.text("model-info-output", call.locale, tokens=limits.max_output_tokens)
    abilities = [
        desk.text(f"model-can-{ability}", call.locale)
        for ability, lacking in (("vision", Quirk.NO_IMAGES), ("thinking", None), ("tools", Quirk.NO_TOOLS))
        if getattr(limits, ability) and lacking not in learned
    ]
    if abilities:
        yield desk.text("model-info-abilities", call.locale, abilities=", ".join(abilities))
    yield _price(desk.tariff_of(model), call, desk)
    if learned:
        yield desk.text("model-info-learned", call.locale, quirks=quirks_in_words(learned, call, desk))


def quirks_in_words(quirks: Collection[Quirk], call: Call, desk: Desk) -> str:
    """What a server does not take, in its order."""
    return ", ".join(
        desk.text(f"quirk-{quirk.value.replace('_', '-')}", call.locale) for quirk in Quirk if quirk in quirks
    )


def _price(tariff: Tariff | None, call: Call, desk: Desk) -> str:
    if tariff is None:
        return desk.text("model-price-unknown", call.locale)
    if tariff.currency is None:
        return desk.text("model-price-none", call.locale)
    return desk.text(
        "model-price",
        call.locale,
        read=_amount(tariff.input),
        cached=_amount(tariff.cached),
        written=_amount(tariff.output),
        currency=tariff.currency,
    )


def _amount(price: float) -> str:
    """What a million tokens cost."""
    return f"{price / PER_MILLION:.6g}"


def _who_chose(tx: Tx, source: Source, call: Call) -> tuple[str, str] | None:
    chosen = who_chose(tx, call.inbound.channel, source, "model")
    if chosen is None:
        return None
    author_key, moment = chosen
    return name_of_person(tx, author_key), f"{call.local(moment):%Y-%m-%d}"

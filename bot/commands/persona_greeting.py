"""/persona greeting: with which of its greetings a persona begins, as long as nobody has spoken to it."""

from __future__ import annotations

from collections.abc import Sequence

from bot.chat import Button, CommandSpec, OptionKind, OptionSpec, Outbound
from bot.commands.command import Call, Command, Desk
from bot.commands.members import OF, cast_at, repeated
from bot.commands.pages import PAGE
from bot.errors import UserError
from bot.greeting import Greeting, active_greeting, expand_greeting, greetings_of
from bot.personas.library import Persona
from bot.store.greetings import chosen_greeting, has_begun

SHOWN_CHARS = 1_200
"""Of a greeting that is only looked at; said, it is whole. Ours to choose: with its buttons it fits every message."""


async def pick_greeting(call: Call, desk: Desk) -> Outbound | None:
    """`/persona greeting [NUMBER] [-p page] [-o persona]`: leaf through the greetings; a number says it at once. People
    count from 1, in the order in which the greetings are shown.
    """
    persona = desk.library.get(call.persona_id)
    if persona is None:
        return desk.say("persona-nobody", call)
    known = greetings_of(persona.card, in_group=not call.inbound.channel.is_dm)
    if not known:
        raise UserError("persona-greeting-none", persona=persona.name)
    if "greeting" in call.options:
        return await _begin_with(_place(call.options["greeting"], known), known, persona, call, desk)
    return await _show(_wanted_page(call, known), known, persona, call, desk)


async def _begin_with(
    place: int, known: Sequence[Greeting], persona: Persona, call: Call, desk: Desk
) -> Outbound | None:
    shares = call.settings.values.persona_switch == "shared"
    if shares and call.persona_id != cast_at(call.inbound.channel, call.settings, desk).main_id:
        raise UserError("persona-greeting-shared", persona=persona.name)
    if not await desk.greeter.choose_greeting(call.session, call.conversation_id, known[place].number):
        told = desk.text("persona-greeting-late", call.locale)
        again = Button(label=desk.text("persona-greeting-reset", call.locale), command="reset")
        return Outbound(text=told, buttons=((again,),))
    await call.answer(desk.say("persona-greeting-chosen", call, number=place + 1))
    user = call.inbound.author.name
    await desk.greeter.greet(call.session, call.conversation_id, persona, user=user, position=call.message_id)
    return None


async def _show(page: int | None, known: Sequence[Greeting], persona: Persona, call: Call, desk: Desk) -> Outbound:
    """One greeting, the active one where none was asked for, with buttons that lead to the others."""
    chosen = await desk.db.read(chosen_greeting, call.conversation_id)
    active = active_greeting(persona.card, chosen, in_group=not call.inbound.channel.is_dm)
    place = page if page is not None else known.index(active) if active in known else 0
    greeting = known[place]
    heading = desk.text(
        "persona-greeting-active" if greeting == active else "persona-greeting",
        call.locale,
        number=place + 1,
        count=len(known),
        persona=persona.name,
    )
    cast = cast_at(call.inbound.channel, call.settings, desk)
    text = expand_greeting(persona, greeting.text, call.inbound.author.name, now=call.local(call.now), cast=cast)
    shown = text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS].rstrip() + "…"
    may_choose = greeting != active and not await desk.db.read(has_begun, call.conversation_id)
    return Outbound(
        text=f"{heading}\n\n{shown}", buttons=_buttons(place, len(known), call, desk, may_choose=may_choose)
    )


def _buttons(place: int, count: int, call: Call, desk: Desk, *, may_choose: bool) -> tuple[tuple[Button, ...], ...]:
    turns = ((place - 1, "◀ {}"), (place + 1, "{} ▶"))
    leafing = tuple(
        Button(label=label.format(other + 1), command=f"persona greeting -p {other + 1}{repeated(call)}")
        for other, label in turns
        if 0 <= other < count
    )
    use = Button(
        label=desk.text("persona-greeting-use", call.locale), command=f"persona greeting {place + 1}{repeated(call)}"
    )
    return tuple(filter(None, (leafing, (use,) if may_choose else ())))


def _place(typed: str, known: Sequence[Greeting]) -> int:
    number = int(typed)
    if not 1 <= number <= len(known):
        raise UserError("persona-greeting-no-such", number=number, count=len(known))
    return number - 1


def _wanted_page(call: Call, known: Sequence[Greeting]) -> int | None:
    """A page beyond the last one is the last one, as everywhere."""
    return min(max(1, int(call.options[PAGE.name])), len(known)) - 1 if PAGE.name in call.options else None


GREETING = OptionSpec(name="greeting", kind=OptionKind.INTEGER)

GREETING_COMMANDS = (
    Command(
        spec=CommandSpec(
            path=("persona", "greeting"),
            options=(GREETING, PAGE, OF),
            ephemeral=True,
            manages=True,
            example="persona greeting 2",
        ),
        run=pick_greeting,
    ),
)

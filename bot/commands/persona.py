"""/persona: who can speak here, who does, and the switch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bot.cast import Cast, Member, write_cast
from bot.chat import Button, CommandSpec, OptionSpec, Outbound, ValueQuery
from bot.commands import changes
from bot.commands.changes import Changes, InForce, Reach
from bot.commands.command import Call, Command, Desk, inert
from bot.commands.keys import find_persona, name_to_type, near_personas
from bot.commands.members import cast_at, demand_room
from bot.commands.pages import KEYWORD, PAGE, near_action, page_of, paged
from bot.errors import UserError
from bot.locale import has_texts
from bot.personas.library import NO_PERSONA, Persona, Shelf

NOTE_CHARS = 90
"""Characters of a card's notes shown in a list."""
BUTTONS_PER_ROW, LABEL_CHARS = 4, 20
"""Buttons side by side, and characters of a name on one: as many as a phone shows."""


async def list_personas(call: Call, desk: Desk) -> Outbound:
    """`/persona [keyword] [-p page]`."""
    keyword = call.options.get("keyword", "")
    shelf = desk.shelf(call)
    found = shelf.search(keyword)
    if not found:
        raise _none_found(keyword, shelf, desk)
    page = page_of(found, call)
    lines = [_line(persona, persona.id == call.persona_id) for persona in page.entries]
    heading = desk.text("persona-list", call.locale, count=len(found))
    told = paged(heading, lines, page, "persona list", call, desk)
    return replace(told, buttons=(*_looks(page.entries), *told.buttons))


def _looks(personas: Sequence[Persona]) -> Iterator[tuple[Button, ...]]:
    """A button for each, which shows more of it."""
    looks = [Button(label=cut(one.name, LABEL_CHARS), command=f"persona info {one.id}") for one in personas]
    return (tuple(looks[first : first + BUTTONS_PER_ROW]) for first in range(0, len(looks), BUTTONS_PER_ROW))


def _none_found(keyword: str, shelf: Shelf, desk: Desk) -> UserError:
    if meant := near_action(keyword, "persona", desk):
        return UserError("command-meant", near=meant)
    if near := near_personas(shelf, keyword):
        return UserError("persona-none-found", keyword=keyword, near=", ".join(near))
    return UserError("persona-none-near", keyword=keyword)


def _line(persona: Persona, is_active: bool) -> str:
    name = inert(persona.name)
    tags = [persona.language, *persona.card.tags] if persona.language else persona.card.tags
    note = cut(persona.card.creator_notes or ", ".join(tags), NOTE_CHARS)
    mark = " ✅" if is_active else ""
    return f"**{name}** ({persona.id}){mark}" + (f" – {inert(note)}" if note else "")


async def use_persona(call: Call, desk: Desk) -> None:
    """`/persona use NAME`: switch at once; a persona who is new here greets. Where several speak, the one whose place
    it takes goes on as one of them.
    """
    persona = find_persona(desk.shelf(call), call.options["persona"])
    cast = cast_at(call.inbound.channel, call.settings, desk)
    now = await changes.make(_choice(persona, cast), Reach.HERE, call, desk)
    desk.interviews.end_all(call.session.channel.session_key)
    if persona is None:
        told = [desk.text("persona-nobody", call.locale), _who_goes_on(cast, call, desk)]
    else:
        speaks = desk.text("persona-speaks", call.locale, persona=persona.name)
        told = [speaks, _who_stays(persona, cast, call, desk), _language_hint(persona, call, desk)]
    await call.answer(Outbound(text="\n".join(filter(None, told))))
    await greet_if_new(persona, now, call, desk)


async def greet_if_new(persona: Persona | None, now: InForce, call: Call, desk: Desk) -> None:
    """Let a persona greet that was chosen here and has said nothing yet."""
    if now.is_fresh:
        user = call.inbound.author.name
        await desk.greeter.greet(now.session, now.conversation_id, persona, user=user, position=call.message_id)


def _choice(persona: Persona | None, cast: Cast) -> Changes:
    if persona is None or not cast.is_several:
        return Changes(set={"persona": persona.id if persona else NO_PERSONA})
    chosen = cast.member(persona.id) or Member(persona=persona)
    others = [member for member in cast.members if member is not chosen]
    demand_room(chosen, others)
    return Changes(set={"persona": persona.id, "cast": write_cast((chosen, *others), persona.id)})


def _who_stays(persona: Persona, cast: Cast, call: Call, desk: Desk) -> str:
    """That the one whose place is taken goes on, and how that is ended."""
    former = cast.member(cast.main_id) if cast.is_several else None
    if former is None or former.persona.id == persona.id:
        return ""
    return desk.text("persona-stays", call.locale, persona=former.persona.name)


def _who_goes_on(cast: Cast, call: Call, desk: Desk) -> str:
    names = ", ".join(member.persona.name for member in cast.members if member.persona.id != cast.main_id)
    return desk.text("persona-others-stay", call.locale, names=names) if names else ""


def _language_hint(persona: Persona, call: Call, desk: Desk) -> str:
    """How our own words can follow a card of another language, where we have it; "" where they do."""
    language, locales = persona.language, desk.catalogue.locales
    if not has_texts(language, locales) or desk.catalogue.negotiate(language) == call.locale:
        return ""
    return desk.text("persona-language", call.locale, language=desk.catalogue.negotiate(language))


def cut(text: str, length: int) -> str:
    """A text on one line, cut where it is longer than that many characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[:length].rstrip() + "…"


async def suggest_personas(desk: Desk, query: ValueQuery) -> Sequence[str]:
    """Personas by what is typed of them, under names that `use` understands."""
    shelf = desk.library.at(query.channel.place_key)
    found = [name_to_type(shelf, persona) for persona in shelf.search(query.typed)]
    return [*found, NO_PERSONA] if NO_PERSONA.startswith(query.typed.casefold()) else found


PERSONA = OptionSpec(name="persona", rest=True, completes=True)
CHOSEN_PERSONA = OptionSpec(name="persona", rest=True, required=True, completes=True)

PERSONA_COMMANDS = (
    Command(spec=CommandSpec(path=("persona", "list"), options=(KEYWORD, PAGE), ephemeral=True), run=list_personas),
    Command(
        spec=CommandSpec(path=("persona", "use"), options=(CHOSEN_PERSONA,), manages=True),
        run=use_persona,
        suggest=suggest_personas,
    ),
)

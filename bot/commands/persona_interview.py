"""/persona edit by questions, where there are no forms: field by field, each answered by a message or a button."""

from __future__ import annotations

from bot.chat import Button, CommandSpec, InboundKind, Mention, OptionKind, OptionSpec, Outbound
from bot.chat.forms import MAX_FIELDS
from bot.commands.command import Call, Command, Desk, inert
from bot.commands.persona_changes import EDITABLE, change_fields, field_names, field_text, tell_change
from bot.commands.persona_form import MORE
from bot.commands.persona_rights import demand_rights
from bot.errors import UserError
from bot.interviews import Interview
from bot.personas.library import Persona

SHOWN_CHARS = 600
"""Of what a field says now, above the question; ours to choose."""
MAX_ANSWER = 20_000
"""Characters of an answer: more than any message has, less than a file could bring."""
KEEP, CLEAR, SAVE, CANCEL, WRITE = "keep", "clear", "save", "cancel", "write"
ANSWER = ("persona", "answer")


async def begin_questions(persona: Persona, call: Call, desk: Desk) -> Outbound:
    """Ask about the first field."""
    fields = EDITABLE[MAX_FIELDS:] if call.options.get("field") == MORE else EDITABLE
    return _ask(Interview(persona_id=persona.id, waiting=fields, count=len(fields)), persona, call, desk)


async def answer_question(call: Call, desk: Desk) -> Outbound:
    """`/persona answer STEP`, or any message while a question is open: its text is the answer."""
    interview = desk.interviews.find(call.session.channel.session_key, call.inbound.author.key)
    persona = desk.shelf(call).get(interview.persona_id) if interview else None
    if interview is None or persona is None:
        raise UserError("persona-answer-late")
    await demand_rights(persona.place_key, call, desk)
    match call.options.get("step"):
        case "cancel":
            desk.interviews.end(call.session.channel.session_key, call.inbound.author.key)
            return desk.say("persona-answer-cancelled", call, persona=persona.name)
        case "save":
            return await _save(interview, persona, call, desk)
        case "write":
            return _let_write(interview, call, desk)
        case step:
            interview = interview.answered(_answer(interview, step, call))
    if interview.waiting:
        return _ask(interview, persona, call, desk)
    return await _save(interview, persona, call, desk)


def _answer(interview: Interview, step: str | None, call: Call) -> str | None:
    """What the field is to say; `None` for what it says now."""
    if step == KEEP or (step is None and call.inbound.kind is not InboundKind.MESSAGE):
        return None
    text = "" if step == CLEAR else call.inbound.text.strip()
    if interview.asked == "name" and not text:
        raise UserError("persona-needs-name")
    if len(text) > MAX_ANSWER:
        raise UserError("persona-answer-long", count=MAX_ANSWER)
    return text


def _ask(interview: Interview, persona: Persona, call: Call, desk: Desk) -> Outbound:
    """The next question; in a group the answer must be a reply, because others talk there, too (T18)."""
    desk.interviews.put(call.session.channel.session_key, call.inbound.author.key, interview)
    heading = desk.text(
        "persona-question",
        call.locale,
        persona=persona.name,
        field=desk.names.of_choice(interview.asked, call.locale)[0],
        number=interview.number,
        count=interview.count,
    )
    how = "persona-question-dm" if call.inbound.channel.is_dm else "persona-question-group"
    pieces = (heading, _quoted(field_text(persona, interview.asked)), desk.text(how, call.locale))
    return Outbound(text="\n\n".join(filter(None, pieces)), buttons=_buttons(interview, call, desk))


def _let_write(interview: Interview, call: Call, desk: Desk) -> Outbound:
    """Call whoever is asked, so that their answer is a reply."""
    author = call.inbound.author
    desk.interviews.put(call.session.channel.session_key, author.key, interview)
    field = desk.names.of_choice(interview.asked, call.locale)[0]
    told = desk.text("persona-question-write", call.locale, field=field)
    return Outbound(text=told, mention=Mention(user_key=author.key, name=author.name), awaits_reply=True)


def _quoted(text: str) -> str:
    shown = text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS].rstrip() + "…"
    return "\n".join(f"> {inert(line)}" for line in shown.splitlines())


def _buttons(interview: Interview, call: Call, desk: Desk) -> tuple[tuple[Button, ...], ...]:
    steps = [KEEP, *([CLEAR] if interview.asked != "name" else []), *([SAVE] if interview.given else []), CANCEL]
    if not call.inbound.channel.is_dm:
        steps.insert(0, WRITE)
    labels = {step: desk.text(f"persona-step-{step}", call.locale) for step in steps}
    return (tuple(Button(label=label, command=f"persona answer {step}") for step, label in labels.items()),)


async def _save(interview: Interview, persona: Persona, call: Call, desk: Desk) -> Outbound:
    """Change what was given an answer, at once."""
    desk.interviews.end(call.session.channel.session_key, call.inbound.author.key)
    values = {field: text for field, text in interview.given.items() if text != field_text(persona, field)}
    if not values:
        return desk.say("persona-form-untouched", call, persona=persona.name)
    changed = await change_fields(persona, values, call, desk)
    return tell_change("persona-edited", changed, call, desk, field=field_names(values, call, desk))


STEP = OptionSpec(name="step", kind=OptionKind.CHOICE, choices=(KEEP, CLEAR, SAVE, CANCEL, WRITE))

INTERVIEW_COMMANDS = (
    Command(spec=CommandSpec(path=ANSWER, options=(STEP,), ephemeral=True, manages=True), run=answer_question),
)

"""/session: what is in force here and why, changing it, and inheriting it again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bot.chat import CommandSpec, OptionKind, OptionSpec, Outbound, leaves_quote_open
from bot.commands import changes
from bot.commands.changes import FOR, Changes, InForce, Reach, reach_of, source_of
from bot.commands.command import Call, Command, Desk, inert
from bot.commands.in_vain import in_vain_lines
from bot.commands.keys import ALL, NAME, find_key, known_key, name_to_type, read_value, shown
from bot.commands.members import cast_at
from bot.commands.moderation_rights import moderation_lines
from bot.commands.offers import suggest_for_reset, suggest_for_set
from bot.commands.persona import greet_if_new
from bot.errors import UserError
from bot.model_in_force import model_in_force
from bot.overrides import SessionSettings, Source
from bot.personas.shelf import Persona, persona_for
from bot.settings import place_keys

CHOSEN = ("model", "persona", "thinking")
"""The keys that have flags of their own, and that /session reset means when nothing is named."""

LABEL_CHARS = 100
"""Ours to choose: a label is for lists."""


async def show_session(call: Call, desk: Desk) -> Outbound:
    """`/session`: who and what answers here, and every changed key with its whole chain."""
    settings = call.settings
    persona = persona_for(desk.shelf(call), settings.values.persona)
    model = model_in_force(desk.models, settings)
    effective = {
        "model": model.name,
        "persona": persona.name if persona else desk.text("persona-none", call.locale),
        "thinking": _worded("thinking", settings.values.thinking, call, desk),
    }
    lines = [
        desk.text(f"session-{name}", call.locale, value=value, source=_source(settings, name, call, desk))
        for name, value in effective.items()
    ]
    lines += moderation_lines(call, desk)
    if model.lost is not None:
        lines.insert(1, desk.text("model-lost", call.locale, chosen=model.lost))
    channel = call.inbound.channel
    name = call.session.label or channel.channel_name or channel.place_name
    heading = desk.text("session-named", call.locale, name=name) if name else desk.text("session-unnamed", call.locale)
    pieces = [heading, _listed(lines)]
    if settings.chain:
        chains = [_chain(key, settings, call, desk) for key in place_keys() if key in settings.chain]
        pieces += [desk.text("session-changed", call.locale), _listed(chains)]
    return Outbound(text="\n\n".join(pieces))


def _chain(key: str, settings: SessionSettings, call: Call, desk: Desk) -> str:
    """Every value given for a key, strongest first, with where each comes from."""
    links = [(source.value, value) for source, value in settings.chain[key]]
    links.append(("default", desk.resolver.default(key)))
    return f"`{key}`: " + " › ".join(
        f"{_link(key, value, call, desk)} ({desk.text(f'source-{source}', call.locale)})" for source, value in links
    )


def _link(key: str, value: object, call: Call, desk: Desk) -> str:
    """A value in a chain, an empty model or persona under the name of what is used then."""
    if key == "model":
        value = value or desk.models.default
    elif key == "persona" and not value and (persona := persona_for(desk.shelf(call), "")):
        value = persona.id
    return _value(key, value, call, desk)


def _value(key: str, value: object, call: Call, desk: Desk) -> str:
    return inert(_worded(key, value, call, desk)) or desk.text("value-empty", call.locale)


def _worded(key: str, value: object, call: Call, desk: Desk) -> str:
    """A value as people of the caller's language read it: personas by their names, words of ours in its words."""
    if key == "persona" and isinstance(persona := desk.shelf(call).find(str(value)), Persona):
        return name_to_type(desk.shelf(call), persona)
    if value is not None and (place_keys()[key].choices or key == "language"):
        return desk.names.of_choice(shown(value), call.locale)[0]
    return shown(value)


def _source(settings: SessionSettings, key: str, call: Call, desk: Desk) -> str:
    source = model_in_force(desk.models, settings).source if key == "model" else settings.source(key)
    return desk.text(f"source-{source.value}", call.locale)


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


async def set_session(call: Call, desk: Desk) -> None:
    """`/session set`: every value is checked before any is stored."""
    reach = reach_of(call)
    typed, label = _typed_values(call, desk)
    if label is not None and reach is not Reach.HERE:
        raise UserError("session-name-is-here")
    values = {name: await read_value(place_keys()[name], text, call, desk) for name, text in typed.items()}
    if not values and label is None:
        raise UserError("session-set-nothing")
    now = await changes.make(Changes(set=values, label=label), reach, call, desk)
    if "language" in values and (language := now.settings.values.language) != "auto":
        call = replace(call, locale=desk.catalogue.negotiate(language))  # who cannot read the old one reads this
    lines = [f"`{name}` = {_value(name, value, call, desk)}" for name, value in values.items()]
    if label is not None:
        lines.append(desk.text("session-name-set", call.locale, name=label))
    own = source_of(reach, call.inbound.channel)
    lines += [
        desk.text("session-masked", call.locale, key=name, source=_source(now.settings, name, call, desk))
        for name in values
        if now.settings.source(name) is not own
    ]
    lines += _who_left(values, now, call, desk)
    lines += await in_vain_lines(values, now.settings, call, desk)
    await _tell(f"{desk.text(f'session-set-{own.value}', call.locale)}\n\n{_listed(lines)}", now, call, desk)


async def _tell(text: str, now: InForce, call: Call, desk: Desk) -> None:
    """Answer; who speaks here from now on greets as after `/persona use`."""
    await call.answer(Outbound(text=text))
    persona = persona_for(desk.shelf(call), now.settings.values.persona)
    if persona is not None and persona.id != call.persona_id:
        await greet_if_new(persona, now, call, desk)


def _who_left(changed: Collection[str], now: InForce, call: Call, desk: Desk) -> Iterator[str]:
    """Who of a cast speaks here no more because another one has its place, as people may have meant to add that one.
    Where the cast itself was changed, that was the wish.
    """
    channel = call.inbound.channel
    before, after = (cast_at(channel, settings, desk) for settings in (call.settings, now.settings))
    if before.is_several and "persona" in changed and "cast" not in changed:
        left = (member.persona for member in before.members if member.persona.id not in after.ids)
        yield from (desk.text("session-left", call.locale, persona=persona.name) for persona in left)


def _typed_values(call: Call, desk: Desk) -> tuple[dict[str, str], str | None]:
    """What is to be set, as typed: by the name of the key, and the label."""
    options = call.options
    typed = {name: options[name] for name in CHOSEN if name in options}
    label = options.get(NAME)
    key, value = _key_and_value(options)
    if key is not None and value is None:
        raise _value_missing(NAME if _is_word(key, NAME, desk) else find_key(key).name)
    if key is None and value is not None:
        raise UserError("session-key-missing", value=value)
    if key is not None and value is not None:
        if _is_word(key, NAME, desk):
            label = value
        else:
            typed[find_key(key).name] = value
    return typed, None if label is None else _sound_label(label)


def _value_missing(key: str) -> UserError:
    if key != NAME and (choices := place_keys()[key].choices):
        return UserError("session-choice-missing", key=key, choices=", ".join(choices))
    return UserError("session-value-missing", key=key)


def _sound_label(typed: str) -> str:
    label = " ".join(typed.split())
    if leaves_quote_open(label):
        raise UserError("session-name-quote", name=label)
    if len(label) > LABEL_CHARS:
        raise UserError("session-name-long", count=len(label), most=LABEL_CHARS)
    return label


def _key_and_value(options: Mapping[str, str]) -> tuple[str | None, str | None]:
    """What stands for KEY and VALUE; `KEY=VALUE` and `KEY = VALUE` are taken, too."""
    key, _, glued = options.get("key", "").partition("=")
    value = " ".join(filter(None, (glued, options.get("value")))).removeprefix("=").strip()
    return key.strip() or None, value or None


def _is_word(key: str, word: str, desk: Desk) -> bool:
    return desk.names.find_choice(key, (word,)) is not None


async def reset_session(call: Call, desk: Desk) -> None:
    """`/session reset`: let keys be inherited again, and say what still is not."""
    reach = reach_of(call)
    own = source_of(reach, call.inbound.channel)
    names, label = _named_keys(call, own, desk)
    if label is not None and reach is not Reach.HERE:
        raise UserError("session-name-is-here")
    now = await changes.make(Changes(unset=names, label=label), reach, call, desk)
    lines = [
        f"`{name}` = {_effective(name, now.settings, call, desk)} ({_source(now.settings, name, call, desk)})"
        for name in names
    ]
    lines += _who_left(names, now, call, desk)
    if label is not None:
        lines.append(desk.text("session-name-gone", call.locale))
    pieces = [desk.text("session-reset-done", call.locale), _listed(lines)]
    if kept := now.settings.changed_at(own):
        pieces.append(desk.text(f"session-kept-{own.value}", call.locale, keys=", ".join(kept)))
    await _tell("\n\n".join(pieces), now, call, desk)


def _named_keys(call: Call, own: Source, desk: Desk) -> tuple[tuple[str, ...], str | None]:
    """The keys that are to be inherited again, and the empty label where the name is to go."""
    names = [name for name in CHOSEN if name in call.options]
    key = call.options.get("key")
    if key is None:
        return tuple(names or CHOSEN), None
    if _is_word(key, NAME, desk):
        return tuple(names), ""
    if _is_word(key, ALL, desk):
        is_named_here = reach_of(call) is Reach.HERE and call.session.label
        return tuple(call.settings.changed_at(own)) or CHOSEN, "" if is_named_here else None
    return tuple(dict.fromkeys((*names, find_key(key).name))), None


def _effective(name: str, settings: SessionSettings, call: Call, desk: Desk) -> str:
    """The value in force, an unset model or persona under the name of what is used then."""
    value: Any = settings.value(name)
    if name == "model":
        value = model_in_force(desk.models, settings).name
    elif name == "persona" and (persona := persona_for(desk.shelf(call), value)):
        value = persona.id
    return _value(name, value, call, desk)


KEY = OptionSpec(name="key", completes=True, knows=lambda typed: known_key(typed) is not None)

SET_OPTIONS = (
    KEY,
    OptionSpec(name="value", rest=True, completes=True),
    OptionSpec(name="model", flag="-m", completes=True),
    OptionSpec(name="persona", flag="-p", completes=True),
    OptionSpec(name="thinking", kind=OptionKind.CHOICE, flag="-t", choices=("on", "off")),
    OptionSpec(name=NAME, flag="-n", rest=True),
    FOR,
)
RESET_OPTIONS = (
    KEY,
    OptionSpec(name="model", kind=OptionKind.SWITCH, flag="-m"),
    OptionSpec(name="persona", kind=OptionKind.SWITCH, flag="-p"),
    OptionSpec(name="thinking", kind=OptionKind.SWITCH, flag="-t"),
    FOR,
)

SESSION_COMMANDS = (
    Command(spec=CommandSpec(path=("session", "show"), ephemeral=True), run=show_session),
    Command(
        spec=CommandSpec(path=("session", "set"), options=SET_OPTIONS, ephemeral=True, manages=True),
        run=set_session,
        suggest=suggest_for_set,
    ),
    Command(
        spec=CommandSpec(path=("session", "reset"), options=RESET_OPTIONS, ephemeral=True, manages=True),
        run=reset_session,
        suggest=suggest_for_reset,
    ),
)

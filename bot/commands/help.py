"""/help and /start: what this is, how to address it here, and what the caller may ask of it (X13)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from bot.chat import SLASHES, ChannelRef, CommandSpec, OptionKind, OptionSpec, Outbound, ValueQuery
from bot.commands.command import Call, Command, Desk
from bot.commands.parse import OWN_ACTIONS, find_path
from bot.errors import UserError
from bot.overrides import SessionSettings
from bot.settings import TERMINAL, Activation
from bot.spelling import near_names

LARGE_GROUP = 3
"""From so many further commands on a group has one line in the overview, and /help GROUP tells the rest."""


async def show_help(call: Call, desk: Desk) -> Outbound:
    """`/help [command]`: the overview, or how to write one command or group."""
    commands = [command.spec for command in desk.commands()]
    if typed := call.options.get("command"):
        return Outbound(text="\n\n".join(_usage(spec, call, desk) for spec in _named(typed, commands, desk)))
    managing = next((spec for spec in commands if spec.manages), None)
    may_manage = managing is not None and await desk.may_run(managing, call)  # asked once: it is a platform's call
    usable = [spec for spec in commands if may_manage or not spec.manages]
    lines = [f"- {line}" for line in _overview(usable, call, desk)]
    address = await _address(call, desk)
    pieces = [_introduction(call, desk), address, "\n".join(lines), desk.text("help-more", call.locale)]
    if call.inbound.channel.platform == TERMINAL:
        pieces.append(desk.text("help-terminal", call.locale))
    return Outbound(text="\n\n".join(pieces))


def _named(typed: str, commands: Sequence[CommandSpec], desk: Desk) -> list[CommandSpec]:
    """The commands that somebody means: one, or all of a group."""
    path, rest = find_path(typed.strip().lstrip("".join(SLASHES)), commands, desk.names)
    named = [spec for spec in commands if path and spec.path[: len(path)] == path]
    if named and (not rest or named[0].path == path):
        return named
    names = [desk.names.of_path(spec.path, locale) for locale in desk.names.locales for spec in commands]
    if near := near_names(typed, names):
        raise UserError("help-unknown", command=typed, near=", ".join(near))
    raise UserError("help-none", command=typed)


def _overview(specs: Sequence[CommandSpec], call: Call, desk: Desk) -> Iterator[str]:
    """A line for each command, and one for all of a large group."""
    for group, members in groupby(specs, key=lambda spec: spec.path[0]):
        first, *others = members
        if len(others) < LARGE_GROUP:
            yield from (f"{_typed(spec, call, desk)} – {_description(spec, call, desk)}" for spec in (first, *others))
            continue
        words = ", ".join(f"`{desk.names.of_command(spec.path, call.locale)[0]}`" for spec in others)
        about = desk.text(f"command-{group}", call.locale)
        told = desk.catalogue.text("help-also", call.locale, about=about, words=words)
        yield f"{_typed(first, call, desk)} – {told}"


def _typed(spec: CommandSpec, call: Call, desk: Desk) -> str:
    """How a command is typed, in English and in the caller's language: `/persona use` · `/角色 使用`."""
    return " · ".join(f"`/{words}`" for words in _spellings(spec, call, desk))


def _spellings(spec: CommandSpec, call: Call, desk: Desk) -> list[str]:
    """A command's words; `/persona` is short for `/persona list`."""
    path = spec.path[:-1] if len(spec.path) > 1 and spec.path[-1] in OWN_ACTIONS else spec.path
    return list(dict.fromkeys((" ".join(path), desk.names.of_path(path, call.locale))))


def _introduction(call: Call, desk: Desk) -> str:
    persona = desk.library.get(call.persona_id)
    if persona is None:
        return desk.text("help-introduction-nobody", call.locale)
    return desk.text("help-introduction", call.locale, persona=persona.name)


async def _address(call: Call, desk: Desk) -> str:
    is_named = desk.library.get(call.persona_id) is not None
    return await tell_address(desk, call.inbound.channel, call.settings, call.locale, is_named=is_named)


async def tell_address(
    desk: Desk, channel: ChannelRef, settings: SessionSettings, locale: str, *, is_named: bool
) -> str:
    """How to be answered in a channel: by what its settings say, by whether a persona's name calls it, and by what the
    platform lets us hear (T18).
    """
    values = settings.values
    if channel.is_dm:
        return desk.text("help-address-dm", locale)
    if not await desk.platforms.hears_everything(channel):
        return desk.text("help-address-unheard", locale)
    activation, keywords = values.activation, ", ".join(values.activation_keywords)
    if activation is Activation.KEYWORD and not keywords:
        activation = Activation.MENTION  # nothing else is left of it
    nobody = "" if is_named or activation is Activation.ALWAYS else "-nobody"
    return desk.text(f"help-address-{activation.value}{nobody}", locale, keywords=keywords)


def _description(spec: CommandSpec, call: Call, desk: Desk) -> str:
    return desk.text(f"command-{'-'.join(spec.path)}", call.locale)


def _usage(spec: CommandSpec, call: Call, desk: Desk) -> str:
    """How to write a command, in English and in the caller's language, and what its options mean."""
    names = {option.name: desk.names.of_option(option.name, call.locale)[0] for option in spec.options}
    english, *others = _spellings(spec, call, desk)
    forms = [" ".join((f"/{english}", *(_form(option, option.name, option.choices) for option in spec.options)))]
    for words in others:
        choices = {
            option.name: [desk.names.of_choice(choice, call.locale)[0] for choice in option.choices]
            for option in spec.options
        }
        given = (_form(option, names[option.name], choices[option.name]) for option in spec.options)
        forms.append(" ".join((f"/{words}", *given)))
    heading = " · ".join(f"`{form}`" for form in forms)
    lines = [f"{heading} – {_description(spec, call, desk)}"]
    for option in spec.options:
        meaning = desk.text(option.description, call.locale)
        lines.append(f"- {_option_names(option, names[option.name])} – {meaning}")
    if flag := _flag_of_words(spec):
        lines.append(desk.text("help-quotes", call.locale, flag=flag))
    if spec.example:
        lines.append(desk.catalogue.text("help-example", call.locale, line=f"`/{spec.example}`"))
    return "\n".join(lines)


def _flag_of_words(spec: CommandSpec) -> str | None:
    """A flag that takes several words although the command's own text may follow it."""
    has_text = any(option.rest and not option.flag for option in spec.options)
    return next((option.flag for option in spec.options if option.flag and option.rest and has_text), None)


def _option_names(option: OptionSpec, name: str) -> str:
    """How an option is typed: `-p`; for a reader of another language `-p` · `--页码`."""
    english = option.flag or option.name
    also = f"--{name}" if option.flag else name
    return f"`{english}`" if name == option.name else f"`{english}` · `{also}`"


def _form(option: OptionSpec, name: str, choices: Sequence[str]) -> str:
    """An option in a usage line: `<required>`, `[-p page]`, `[-t on|off]`, `[-m]`."""
    value = "|".join(choices) or name
    if option.kind is OptionKind.SWITCH:
        value = ""
    words = " ".join(filter(None, (option.flag, value)))
    return f"<{words}>" if option.required else f"[{words}]"


async def start(call: Call, desk: Desk) -> Outbound | None:
    """`/start`: the persona greets; once it has, a short hello and how to be answered."""
    persona = desk.library.get(call.persona_id)
    greeted = await desk.greeter.greet(
        call.session,
        call.conversation_id,
        persona,
        user=call.inbound.author.name,
        position=call.message_id,
        handle=call.inbound.reply_handle,
    )
    if greeted:
        return None
    return desk.say("start-hello", call, address=await _address(call, desk))


async def suggest_commands(desk: Desk, query: ValueQuery) -> Sequence[str]:
    """Commands by what is typed of their names."""
    wanted = re.sub("[._ ]+", " ", query.typed.lstrip("".join(SLASHES))).casefold()
    locale = query.author.locale
    specs = [command.spec for command in desk.commands()]
    return [spec.name for spec in specs if wanted in spec.name or wanted in desk.names.of_path(spec.path, locale)]


HELP = ("help",)
"""What a slash alone stands for, too."""
START = ("start",)
"""What people send to get to know a bot."""

HELP_COMMANDS = (
    Command(
        spec=CommandSpec(path=HELP, options=(OptionSpec(name="command", rest=True, completes=True),), ephemeral=True),
        run=show_help,
        suggest=suggest_commands,
    ),
    # Links of the form t.me/bot?start=... add a word of their own, which must not be taken for a mistake.
    Command(spec=CommandSpec(path=START, options=(OptionSpec(name="payload", rest=True),)), run=start),
)

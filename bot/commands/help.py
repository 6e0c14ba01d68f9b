"""/help and /start: what this is, how to address it here, and what the caller may ask of it (X13)."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from bot.chat import CommandSpec, OptionKind, OptionSpec, Outbound, ValueQuery
from bot.commands.command import Call, Command, Desk
from bot.commands.parse import OWN_ACTIONS
from bot.errors import UserError
from bot.settings import Activation


async def show_help(call: Call, desk: Desk) -> Outbound:
    """`/help [command]`: the overview, or how to write one command or group."""
    commands = [command.spec for command in desk.commands()]
    if typed := call.options.get("command"):
        path = _path(typed)
        named = [spec for spec in commands if spec.path[: len(path)] == path]
        if not named:
            near = difflib.get_close_matches(" ".join(path)[:100], [spec.name for spec in commands], n=3, cutoff=0.4)
            raise UserError("help-unknown", command=typed, near=", ".join(near or ["help"]))
        return Outbound(text="\n\n".join(_usage(spec, call, desk) for spec in named))
    managing = next((spec for spec in commands if spec.manages), None)
    may_manage = managing is not None and await desk.may_run(managing, call)  # asked once: it is a platform's call
    usable = [spec for spec in commands if may_manage or not spec.manages]
    lines = [f"- `/{_short(spec)}` – {_description(spec, call, desk)}" for spec in usable]
    pieces = (_introduction(call, desk), _address(call, desk), "\n".join(lines), desk.text("help-more", call.locale))
    return Outbound(text="\n\n".join(pieces))


def _path(typed: str) -> tuple[str, ...]:
    return tuple(typed.strip().lstrip("/").lower().replace(".", " ").replace("_", " ").split())


def _introduction(call: Call, desk: Desk) -> str:
    persona = desk.library.get(call.persona_id)
    if persona is None:
        return desk.text("help-introduction-nobody", call.locale)
    return desk.text("help-introduction", call.locale, persona=persona.name)


def _address(call: Call, desk: Desk) -> str:
    """How to be answered here: by what the settings of this place say."""
    values = call.settings.values
    if call.inbound.channel.is_dm:
        return desk.text("help-address-dm", call.locale)
    if values.activation is Activation.KEYWORD and values.activation_keywords:
        return desk.text("help-address-keyword", call.locale, keywords=", ".join(values.activation_keywords))
    return desk.text(f"help-address-{values.activation.value}", call.locale)


def _description(spec: CommandSpec, call: Call, desk: Desk) -> str:
    return desk.text(f"command-{'-'.join(spec.path)}", call.locale)


def _short(spec: CommandSpec) -> str:
    """A command as it is typed: `/persona` is short for `/persona list`."""
    return " ".join(spec.path[:-1] if len(spec.path) > 1 and spec.path[-1] in OWN_ACTIONS else spec.path)


def _usage(spec: CommandSpec, call: Call, desk: Desk) -> str:
    form = " ".join((f"/{_short(spec)}", *map(_form, spec.options)))
    lines = [f"`{form}` – {_description(spec, call, desk)}"]
    for option in spec.options:
        name = option.flag or option.name
        lines.append(f"- `{name}` – {desk.text(f'option-{option.name}', call.locale)}")
    return "\n".join(lines)


def _form(option: OptionSpec) -> str:
    """An option in a usage line: `<required>`, `[-p page]`, `[-t on|off]`, `[-m]`."""
    value = "|".join(option.choices) or option.name
    if option.kind is OptionKind.SWITCH:
        value = ""
    words = " ".join(filter(None, (option.flag, value)))
    return f"<{words}>" if option.required else f"[{words}]"


async def start(call: Call, desk: Desk) -> Outbound | None:
    """`/start`: the persona greets; once it has, a short hello."""
    persona = desk.library.get(call.persona_id)
    greeted = await desk.greeter.greet(
        call.session,
        call.conversation_id,
        persona,
        user=call.inbound.author.name,
        position=call.message_id,
        handle=call.inbound.reply_handle,
    )
    return None if greeted else desk.say("start-hello", call)


async def suggest_commands(desk: Desk, query: ValueQuery) -> Sequence[str]:
    """Commands by what is typed of their names."""
    wanted = " ".join(_path(query.typed))
    return [command.spec.name for command in desk.commands() if wanted in command.spec.name]


HELP_COMMANDS = (
    Command(
        spec=CommandSpec(
            path=("help",), options=(OptionSpec(name="command", rest=True, completes=True),), ephemeral=True
        ),
        run=show_help,
        suggest=suggest_commands,
    ),
    # Links of the form t.me/bot?start=... add a word of their own, which must not be taken for a mistake.
    Command(spec=CommandSpec(path=("start",), options=(OptionSpec(name="payload", rest=True),)), run=start),
)

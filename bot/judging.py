"""What is to become of an inbound: a command, an answer, a notice, or nothing. Decides; does nothing about it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from bot.cast import Cast, whom_it_calls
from bot.chat import SLASHES, CommandNames, Inbound, InboundKind, speaks_to_us
from bot.commands.command import Command, Desk
from bot.commands.help import START
from bot.commands.parse import Parsed, check_options, find_spec, near_commands, read_options
from bot.commands.persona_interview import ANSWER
from bot.gate import LoopGuard, should_answer
from bot.overrides import SessionSettings
from bot.quota import Admission
from bot.store.database import Tx
from bot.store.tables import MessageKind


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandLine:
    """A command that an inbound names, however it was given: its options are to be read for text, a table for menus."""

    command: Command
    options: Parsed | Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A message, command or button that is heard for the first time, and what is in force where it was."""

    inbound: Inbound
    settings: SessionSettings
    cast: Cast
    spoken_to: str | None
    """The persona whose message it replies to."""
    is_private: bool
    """Whether its author wants privacy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What is to become of an inbound."""

    addressed: bool = False
    kind: MessageKind = MessageKind.SAID
    """A command is one also when it is none of ours, or no longer: it reaches no prompt."""
    command: CommandLine | None = None
    notice: str | None = None
    """A catalogue message that tells why nothing will happen or, before an answer, that a limit is near."""
    facts: Mapping[str, str | int] = field(default_factory=dict)
    """What fills it."""
    callees: tuple[str, ...] = ()
    """Who of a cast is to answer, in this order; empty where one persona speaks alone."""

    @property
    def is_contact(self) -> bool:
        """Whether somebody turns to the bot and gets something."""
        return self.addressed or self.command is not None

    @property
    def is_start(self) -> bool:
        """Whether it is /start, which asks for a first contact and for nothing else."""
        return self.command is not None and self.command.command.spec.path == START


NO_SLASHES = str.maketrans(dict.fromkeys(SLASHES))


def is_text_command(inbound: Inbound) -> bool:
    """Whether a message is written like a command where such count; whether it is one of ours is another question."""
    counts = inbound.mentions_me or not inbound.commands_need_mention
    is_by_person = inbound.kind is InboundKind.MESSAGE and not inbound.author.is_bot
    return is_by_person and counts and inbound.text.startswith(SLASHES)


def is_slash_alone(inbound: Inbound) -> bool:
    """Whether somebody may want to know what could follow."""
    return is_text_command(inbound) and speaks_to_us(inbound) and not inbound.text.translate(NO_SLASHES).strip()


@dataclass(frozen=True, kw_only=True)
class Judge:
    """Decides, by the same rules for every way in (X02)."""

    desk: Desk
    loop_guard: LoopGuard
    rng: random.Random

    def judge(self, tx: Tx, case: Case) -> Verdict:
        """What becomes of it; what is admitted is counted by the limits from here on."""
        inbound, settings, cast = case.inbound, case.settings, case.cast
        if inbound.is_starter:
            return Verdict()
        line = self.command_line(inbound)
        if line is not None:
            return Verdict(kind=MessageKind.COMMAND, command=line)
        if is_slash_alone(inbound):
            return Verdict(kind=MessageKind.COMMAND, notice="command-slash-alone")
        if inbound.kind is not InboundKind.MESSAGE:
            return Verdict(kind=MessageKind.COMMAND, notice="command-gone")
        if is_text_command(inbound) and speaks_to_us(inbound) and inbound.text[1:2].isalpha():
            return self._unknown_command(inbound)  # in a group, one that names nobody may be another bot's (T17)
        self.loop_guard.hears(inbound)
        main = cast.member(cast.main_id)
        is_called = should_answer(
            inbound, settings.values, main.names if main else (), self.rng, is_private=case.is_private
        ) or (cast.is_several and bool(cast.named(inbound.text)))
        if not is_called or not self.loop_guard.allows(inbound):
            return Verdict()
        ruling = self.desk.admit(tx, inbound, settings)
        is_told = ruling.admission is not Admission.SILENT and not inbound.author.is_bot  # D07
        notice = ruling.notice if is_told and ruling.notice else None
        if not ruling.is_admitted:
            return Verdict(notice=notice, facts=ruling.facts)
        return Verdict(addressed=True, callees=self._callees(tx, case), notice=notice, facts=ruling.facts)

    def _callees(self, tx: Tx, case: Case) -> tuple[str, ...]:
        """Whose answers there will be; each after the first counts against the limit, too."""
        inbound, settings = case.inbound, case.settings
        if not case.cast.is_several:
            return ()
        first, *more = whom_it_calls(
            case.cast, inbound, settings.values, self.rng, spoken_to=case.spoken_to, by_chance=not case.is_private
        )
        admitted = takewhile(lambda _: self.desk.admit(tx, inbound, settings, warns=False).is_admitted, more)
        return (first, *admitted)

    def _unknown_command(self, inbound: Inbound) -> Verdict:
        specs = [command.spec for command in self.desk.commands()]
        near = ", ".join(near_commands(inbound.text[1:], specs, self.desk.names))
        return Verdict(
            kind=MessageKind.COMMAND, notice="command-meant" if near else "command-unknown", facts={"near": near}
        )

    def command_line(self, inbound: Inbound) -> CommandLine | None:
        """The command of ours that an inbound names, or whose question it answers."""
        return find_command(inbound, self.desk) or self._answered_question(inbound)

    def _answered_question(self, inbound: Inbound) -> CommandLine | None:
        """The command that asked somebody something, if this is the next thing they say to us."""
        is_said = inbound.kind is InboundKind.MESSAGE and speaks_to_us(inbound) and bool(inbound.text.strip())
        if not is_said or is_text_command(inbound):
            return None
        if self.desk.interviews.find(inbound.channel.session_key, inbound.author.key) is None:
            return None
        command = next(command for command in self.desk.commands() if command.spec.path == ANSWER)
        return CommandLine(command=command, options={})


def find_command(inbound: Inbound, desk: Desk) -> CommandLine | None:
    """The command of ours that an inbound names."""
    by_path = {command.spec.path: command for command in desk.commands()}
    if inbound.command is not None:
        command = by_path.get(inbound.command.path)
        return CommandLine(command=command, options=inbound.command.options) if command else None
    if not is_text_command(inbound) and (inbound.author.is_bot or inbound.kind is not InboundKind.BUTTON):
        return None
    specs = [command.spec for command in by_path.values()]
    line = inbound.text[1:] if inbound.text.startswith(SLASHES) else inbound.text  # a button has no slash
    parsed = find_spec(line, specs, desk.names)
    return CommandLine(command=by_path[parsed.spec.path], options=parsed) if parsed else None


def options_of(line: CommandLine, names: CommandNames) -> dict[str, str]:
    """The options of a command by their names.

    Raises:
        UserError: one does not fit.
    """
    given = line.options
    return read_options(given, names) if isinstance(given, Parsed) else check_options(line.command.spec, given, names)

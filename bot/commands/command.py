"""What a command is: its definition, the call it receives, and the desk with everything it may use.

A command answers with an `Outbound`, or with `None` when it has answered itself or a turn will.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Protocol
from zoneinfo import ZoneInfo

from bot.approvals import Approvals
from bot.chat import ChannelRef, CommandNames, CommandSpec, Form, Inbound, Outbound, ReplyStream, ValueQuery
from bot.dispatch import Dispatcher
from bot.errors import UserError
from bot.gate import AccessPolicy
from bot.gauge import Gauge
from bot.greeting import Greeter
from bot.hook_calls import HookCalls
from bot.interviews import Interviews
from bot.llm.catalogue import ModelLimits
from bot.llm.directory import ModelDirectory
from bot.llm.quirks import Quirk
from bot.llm.router import EndpointHealth
from bot.llm.tariffs import Tariff
from bot.locale import Catalogue
from bot.lore import LoreReader
from bot.memory.eraser import Eraser
from bot.memory.keeper import Keeper
from bot.model_in_force import fallbacks_in_force, model_in_force
from bot.overrides import Resolver, SessionSettings
from bot.personas.imported import ImportedPersonas
from bot.personas.library import PersonaLibrary, Shelf
from bot.portraits import Portraits
from bot.quota import Quota, Ruling
from bot.sentences import Say
from bot.settings import Settings
from bot.store.database import Database, Tx
from bot.store.sessions import SessionRow
from bot.tasks import Tasks
from bot.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from bot.tools.mcp.health import ServerHealth


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One use of a command: who, where, with what options, and what is in force there."""

    inbound: Inbound
    session: SessionRow
    """As it was when the command was heard; whoever changes conversations reads it again."""
    conversation_id: int
    persona_id: str
    message_id: int
    """Row of the command itself; what a command says of "before" and "after" goes by it."""
    settings: SessionSettings
    options: Mapping[str, str]
    locale: str
    """Catalogue locale of the answer: the user's, else the place's, else English."""
    now: datetime
    answer: Callable[[Outbound], Awaitable[None]]
    """Answers at once, for a command that has more to say after its answer."""
    begin: Callable[[], Awaitable[ReplyStream]]
    """Begins an answer that is to change, for a command that takes its time."""

    def local(self, moment: datetime) -> datetime:
        """A moment as the clocks here show it."""
        return moment.astimezone(ZoneInfo(self.settings.values.timezone))


class Platforms(Protocol):
    """What commands need of the adapters."""

    async def may_manage(self, channel: ChannelRef, user_id: str, *, whole_place: bool = False) -> bool:
        """Whether the platform itself lets this user manage the channel."""

    async def hears_everything(self, channel: ChannelRef) -> bool:
        """Whether all that is said in a group reaches us (T18)."""

    def link(self, channel: ChannelRef, message_id: str) -> str | None:
        """Address of a message, where the platform has one."""

    async def delete(self, channel: ChannelRef, message_ids: Sequence[str]) -> None:
        """Delete messages of ours."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """Everything that commands work with."""

    db: Database
    settings: Settings
    resolver: Resolver
    library: PersonaLibrary
    imported: ImportedPersonas
    portraits: Portraits
    interviews: Interviews
    lore: LoreReader
    models: ModelDirectory
    limits: Callable[[str], ModelLimits]
    catalogue: Catalogue
    dispatcher: Dispatcher
    platforms: Platforms
    greeter: Greeter
    keeper: Keeper
    gauge: Gauge
    hooks: HookCalls
    toolbox: Toolbox
    approvals: Approvals
    tasks: Tasks
    policy: AccessPolicy
    quota: Quota
    learned: Callable[[str], Collection[Quirk]]
    """What a model's server refused, or its answers showed, by its full name."""
    forget: Callable[[str], Awaitable[None]]
    """Forgets that, so that the next request tries everything again."""
    count: Callable[[str], int]
    """Tokens of a text, as we count."""
    commands: Callable[[], Sequence[Command]]
    eraser: Eraser
    servers: Callable[[], Sequence[ServerHealth]] = tuple
    """How the servers of tools are doing."""
    endpoints: Callable[[], Sequence[EndpointHealth]] = tuple
    """Which servers of models failed when they were last asked."""
    tariff_of: Callable[[str], Tariff | None] = lambda _model: None
    """What tokens of a model cost, by its full name; `None` where nobody knows."""
    missed: Mapping[str, datetime] = field(default_factory=dict)
    """When a recurring job was to run that came too late for it, by its name."""

    @property
    def names(self) -> CommandNames:
        """What the commands are called in every language."""
        return CommandNames(translate=self.catalogue.text, locales=self.catalogue.locales)

    def text(self, message_id: str, locale: str | None, /, **facts: str | int | float) -> str:
        """A text of the catalogue. Its facts are data: people see them as they are, never read as Markdown (D28). The
        fact `option` is the name of an option, and `choices` are values of a closed set with commas between; these come
        in the language of the text, and so do the commas of all `LISTS`.
        """
        if isinstance(option := facts.get("option"), str):
            facts["option"] = self.names.of_option(option, locale)[0]
        if isinstance(choices := facts.get("choices"), str):
            facts["choices"] = ", ".join(self.names.of_choice(choice, locale)[0] for choice in choices.split(", "))
        comma = self.catalogue.text("list-comma", locale)
        facts |= {name: str(facts[name]).replace(", ", comma) for name in LISTS & facts.keys()}
        shown = {name: inert(fact) if isinstance(fact, str) else fact for name, fact in facts.items()}
        return _CODE.sub(_bare_code, self.catalogue.text(message_id, locale, **shown))

    def say(self, message_id: str, call: Call, /, **facts: str | int | float) -> Outbound:
        """An answer from the catalogue, in the caller's language."""
        return Outbound(text=self.text(message_id, call.locale, **facts))

    def words(self, call: Call) -> Say:
        """The texts of the catalogue in the caller's language, for what was chosen before that was known."""
        return partial(self.catalogue.text, locale=call.locale)

    async def may_run(self, spec: CommandSpec, call: Call) -> bool:
        """Whether the caller may use a command here."""
        return not spec.manages or self.policy.access.open_commands or await self.may_manage(call)

    async def may_manage(self, call: Call, *, whole_place: bool = False) -> bool:
        """Whether the caller may change this channel, or its whole place, for everyone (always so in a DM)."""
        author = call.inbound.author
        if self.policy.is_operator(author) or call.inbound.channel.is_dm:
            return True
        return await self.platforms.may_manage(call.inbound.channel, author.id, whole_place=whole_place)

    def shelf(self, call: Call) -> Shelf:
        """The personas that can be seen where a command is used."""
        return self.library.at(call.inbound.channel.place_key)

    def sees(self, model: str) -> bool:
        """Whether a model takes pictures, as far as is known."""
        return self.limits(model).vision and Quirk.NO_IMAGES not in self.learned(model)

    def calls_tools(self, model: str) -> bool:
        """Whether a model can call tools, as far as is known."""
        return self.limits(model).tools and Quirk.NO_TOOLS not in self.learned(model)

    async def demand_quota(self, call: Call) -> None:
        """Count a command that costs a model call against the limits (X10).

        Raises:
            UserError: one is reached.
        """
        ruling = await self.db.run(self.admit, call.inbound, call.settings, warns=False)
        if not ruling.is_admitted:
            raise UserError(ruling.notice, **ruling.facts)

    def admit(self, tx: Tx, inbound: Inbound, settings: SessionSettings, *, warns: bool = True) -> Ruling:
        """Count an answer of the model in force against the limits of whoever asks, where they do (X10); `warns` lets
        the ruling tell of a limit that is near.
        """
        bill = self.quota.bill(inbound.author, inbound.channel.place_key)
        model = model_in_force(self.models, settings).name
        fallbacks = fallbacks_in_force(self.models, settings.values, model)
        return self.quota.admit(tx, bill, model, fallbacks=fallbacks, warns=warns)


Run = Callable[[Call, Desk], Awaitable[Outbound | None]]
MakeForm = Callable[[Call, Desk], Awaitable[Form | None]]
"""`None` where it opens none this time. The call has no message of its own, and is answered by nothing else."""
Suggest = Callable[[Desk, ValueQuery], Awaitable[Sequence[str]]]
"""Values for an option, best first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A definition and what it does. Raises `UserError` for what the caller must mend."""

    spec: CommandSpec
    run: Run
    suggest: Suggest | None = None
    form: MakeForm | None = None
    """Makes the form that it opens where the platform has forms; `spec.opens_form` says that it may."""


_MARKUP = re.compile(r"[\\`*\]<>|~#&$]|(?<!\w)_+|_+(?!\w)")
"""A bracket that opens is let alone: nothing closes it, and with a backslash before it a formula would begin."""


def inert(text: str) -> str:
    """A text on one line, so escaped that no Markdown in it counts; names such as `keep_recent` stay as they are."""
    return _MARKUP.sub(lambda found: "".join(f"\\{mark}" for mark in found[0]), " ".join(text.split()))


LISTS = frozenset(
    ("abilities", "children", "choices", "flags", "groups", "kinds", "models", "names", "near", "quirks", "versions")
)
"""Facts that are several words with commas between; those commas come in the language of the text."""

_CODE = re.compile(r"\\.|`(?P<code>(?:[^`\\]|\\.)*)`", re.DOTALL)
"""A mark that counts for nothing, or code: there a backslash would be seen."""


def _bare_code(found: re.Match[str]) -> str:
    """Code as it is to be seen; a backtick within would end it."""
    code = found["code"]
    return found[0] if code is None else "`" + re.sub(r"\\(.)", r"\1", code).replace("`", "'") + "`"

"""What an extension may hook into, on one page: every hook, what it receives, and what its answer means.

Values are frozen: a hook that changes one returns a new one (`dataclasses.replace`), and `None` leaves all as it is.
Hooks run one after another in the order of EXTENSIONS, each with what the one before made of it. One that raises, takes
too long or answers with something else than is said here counts as if it had returned `None`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from enum import Enum, StrEnum
from typing import Any, Final, Protocol

from bot.chat import ChannelRef, Inbound, Outbound, SentPart
from bot.llm.model import Completion, ModelMessage, ToolCall, ToolSpec
from bot.memory.items import Delta, Memory
from bot.prompt.usage import PromptUsage
from bot.settings import PlaceSettings
from bot.store.sessions import SessionRow
from bot.store.window import WindowRow
from bot.turn import Turn

HOOK_SECONDS = 10.0
"""How long a hook may take: as long as a section of the prompt, since somebody waits for both."""


class Drop(Enum):
    """The answer that lets something go."""

    DROP = "drop"


DROP: Final = Drop.DROP


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelInput:
    """All that a model is asked with. The first messages of role SYSTEM become one; calls and results of tools stay
    together, and results without their call are left out.
    """

    messages: tuple[ModelMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    """What it may call. Only tools of the bot can be run, under their own names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """A tool must not run, which the model reads; or nothing may be answered, which whoever waits for it reads."""

    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Folding:
    """What stands in no notes of a conversation yet; the older part of it is to be folded into them."""

    session: SessionRow
    settings: PlaceSettings
    rows: tuple[WindowRow, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Withheld:
    """Messages that no model may read, from now on: they count as never said."""

    messages: tuple[int, ...]
    """Ids of rows that people said, of those that the hook was given."""
    reason: str = ""
    """What whoever waits for an answer reads, where what they said is among them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """What came of a turn that had something to say."""

    text: str
    is_cut: bool
    """Whether it ended early: by /stop, by a limit, or by a fault."""
    parts: tuple[SentPart, ...]
    """Where people see it; none when it was dropped on its way."""


class Phase(StrEnum):
    """How far a compaction is."""

    START = "start"
    DONE = "done"
    ERROR = "error"


@dataclass(frozen=True, kw_only=True, slots=True)
class CompactionNews:
    """How far a compaction is: it has one start and one end, however many calls a long backlog takes."""

    session: SessionRow
    reason: str
    """manual, soft, hard or idle."""
    phase: Phase
    tokens_before: int
    """Of the messages that are folded."""
    tokens_after: int = 0
    """Of the memory, once it is done."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Clearing:
    """Somebody cleared memory: what of it (as /memory clear names it), and how many things that were."""

    session: SessionRow
    what: str
    count: int
    person_key: str | None = None
    """Who was forgotten (`what` is "person" then), which is told of each session that they have spoken in."""


class Origin(StrEnum):
    """What failed."""

    INBOUND = "inbound"
    TURN = "turn"
    MODEL = "model"
    TOOL = "tool"


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Something failed, and whoever waited for it was told. Faults of extensions are told to the operator alone."""

    origin: Origin
    channel: ChannelRef | None
    error: Exception


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryRequest:
    """What is to be folded into memory. Sources of a delta are ids of `rows`, people are keys of their authors, items
    to replace or retire are ids of `memory`; what refers to anything else is left out of it.
    """

    session: SessionRow
    persona_name: str
    rows: tuple[WindowRow, ...]
    memory: Memory
    zone: tzinfo
    focus: str
    """What somebody asked to keep above all; "" = nothing."""
    max_tokens: int
    """Of the gist."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hooks:
    """The hooks of one extension. All are `async`."""

    on_inbound: Callable[[Inbound], Awaitable[Inbound | Drop | None]] | None = None
    """Everything that reaches us but the move of a place, before anything is stored. `DROP`: nothing is kept, answered
    or asked.
    """
    before_turn: Callable[[Turn], Awaitable[Withheld | Refusal | None]] | None = None
    """Before a turn is answered, and again where it has changed since. Where what is to be answered is withheld, and at
    a refusal, no model is asked.
    """
    before_model: Callable[[Turn, ModelInput], Awaitable[ModelInput | None]] | None = None
    """Before each request of a turn, tool steps too. Nothing is left out of the input yet but what earlier requests had
    no room for; it is fitted into the window afterwards. /context, and when to compact, go by what the bot would ask.
    """
    after_model: Callable[[Turn, Completion], Awaitable[None]] | None = None
    """What the model answered to each of them, before tools run."""
    before_tool: Callable[[Turn, ToolCall], Awaitable[Refusal | None]] | None = None
    after_tool: Callable[[Turn, ToolCall, str], Awaitable[str | None]] | None = None
    """What a tool said. A text takes its place, also in what is stored."""
    before_reply: Callable[[Turn, str], Awaitable[str | Refusal | None]] | None = None
    """The whole answer, as long as nobody has stopped it. A text takes its place, also in the history; what is refused
    is neither shown nor kept. Where this is set, answers are not shown while they grow.
    """
    wants_reply: Callable[[Turn], Awaitable[bool]] | None = None
    """Whether `before_reply` is to have the answer of this turn; without it, that of every turn."""
    on_outbound: Callable[[ChannelRef, Outbound], Awaitable[Outbound | Drop | None]] | None = None
    """Every message to people on its way out: answers, notices, reminders; of speech first the words, then the
    recording, which has no text. The history keeps what was answered, unless that was dropped. Where this is set,
    nothing is shown while it grows.
    """
    after_turn: Callable[[Turn, Answered], Awaitable[None]] | None = None
    """After the answer is stored; the session's next turn waits for it."""
    on_usage: Callable[[Turn, PromptUsage], Awaitable[None]] | None = None
    """What each request fills of the window, right before it is sent."""
    before_folding: Callable[[Folding], Awaitable[Withheld | Refusal | None]] | None = None
    """Before messages are folded into notes. What is withheld is not noted; at a refusal nothing is folded for now."""
    on_compaction: Callable[[CompactionNews], Awaitable[None]] | None = None
    on_memory_cleared: Callable[[Clearing], Awaitable[None]] | None = None
    on_error: Callable[[Failure], Awaitable[None]] | None = None
    summarise: Callable[[SummaryRequest], Awaitable[Delta]] | None = None
    """Takes the place of the summary model. One extension may set it. Where it fails, nothing is folded."""
    seconds: float = HOOK_SECONDS
    """How long each of these may take; raise it where one of them asks a model."""


class Metadata(Protocol):
    """What an extension keeps for a session in the bot's database: JSON values by name. /memory export tells them,
    `/memory clear all` erases them.
    """

    async def read(self) -> Mapping[str, Any]:
        """All of them."""

    async def put(self, name: str, value: Any, *, about: str | None = None) -> bool:
        """Keep a value. One that tells something of a person says so by their key (`about`), so that it can be erased
        with all else about them; of somebody who wants privacy nothing is kept, and this returns false.

        Raises:
            ValueError: it is no JSON, or larger than 64 KiB.
        """

    async def drop(self, name: str) -> bool:
        """Forget one; whether it was there."""


class Host(Protocol):
    """What an extension may ask of the bot. `extend(host)` receives it."""

    def metadata(self, namespace: str, session: SessionRow) -> Metadata:
        """A store of one's own in a session."""

    async def ask(
        self, session: SessionRow, messages: Sequence[ModelMessage], *, model: str | None = None, max_tokens: int = 1024
    ) -> str:
        """What a model says to something, the default one unless another is named; the call is in the ledger and counts
        against the limits of its place.

        Raises:
            ModelError: it could not be asked, or a limit has no room for it (kind "quota").
        """

    async def moderate(
        self, session: SessionRow, texts: Sequence[str], *, model: str, seconds: float = 5.0
    ) -> Sequence[bool]:
        """Which of some texts a moderation endpoint (`provider/model`) flags; the call is in the ledger.

        Raises:
            ModelError: it gave no verdicts in time.
        """

    async def compact(self, session: SessionRow, *, focus: str = "") -> bool:
        """Fold old messages into memory now, as /compact does; whether any were."""

    def count(self, text: str) -> int:
        """Tokens of a text, as the bot counts."""

"""What to do differently for a model behind an endpoint: known beforehand of kinds of servers and of models, as data
with its sources, or learned once from what was refused (`bot.llm.lessons`). Sends nothing.

What a server says is learned at once; what it merely does is not, for one odd answer must not change a model for good.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit


class Quirk(StrEnum):
    """One thing to do differently for a model behind an endpoint."""

    MAX_COMPLETION_TOKENS = "max_completion_tokens"
    """The output limit goes by its newer name (L01)."""
    NO_SAMPLING = "no_sampling"
    """Only default sampling (L02)."""
    NO_EXTRAS = "no_extras"
    """No parameters beyond those of the API."""
    NO_SYSTEM = "no_system"
    """No system role: its text goes before the first user text (L07)."""
    ALTERNATING = "alternating"
    """One leading system message, then user and assistant in turn (L06)."""
    NO_STREAM = "no_stream"
    """Answers come whole."""
    NO_STREAM_OPTIONS = "no_stream_options"
    NO_STOP = "no_stop"
    """No stop sequences (L26)."""
    ONE_IMAGE = "one_image"
    """One image in a request at most: the newest."""
    NO_IMAGES = "no_images"
    """Text only (L23)."""
    NO_NAME = "no_name"
    """No `name` in messages (L17)."""
    NO_TOOLS = "no_tools"
    NO_THINKING = "no_thinking"
    """No parameter that switches reasoning."""
    NO_THINKING_WITH_TOOLS = "no_thinking_with_tools"
    """Reasoning is off in requests with tools."""
    NO_LENGTHS = "no_lengths"
    """No `minLength` and `maxLength` in a schema: strict outputs of some servers do without."""
    NO_JSON_SCHEMA = "no_json_schema"
    """No schema in `response_format`: `json_object` and the schema in words (L13)."""
    NO_JSON_OBJECT = "no_json_object"
    """No `response_format` at all (L13)."""
    NO_REASONING_REPLAY = "no_reasoning_replay"
    """Reasoning must not be sent back (L19)."""
    NO_BARE_TOOL_ROUNDS = "no_bare_tool_rounds"
    """Tool rounds only with the reasoning that led to them: those of the past, which lack it, go as text (L27)."""
    PLAIN_CALL_IDS = "plain_call_ids"
    """Ids of tool calls have nine letters and digits."""
    THINKS_UNOPENED = "thinks_unopened"
    """Starts inside its reasoning and writes only the closing tag (L03): hold the answer until that is settled."""
    NEEDS_ROOM = "needs_room"
    """Spends the output limit on reasoning (L18): send a larger one."""


class ThinkingStyle(StrEnum):
    """The parameter by which a server switches reasoning."""

    EFFORT = "reasoning_effort"
    TEMPLATE = "chat_template_kwargs"
    ENABLE = "enable_thinking"
    THINK = "think"
    TYPE = "thinking"
    REASONING = "reasoning"


class Kind(StrEnum):
    """Kinds of servers of which something is known beforehand."""

    OPENAI = "openai"
    AZURE = "azure"
    OPENROUTER = "openrouter"
    DEEPSEEK = "deepseek"
    GEMINI = "gemini"
    MISTRAL = "mistral"
    OLLAMA = "ollama"
    LMSTUDIO = "lmstudio"
    VLLM = "vllm"
    LLAMACPP = "llamacpp"


@dataclass(frozen=True, kw_only=True, slots=True)
class LearnedQuirk:
    """A quirk as it is remembered; `endpoint` is the provider's name and host."""

    endpoint: str
    model: str
    quirk: Quirk


HABITS = frozenset((Quirk.THINKS_UNOPENED, Quirk.NEEDS_ROOM))
"""Quirks that no server states: answers show them, and each such answer is mended by itself."""

HABIT_ANSWERS = 3
"""Answers in a row that must show a habit before it counts; ours to choose. Two may be two answers about one thing."""


async def _forget_nothing(_endpoint: str, _model: str) -> None:
    return None


async def _save_nothing(_learned: LearnedQuirk) -> None:
    return None


class Quirks:
    """The memory of quirks per endpoint and model. `load` runs once, at the first question."""

    def __init__(
        self,
        load: Callable[[], Iterable[LearnedQuirk]] = tuple,
        save: Callable[[LearnedQuirk], Awaitable[None]] = _save_nothing,
        drop: Callable[[str, str], Awaitable[None]] = _forget_nothing,
    ) -> None:
        self._load, self._save, self._drop = load, save, drop
        self._known: defaultdict[tuple[str, str], set[Quirk]] = defaultdict(set)
        self._showing: Counter[tuple[str, str, Quirk]] = Counter()
        self._loaded = False

    def known(self, endpoint: str, model: str) -> frozenset[Quirk]:
        """Everything to do differently for this model behind this endpoint."""
        return self.learned(endpoint, model) | _by_name(model)

    def learned(self, endpoint: str, model: str) -> frozenset[Quirk]:
        """What its own refusals and answers taught, without what its name says."""
        self._load_once()
        return frozenset(self._known.get((endpoint, model), ()))

    async def learn(self, endpoint: str, model: str, quirk: Quirk, *, is_guess: bool = False) -> None:
        """Remember what a request that passed had to do differently, unless it is known. It is saved if the server
        asked for it; a guess, made because the server failed without a word, counts only until the process ends.
        """
        if quirk not in self.known(endpoint, model):
            self._known[endpoint, model].add(quirk)
            if not is_guess:
                await self._save(LearnedQuirk(endpoint=endpoint, model=model, quirk=quirk))

    async def note_habits(self, endpoint: str, model: str, shown: Collection[Quirk]) -> None:
        """Take note of the habits that an answer showed: learned once `HABIT_ANSWERS` in a row did so."""
        for habit in HABITS:
            key = (endpoint, model, habit)
            self._showing[key] = self._showing[key] + 1 if habit in shown else 0
            if self._showing[key] == HABIT_ANSWERS:
                await self.learn(endpoint, model, habit)

    async def forget(self, endpoint: str, model: str) -> None:
        """Forget what was learned about a model, as after an update of its server: the full form is tried again."""
        self._load_once()
        self._known.pop((endpoint, model), None)
        for habit in HABITS:
            self._showing.pop((endpoint, model, habit), None)
        await self._drop(endpoint, model)

    def _load_once(self) -> None:
        if not self._loaded:
            self._loaded = True
            for learned in self._load():
                self._known[learned.endpoint, learned.model].add(learned.quirk)


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What is known of a kind of server, or of those of its models that a pattern fits."""

    kind: Kind
    models: re.Pattern[str] = re.compile("")
    quirks: frozenset[Quirk] = frozenset()
    thinking: ThinkingStyle | None = None
    can_stop_thinking: bool = False
    """Whether `reasoning_effort` has the value "none" there."""


def kind_of(name: str, base_url: str) -> Kind | None:
    """The kind of a server: of a hosted one by its address, of one at home by the name or the port that it goes by."""
    url = urlsplit(base_url)
    for kind, pattern in _HOSTS:
        if pattern.search(url.hostname or ""):
            return kind
    named = re.sub(r"[^a-z]", "", name.lower())
    at_home = (Kind.OLLAMA, Kind.LMSTUDIO, Kind.VLLM, Kind.LLAMACPP)
    return next((kind for kind in at_home if named == kind), _PORTS.get(url.port or 0))


def known_of(kind: Kind | None, model: str) -> Known | None:
    """What is known of a model behind a kind of server."""
    return next((known for known in KNOWN if known.kind is kind and known.models.search(model)), None)


_HOSTS = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (Kind.OPENAI, r"^(?:\w+\.)?api\.openai\.com$"),
        (Kind.AZURE, r"\.(?:openai|cognitiveservices|services\.ai)\.azure\.(?:com|us|cn)$"),
        (Kind.OPENROUTER, r"(?:^|\.)openrouter\.ai$"),
        (Kind.DEEPSEEK, r"^api\.deepseek\.com$"),
        (Kind.GEMINI, r"^generativelanguage\.googleapis\.com$"),
        (Kind.MISTRAL, r"^api\.mistral\.ai$"),
    )
)
_PORTS = {11434: Kind.OLLAMA, 1234: Kind.LMSTUDIO}

# The first entry that fits counts. Read in November 2026; what is missing here is learned from the first refusal.
KNOWN: tuple[Known, ...] = (
    # developers.openai.com/api/docs/guides/reasoning; vercel/ai#10932 (sampling goes with effort "none" alone),
    # openai-agents-python#2089 (the values of effort)
    Known(
        kind=Kind.OPENAI,
        models=re.compile(r"^(?:gpt-5\.[1-9]|gpt-[6-9])(?!.*chat)"),
        quirks=frozenset((Quirk.MAX_COMPLETION_TOKENS,)),
        thinking=ThinkingStyle.EFFORT,
        can_stop_thinking=True,
    ),
    Known(
        kind=Kind.OPENAI,
        models=re.compile(r"^(?:o[134]\b|gpt-5(?!.*chat))"),
        quirks=frozenset((Quirk.MAX_COMPLETION_TOKENS, Quirk.NO_SAMPLING, Quirk.NO_STOP)),
        thinking=ThinkingStyle.EFFORT,
    ),
    Known(kind=Kind.OPENAI, quirks=frozenset((Quirk.MAX_COMPLETION_TOKENS,))),
    # learn.microsoft.com, Azure OpenAI reference: a deployment's name tells nothing of its model
    Known(kind=Kind.AZURE, thinking=ThinkingStyle.EFFORT),
    # openrouter.ai/docs/use-cases/reasoning-tokens
    Known(kind=Kind.OPENROUTER, thinking=ThinkingStyle.REASONING),
    # api-docs.deepseek.com/guides/thinking_mode (on unless told otherwise) and /guides/json_mode
    Known(kind=Kind.DEEPSEEK, quirks=frozenset((Quirk.NO_JSON_SCHEMA,)), thinking=ThinkingStyle.TYPE),
    # ai.google.dev/gemini-api/docs/openai: 2.5 can go without, later ones always think
    Known(kind=Kind.GEMINI, models=re.compile(r"2\.5-flash"), thinking=ThinkingStyle.EFFORT, can_stop_thinking=True),
    Known(kind=Kind.GEMINI, thinking=ThinkingStyle.EFFORT),
    # mistralai/mistral-common (validators), partITech/php-mistral#76
    Known(kind=Kind.MISTRAL, quirks=frozenset((Quirk.NO_NAME, Quirk.NO_STREAM_OPTIONS, Quirk.PLAIN_CALL_IDS))),
    # ollama/ollama#14820: models that can think do unless told otherwise, and `think` counts elsewhere only
    Known(kind=Kind.OLLAMA, thinking=ThinkingStyle.EFFORT, can_stop_thinking=True),
    # lmstudio-ai/lmstudio-bug-tracker#2057
    Known(kind=Kind.LMSTUDIO, thinking=ThinkingStyle.EFFORT, can_stop_thinking=True),
    # docs.vllm.ai, features/reasoning_outputs; IBM Granite and DeepSeek call it by another name
    Known(kind=Kind.VLLM, thinking=ThinkingStyle.TEMPLATE),
    # ggml-org/llama.cpp#26045
    Known(kind=Kind.LLAMACPP, thinking=ThinkingStyle.TEMPLATE),
)

# What cannot be learned before it has done harm: models whose template opens the think tag in the prompt.
_BY_NAME: tuple[tuple[re.Pattern[str], frozenset[Quirk]], ...] = (
    (
        re.compile(r"deepseek-r1|r1-distill|\bqwq|qwen3.*-thinking|minimax-m[12]", re.IGNORECASE),
        frozenset((Quirk.THINKS_UNOPENED, Quirk.NEEDS_ROOM)),
    ),
    (
        re.compile(r"(?:^|/)(?:o[134]\b|gpt-5(?!.*chat)|gpt-oss)|reasoner", re.IGNORECASE),
        frozenset((Quirk.NEEDS_ROOM,)),
    ),
)


def _by_name(model: str) -> frozenset[Quirk]:
    return frozenset[Quirk]().union(*(quirks for pattern, quirks in _BY_NAME if pattern.search(model)))

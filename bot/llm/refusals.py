"""Reads what a server says when it refuses: one flat value from every error body in use, and what it means for us.

Knows no SDK and does not try again.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.llm.model import ContextTooLong, ModelError, ModelExhausted, ModelRefused, ModelUnreachable

_LONGEST = 300  # characters of a server's message that are passed on
_SHORTEST_SECRET = 4  # characters; a shorter key would blank ordinary words
_DEEPEST = 8  # levels of an error body that are read

# Keys that lead to words. The rest is skipped: pydantic's "input" repeats what people wrote.
_WORDS = ("error", "errors", "message", "msg", "detail", "details", "description", "reason", "metadata", "raw", "title")
_CODES = ("code", "type", "status")
_PATHS = ("param", "loc")
_COUNTS = ("n_ctx", "n_prompt_tokens")

# How servers say that the prompt does not fit: first the sentences with numbers, then those without (M17).
_OVERFLOWS = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        # llama.cpp; OpenAI, vLLM, DeepSeek, OpenRouter, SGLang
        r"request \((?P<given>\d+) tokens\) exceeds the available context size \((?P<limit>\d+) tokens\)",
        r"maximum context length (?:is|of) (?P<limit>\d+) tokens?.{0,60}?(?:requested|resulted in|has|total of)"
        r"\D{0,20}(?P<given>\d+)",
        r"input tokens exceed the configured limit of (?P<limit>\d+) tokens.{0,60}?(?P<given>\d+) tokens",
        r"\(length (?P<given>\d+)\).{0,40}longer than the maximum model length of (?P<limit>\d+)",
        r"\((?P<given>\d+) tokens\) is longer than the model's context length \((?P<limit>\d+)",
        # Anthropic; Gemini
        r"prompt is too long: (?P<given>\d+) tokens > (?P<limit>\d+)",
        r"exceed context limit: (?P<given>\d+) \+ \d+ > (?P<limit>\d+)",
        r"token count \((?P<given>\d+)\) exceeds the maximum number of tokens allowed \((?P<limit>\d+)\)",
        # Mistral, xAI, Moonshot, Copilot, Cohere, Cerebras, Qwen
        r"contains (?P<given>\d+) tokens.{0,40}too large for model with (?P<limit>\d+)",
        r"maximum prompt length is (?P<limit>\d+).{0,40}contains (?P<given>\d+)",
        r"exceeded model token limit: (?P<limit>\d+)(?: \(requested: (?P<given>\d+)\))?",
        r"token count of (?P<given>\d+) exceeds the limit of (?P<limit>\d+)",
        r"cannot exceed (?P<limit>\d+) - received (?P<given>\d+)",
        r"current length is (?P<given>\d+) while limit is (?P<limit>\d+)",
        r"range of input length should be \[\d+, (?P<limit>\d+)\]",
        # Text Generation Inference, Together; LM Studio, exllama, llama-cpp-python
        r"must be <= (?P<limit>\d+)\. Given: (?P<given>\d+) `inputs` tokens",
        r"`?inputs`? tokens \+ `?max_new_tokens`? must be <= (?P<limit>\d+)",
        r"keep the first (?P<given>\d+) tokens.{0,120}context length of only (?P<limit>\d+)",
        r"prompt length (?P<given>\d+) is greater than max_seq_len (?P<limit>\d+)",
        r"requested tokens \((?P<given>\d+)\) exceed context window of (?P<limit>\d+)",
        # Without numbers
        r"context_length_exceeded|exceed_context_size_error|maximum context length|available context size",
        r"exceeds? the (?:model's )?context (?:window|length)|context (?:length|window|size) exceed|"
        r"context window exceeds|greater than the context length",
        r"(?:prompt|input) is too long|prompt exceeds max length|reduce the length of the (?:messages|input|prompt)",
    )
)

_FILTERED = re.compile(r"content[_ ]?filter|content management policy|responsible ?ai|data_inspection_failed|"
                       r"content_policy|prohibited_content|\bmoderation\b|sensitive_words|content exists risk|"
                       r"invalid_prompt|violating our usage policy", re.IGNORECASE)  # fmt: skip

# Faults that pass by themselves; 520 to 524 are those of a well-known proxy, 529 is Anthropic's overload.
_PASSING = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529))

# Money does not come back within seconds.
_EXHAUSTED = re.compile(
    r"insufficient_quota|insufficient.?(?:balance|credit|funds)|billing|exceeded your current quota", re.IGNORECASE
)

_SECRETS = re.compile(r"\b(?:sk|pk|gsk|xai|key|tok)[-_][\w*.-]{6,}|\bAIza[\w-]{20,}|(?<=Bearer )\S+", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """One fault, flattened. `status` is `None` when there was no answer, or an error without one inside a stream."""

    message: str
    status: int | None = None
    codes: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    """Parts of the parameter that the server named, for example `("messages", "0", "name")`."""
    limit: int | None = None
    given: int | None = None
    is_final: bool = False
    """Whether another attempt is useless, whatever else is known."""
    is_unconnected: bool = False
    """Whether the server was not even reached."""
    is_page: bool = False
    """Whether a page for people came instead of an answer."""
    patience: float | None = None
    """Seconds that the server asks to wait."""

    @property
    def text(self) -> str:
        """Message and codes, for patterns."""
        return " ".join((self.message, *self.codes))

    @property
    def overflow(self) -> tuple[int | None, int | None] | None:
        """Limit and size in tokens, as far as stated, if the prompt did not fit; `None` for any other refusal."""
        if self.status in (401, 403, 429):
            return None
        for pattern in _OVERFLOWS:
            if found := pattern.search(self.text):
                counts = found.groupdict()
                return self.limit or _number(counts.get("limit")), self.given or _number(counts.get("given"))
        return None

    @property
    def passes(self) -> bool:
        """Whether the same request may pass in a moment."""
        if self.is_final or _EXHAUSTED.search(self.text):
            return False
        return self.status in _PASSING or (self.status is None and not self.filtered)

    @property
    def is_wordless(self) -> bool:
        """Whether the server said nothing but that it failed, as some do for a role they cannot place (L07)."""
        return self.status == 500 and not re.sub(r"internal server error|\W", "", self.message.lower())

    @property
    def filtered(self) -> bool:
        """Whether the provider declined the content, not the request (L12)."""
        return self.status in (None, 400, 403, 422) and bool(_FILTERED.search(self.text))


def read_refusal(status: int | None, body: object, fallback: str = "") -> Refusal:
    """Flatten an error body: JSON of any known shape, text, or nothing (`fallback` is the message then)."""
    facts: dict[str, list[str]] = defaultdict(list)
    for kind, fact in _facts(body, _DEEPEST):
        facts[kind].append(fact)
    coded = (int(code) for code in facts["code"] if re.fullmatch("[45][0-9][0-9]", code))
    return Refusal(
        status=status or next(coded, None),
        message="; ".join(dict.fromkeys(facts["word"])) or fallback,
        codes=tuple(dict.fromkeys(facts["code"])),
        path=tuple(facts["path"]),
        limit=_number(*facts["n_ctx"]),
        given=_number(*facts["n_prompt_tokens"]),
    )


def error_for(refusal: Refusal, model: str, *, secret: str = "") -> ModelError:
    """The error to raise when a refusal cannot be helped."""
    said = redact(refusal.message, secret) or f"HTTP {refusal.status} without a word"
    if refusal.overflow is not None:
        limit, given = refusal.overflow
        return ContextTooLong(model, said, limit=limit, given=given)
    prefix = f"PROVIDERS__{model.partition('/')[0].upper()}__"
    if refusal.status in (401, 403):
        return ModelRefused(model, f"the server refused the key: {said}", f"Check {prefix}API_KEY.")
    if refusal.status == 404:
        return ModelRefused(model, f"not found: {said}", f"Check the model's name and {prefix}BASE_URL.")
    if refusal.status == 402 or _EXHAUSTED.search(refusal.text):
        return ModelExhausted(model, f"no credit left: {said}", "Look into the account at the provider.")
    if refusal.passes or refusal.status in _PASSING:
        remedy = f"Check {prefix}BASE_URL." if refusal.is_page else "Trying later may help."
        is_of_server = refusal.is_unconnected
        return ModelUnreachable(model, said, remedy, patience=refusal.patience, is_of_server=is_of_server)
    return ModelRefused(model, said) if refusal.status else ModelError(model, said)


def redact(text: str, secret: str = "") -> str:
    """The text on one line, without keys and not too long: servers like to repeat the key they refuse."""
    if len(secret) >= _SHORTEST_SECRET:
        text = text.replace(secret, "***")
    line = " ".join(_SECRETS.sub("***", text).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _facts(value: object, depth: int) -> Iterator[tuple[str, str]]:
    if depth == 0:
        return
    if isinstance(value, str):
        nested = _json(value)
        if nested is not None:
            yield from _facts(nested, depth - 1)
        elif value.strip():
            yield "word", value.strip()
    elif isinstance(value, list):
        for item in value:
            yield from _facts(item, depth - 1)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key in _WORDS:
                yield from _facts(inner, depth - 1)
            elif key in _CODES and isinstance(inner, str | int):
                yield "code", str(inner)
            elif key in _COUNTS and isinstance(inner, int):
                yield key, str(inner)
            elif key in _PATHS and inner:
                yield from (("path", step) for step in _steps(inner))


def _json(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[{")):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def _steps(path: object) -> list[str]:
    steps = path if isinstance(path, list) else re.split(r"[.\[\],\s]+", str(path))
    return [str(step) for step in steps if str(step)]


def _number(*texts: str | None) -> int | None:
    return next((int(text) for text in texts if text), None)

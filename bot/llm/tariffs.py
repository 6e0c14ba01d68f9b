"""What tokens of a model cost: by the operator's word, by its vendor's price list, and nothing on one's own machine.

A literal table; it asks nobody. How cached tokens weigh against others is `bot.llm.prices`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache

from bot.llm.model import Usage

PER_MILLION = 1_000
"""Billionths of a currency for one token at a price of 1 for a million tokens."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tariff:
    """What one token costs, in billionths of `currency`; `None` where nothing has to be paid."""

    input: float
    cached: float
    output: float
    currency: str | None

    def cost_of(self, *, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> int:
        """What so many tokens cost, in billionths; those cached are some of the input."""
        fresh = max(0, input_tokens - cached_tokens)  # some servers count those cached apart
        return round(fresh * self.input + cached_tokens * self.cached + output_tokens * self.output)

    def charged(self, usage: Usage) -> Usage:
        """A usage with what it costs, unless the server has said that in our currency: another one would be the way
        round a limit.
        """
        if usage.cost is not None and self.currency in (None, usage.currency):
            return usage
        cost = self.cost_of(
            input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, cached_tokens=usage.cached_tokens
        )
        return replace(usage, cost=cost, currency=self.currency)


FREE = Tariff(input=0, cached=0, output=0, currency=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stated:
    """What the operator says that a million tokens cost; `None` = as the vendor asks. `cached` is a part of `input`."""

    input: float | None = None
    output: float | None = None
    cached: float | None = None
    currency: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Tariffs:
    """The tariff of every model by its full name. `stated` has keys `provider` and `provider/model`, of which the
    longer one wins; `at_home` are the servers that cost time and no money.
    """

    stated: Mapping[str, Stated]
    at_home: Collection[str]

    def of(self, model: str) -> Tariff | None:
        """What a model costs; `None` where nobody knows."""
        provider = model.partition("/")[0]
        known = FREE if provider in self.at_home else vendor_tariff(model)
        for key in (provider, model):
            if stated := self.stated.get(key):
                known = _overridden(known, stated)
        return known


def _overridden(known: Tariff | None, stated: Stated) -> Tariff | None:
    """A tariff as far as it is stated. Of an unknown one all but the cached price must be."""
    if known is None and (stated.input is None or stated.output is None):
        return None
    was = known or FREE
    read = was.input if stated.input is None else stated.input * PER_MILLION
    ratio = stated.cached if stated.cached is not None else was.cached / was.input if was.input else 1.0
    written = was.output if stated.output is None else stated.output * PER_MILLION
    is_free = not (read or written)
    currency = None if is_free else stated.currency or was.currency or "USD"
    return Tariff(input=read, cached=read * ratio, output=written, currency=currency)


def vendor_tariff(model: str) -> Tariff | None:
    """What its vendor asks for a model; the name may carry a provider, an owner, a date and a variant. A server that
    sells the models of others may ask something else, which the operator can state.
    """
    provider, _, name = model.lower().replace(".", "-").partition("/")
    table = _table()
    if own := table.get(f"{provider}/{name}"):
        return own
    if name.endswith(":free"):  # OpenRouter's word for it
        return FREE
    bare = name.rpartition("/")[2].partition(":")[0]
    undated = _DATED.sub("", bare)
    return next((table[one] for one in (bare, undated, f"{undated}-0") if one in table), None)


_DATED = re.compile(r"(?:-(?:latest|preview|\d{4}-\d\d-\d\d|\d\d-\d{4}|\d\d-\d\d|\d{8}|\d{6}|\d{4}))+$")


@cache
def _table() -> Mapping[str, Tariff]:
    rows = (line.split() for line in (_PRICES + _VOICES).splitlines())
    return {
        name: Tariff(
            input=float(read) * PER_MILLION,
            cached=float(cached) * PER_MILLION,
            output=float(written) * PER_MILLION,
            currency="USD" if float(read) or float(written) else None,
        )
        for name, read, cached, written in rows
    }


# Name, then US dollars for a million tokens: input, cached input, output. From the public price list genai-prices 0.2.3
# (November 2026; importing it takes 32 MB), base prices, the vendors' own names with - for every dot and without dates.
# With a provider before the name the row is that provider's alone.
_PRICES = """\
chatgpt-4o 5 5 15
codex-mini 1.5 0.375 6
gpt-3-5-turbo 0.5 0.5 1.5
gpt-3-5-turbo-0613 1.5 1.5 2
gpt-3-5-turbo-1106 1 1 2
gpt-4 30 30 60
gpt-4-1 2 0.5 8
gpt-4-1-mini 0.4 0.1 1.6
gpt-4-1-nano 0.1 0.025 0.4
gpt-4-5 75 37.5 150
gpt-4-turbo 10 10 30
gpt-4o 2.5 1.25 10
gpt-4o-2024-05-13 5 5 15
openai/gpt-4o:extended 6 6 18
gpt-4o-mini 0.15 0.075 0.6
gpt-5 1.25 0.125 10
gpt-5-1 1.25 0.125 10
gpt-5-1-codex-mini 0.25 0.025 2
gpt-5-2 1.75 0.175 14
gpt-5-2-pro 21 21 168
gpt-5-3 1.75 0.175 14
gpt-5-3-codex 1.75 0.175 14
gpt-5-4 2.5 0.25 15
gpt-5-4-mini 0.75 0.075 4.5
gpt-5-4-nano 0.2 0.02 1.25
gpt-5-4-pro 30 30 180
gpt-5-5 5 0.5 30
gpt-5-5-pro 30 30 180
gpt-5-6-luna 0.2 0.02 1.2
gpt-5-6-sol 4 0.4 20
gpt-5-6-terra 2 0.2 12
gpt-5-mini 0.25 0.025 2
gpt-5-nano 0.05 0.005 0.4
gpt-5-pro 15 15 120
gpt-6-1-sol 2 0.1 10
gpt-6-1-terra 1 0.05 5
gpt-6-astra 10 1 50
gpt-6-luna 0.1 0.01 0.5
gpt-6-sol 2 0.2 10
gpt-chat 5 0.5 30
o1 15 7.5 60
o1-mini 1.1 0.55 4.4
o1-pro 150 150 600
o3 2 0.5 8
o3-mini 1.1 0.55 4.4
o3-pro 20 20 80
o4-mini 1.1 0.275 4.4
claude-3-5-haiku 0.8 0.08 4
claude-3-5-sonnet 3 0.3 15
claude-3-7-sonnet 3 0.3 15
claude-3-haiku 0.25 0.03 1.25
claude-fable-5 10 1 50
claude-fable-5-1 10 0.25 50
claude-fable-5-2 8 0.2 40
claude-haiku-4-5 1 0.1 5
claude-haiku-5-5 0.1 0.01 0.5
claude-mythos-5-2 8 0.2 40
claude-opus-4-0 15 1.5 75
claude-opus-4-1 15 1.5 75
claude-opus-4-5 5 0.5 25
claude-opus-4-6 5 0.5 25
claude-opus-4-7 5 0.5 25
claude-opus-4-8 5 0.5 25
claude-opus-5 5 0.5 25
claude-opus-5-5 4 0.2 20
claude-sonnet-4-0 3 0.3 15
claude-sonnet-4-5 3 0.3 15
claude-sonnet-4-6 3 0.3 15
claude-sonnet-5 2 0.2 10
claude-sonnet-5-5 2 0.1 10
gemini-2-5-flash 0.3 0.03 2.5
gemini-2-5-flash-lite 0.1 0.01 0.4
gemini-2-5-pro 1.25 0.125 10
gemini-3-1-flash-lite 0.25 0.025 1.5
gemini-3-1-pro 2 0.2 12
gemini-3-5-flash 1.5 0.15 9
gemini-3-5-flash-lite 0.3 0.03 2.5
gemini-3-6-flash 1.5 0.15 7.5
gemini-3-7-flash 1.5 0.15 7.5
gemini-3-8-flash 1.5 0.15 7.5
gemini-3-flash 0.5 0.05 3
gemini-3-pro 2 0.2 12
gemini-4-argon 4 0.2 20
deepseek-chat 0.27 0.07 1.1
deepseek-flash 0.3 0.006 1.2
deepseek-reasoner 0.55 0.14 2.19
deepseek-v4-flash 0.3 0.006 1.2
deepseek-v4-pro 1.32 0.044 3.96
grok-3 3 0.75 15
grok-3-mini 0.3 0.075 0.5
grok-4-0709 3 0.75 15
grok-4-1-fast-non-reasoning 0.2 0.05 0.5
grok-4-1-fast-reasoning 0.2 0.05 0.5
grok-4-20 1.25 0.2 2.5
grok-4-3 1.25 0.2 2.5
grok-4-5 2 0.3 6
grok-4-6 2 0.5 6
grok-4-7 2 0.5 6
grok-4-fast-non-reasoning 0.2 0.05 0.5
grok-4-fast-reasoning 0.2 0.05 0.5
grok-build-0-1 1 0.2 2
grok-code-fast-1 0.2 0.02 1.5
codestral 0.3 0.3 0.9
ministral-14b-2512 0.2 0.02 0.2
ministral-3b-2512 0.1 0.01 0.1
ministral-8b-2512 0.15 0.015 0.15
ministral-8b 0.15 0.015 0.15
mistral-large 2 2 6
mistral-large-2512 0.5 0.05 1.5
mistral-large-4 0.7 0.07 2.1
mistral-medium-3-1 0.4 0.04 2
mistral-medium-3-5 1.5 0.15 7.5
mistral-medium 1.5 0.15 7.5
mistral-medium-2312 2.7 2.7 8.1
mistral-small-2603 0.15 0.015 0.6
mistral-small 0.15 0.015 0.6
kimi-k2-0711 0.6 0.15 2.5
kimi-k2-0905 0.6 0.15 2.5
kimi-k2-5 0.6 0.1 3
kimi-k2-6 0.95 0.16 4
kimi-k2-7-code 0.95 0.19 4
kimi-k2-7-code-highspeed 1.9 0.38 8
kimi-k2-thinking 0.6 0.15 2.5
kimi-k2-thinking-turbo 1.15 0.15 8
kimi-k2-turbo 1.15 0.15 8
kimi-k3 3 0.3 15
kimi-k3-1-pro 2 0.2 10
kimi-k3-1-pro-highspeed 4 0.2 20
glm-4-5 0.6 0.11 2.2
glm-4-5-air 0.2 0.03 1.1
glm-4-5-airx 1.1 0.22 4.5
glm-4-5-x 2.2 0.45 8.9
glm-4-5v 0.6 0.11 1.8
glm-4-6 0.6 0.11 2.2
glm-4-6v 0.3 0.05 0.9
glm-4-6v-flashx 0.04 0.004 0.4
glm-4-7 0.6 0.11 2.2
glm-4-7-flashx 0.07 0.01 0.4
glm-5 1 0.2 3.2
glm-5-1 1.4 0.26 4.4
glm-5-2 1.4 0.26 4.4
glm-5-3 1.4 0.26 4.4
glm-5-3-flash 0.15 0.03 0.5
glm-5-3-flashx 0.37 0.075 1.25
minimax-m2 0.3 0.03 1.2
minimax-m2-1-highspeed 0.6 0.03 2.4
minimax-m2-5-highspeed 0.6 0.03 2.4
minimax-m2-7 0.3 0.06 1.2
minimax-m2-7-highspeed 0.6 0.06 2.4
minimax-m3 0.3 0.06 1.2
minimax-m3-1-flash 0.15 0.015 0.6
groq/llama-3-1-8b-instant 0.05 0.05 0.08
groq/llama-3-3-70b-versatile 0.59 0.59 0.79
groq/qwen/qwen3-32b 0.29 0.29 0.59
groq/qwen/qwen3-8-27b 0.8 0.8 4
"""

# The same of what hears, speaks and judges, from each model's page below developers.openai.com/api/docs/models, read on
# 2026-11-30. A token is a tenth of a second that is heard, or a character that is spoken:
# - whisper-1 0.006 and gpt-transcribe 0.0045 dollars a minute, of 600 such tokens;
# - gpt-4o-transcribe 2.50 and 10, gpt-4o-mini-transcribe 1.25 and 5 by tokens, which the server counts;
# - tts-1 15 and tts-1-hd 30 for a million characters;
# - gpt-4o-mini-tts 0.60 for a million tokens of text and 12 for those of sound, of which its server tells none: 4,096
#   characters were 877 of the former and six times as many of the latter, so 15.5 for a million characters
#   (sanand0/blog, openai-tts-cost, 2025-11-02), and rather thought too dear;
# - omni-moderation asks nothing.
_VOICES = """\
whisper-1 10 10 0
gpt-transcribe 7.5 7.5 0
gpt-4o-transcribe 2.5 2.5 10
gpt-4o-mini-transcribe 1.25 1.25 5
tts-1 15 15 0
tts-1-hd 30 30 0
gpt-4o-mini-tts 16 16 0
omni-moderation 0 0 0
"""

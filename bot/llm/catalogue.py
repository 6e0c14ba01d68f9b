"""What models can do: window, output limit, abilities and token density, by family and by the operator's word.

A literal table of well-known families; it asks nobody. The operator's values always win.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import structlog

log = structlog.get_logger(__name__)

UNKNOWN_WINDOW = 8_192
"""Tokens assumed for a model that nobody told us about."""

SMALL_BY_DEFAULT: Mapping[str, int] = {"ollama": 4_096}
"""Servers that run every model with a small window unless told otherwise, whatever the model could do (L20)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelLimits:
    """What a model takes and gives. `max_output_tokens` is `None` when only the window bounds it."""

    context_window: int
    max_output_tokens: int | None = None
    vision: bool = False
    thinking: bool = False
    """Whether it can reason before it answers."""
    tools: bool = True
    source: Literal["configured", "embedded", "catalogue", "default"] = "default"
    """Where the window comes from."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitsOverride:
    """What the operator states about a model or about all models of a server; `None` leaves the table's value."""

    context_window: int | None = None
    max_output_tokens: int | None = None
    vision: bool | None = None
    thinking: bool | None = None
    tools: bool | None = None
    source: Literal["configured", "embedded"] = "configured"
    """Who states the window: the operator, or we, as we run the model."""


class ModelCatalogue:
    """Limits of every model. `overrides` has keys `provider` and `provider/model`; the longer one wins."""

    def __init__(self, overrides: Mapping[str, LimitsOverride] | None = None) -> None:
        self._overrides = dict(overrides or {})
        self._limits: dict[str, ModelLimits] = {}

    def limits(self, model: str) -> ModelLimits:
        """Limits of `provider/model`. Any name is fine; an unknown one gets cautious values, told once (M14)."""
        if model not in self._limits:
            self._limits[model] = self._look_up(model)
        return self._limits[model]

    def _look_up(self, model: str) -> ModelLimits:
        provider = model.partition("/")[0]
        found = family_limits(model)
        if found.source == "default" and token_factor(model) == UNKNOWN_FACTOR:
            log.info("model.unknown", model=model, context_window=found.context_window, token_factor=UNKNOWN_FACTOR)
        if small := SMALL_BY_DEFAULT.get(provider):
            found = replace(found, context_window=min(found.context_window, small))
        for key in (provider, model):
            if stated := self._overrides.get(key):
                found = _overridden(found, stated)
        return found


def family_limits(model: str) -> ModelLimits:
    """Limits of a model by its family alone; the name may carry a provider, an owner, a size and a quantisation."""
    for pattern, limits in _FAMILIES:
        if pattern.search(_name(model)):
            return limits
    return ModelLimits(context_window=UNKNOWN_WINDOW)


def token_factor(model: str) -> float:
    """How many tokens the model makes at most of one o200k_base token of ordinary English or Chinese chat."""
    return next((factor for pattern, factor in _FACTORS if pattern.search(_name(model))), UNKNOWN_FACTOR)


def was_prompt_cut(*, estimated_tokens: int, input_tokens: int) -> bool:
    """Whether the server seems to have cut the prompt silently (L20): it counted far less than was sent.

    `estimated_tokens` includes the family's factor, which is at most twice too high (SmolLM2 reading English), so
    less than `_CUT_RATIO` is no matter of tokenizers. Short prompts say nothing.
    """
    return estimated_tokens >= _TELLING_PROMPT and 0 < input_tokens < estimated_tokens * _CUT_RATIO


_TELLING_PROMPT = 1_024  # tokens; below, templates and estimates differ too much
_CUT_RATIO = 0.45

UNKNOWN_FACTOR = 1.35
"""Covers every measured family but SmolLM2."""


def _name(model: str) -> str:
    return model.partition("/")[2].lower() or model.lower()


def _overridden(limits: ModelLimits, stated: LimitsOverride) -> ModelLimits:
    return ModelLimits(
        context_window=stated.context_window or limits.context_window,
        max_output_tokens=stated.max_output_tokens or limits.max_output_tokens,
        vision=limits.vision if stated.vision is None else stated.vision,
        thinking=limits.thinking if stated.thinking is None else stated.thinking,
        tools=limits.tools if stated.tools is None else stated.tools,
        source=stated.source if stated.context_window else limits.source,
    )


def _family(
    pattern: str, window: int, output: int | None = None, can: str = "tools"
) -> tuple[re.Pattern[str], ModelLimits]:
    return re.compile(rf"(?:^|[/:._-]){pattern}"), ModelLimits(
        context_window=window,
        max_output_tokens=output,
        vision="vision" in can,
        thinking="thinking" in can,
        tools="tools" in can,
        source="catalogue",
    )


K, M = 1_024, 1_000_000
SEES = "tools vision"
THINKS = "tools thinking"
BOTH = "tools thinking vision"

# The first pattern that fits counts: exceptions stand before their family. Windows in tokens as the public price list
# genai-prices has them in November 2026 and, for models to run at home, their cards; the smallest value where members
# of a family differ. Output limits where the vendor states one.
_FAMILIES = (
    # OpenAI
    _family(r"gpt-6", 1_050_000, None, BOTH),
    _family(r"gpt-5\.(?:4|5|6)-(?:mini|nano)", 400_000, 128_000, BOTH),
    _family(r"gpt-5\.[456]", M, None, BOTH),
    _family(r"gpt-5(?:\.\d)?-chat|gpt-5\.3$|chatgpt-4o", 128_000, 16_384, SEES),
    _family(r"gpt-5", 400_000, 128_000, BOTH),
    _family(r"gpt-oss", 131_072, 131_072, THINKS),
    _family(r"gpt-4\.1", M, 32_768, SEES),
    _family(r"gpt-4o", 128_000, 16_384, SEES),
    _family(r"gpt-4-(?:turbo|vision|\d+-preview)", 128_000, 4_096, SEES),
    _family(r"gpt-4-32k", 32_768, 32_768),
    _family(r"gpt-4", 8_192, 8_192),
    _family(r"gpt-3\.5", 16_385, 4_096),
    _family(r"o1-(?:mini|preview)", 128_000, 32_768, "thinking"),
    _family(r"o3-mini", 200_000, 100_000, THINKS),
    _family(r"o[134]\b", 200_000, 100_000, BOTH),
    # Anthropic
    _family(r"claude-3[.-]7", 200_000, 64_000, BOTH),
    _family(r"claude-(?:[123]|instant|v)", 200_000, 4_096, SEES),
    _family(r"claude-(?:(?:opus|sonnet|haiku)-4(?![.-][6-9]\b)|4-)", 200_000, 32_000, BOTH),
    _family(r"claude", M, 64_000, BOTH),
    # Google
    _family(r"gemini-(?:1\.5|2\.0|(?:flash|pro)-1\.5)", M, 8_192, SEES),
    _family(r"gemini-(?:1\.0|pro$)", 32_768, 8_192),
    _family(r"gemini", M, None, BOTH),
    _family(r"gemma-?4", 131_072, None, BOTH),
    _family(r"gemma-?3:?-?(?:1b|270m)", 32_768, None, ""),
    _family(r"gemma-?3n", 32_768, None, "vision"),
    _family(r"gemma-?3", 131_072, None, "vision"),
    _family(r"gemma", 8_192, None, ""),
    # DeepSeek
    _family(r"deepseek-r1-(?:distill|\d+b)|deepseek-r1:\d", 32_768, None, "thinking"),
    _family(r"deepseek-(?:v4|flash|pro)", M, None, THINKS),
    _family(r"deepseek-(?:r1|reasoner)", 64_000, 32_768, THINKS),
    _family(r"deepseek-(?:chat|v3)", 64_000, 8_192),
    # Alibaba
    _family(r"qwen-?3\.[5-9].*(?:plus|flash|max)", M, None, BOTH),
    _family(r"qwen-?3\.[5-9]", 262_144, None, BOTH),
    _family(r"qwen-?3-vl", 131_072, 32_768, BOTH),
    _family(r"qwen-?3-(?:coder|max|next)", 262_144, 32_768),
    _family(r"qwen-?3", 32_768, 32_768, THINKS),
    _family(r"qwen-?2\.5-(?:vl|omni)", 32_768, 8_192, "vision"),
    _family(r"qwen-?2", 32_768, 8_192),
    _family(r"qwen-(?:plus|turbo|flash)", 131_072, 16_384, THINKS),
    _family(r"qwen-(?:vl|omni)", 32_768, 8_192, "vision"),
    _family(r"qwq", 32_768, 32_768, THINKS),
    # Meta
    _family(r"muse", M, None, BOTH),
    _family(r"llama-?4", 131_072, None, SEES),
    _family(r"llama-?3\.2.*vision", 131_072, None, SEES),
    _family(r"llama-?3\.[123]", 131_072),
    _family(r"llama-?3", 8_192, None, ""),
    _family(r"llama-?2", 4_096, None, ""),
    # Mistral
    _family(r"mistral-large-4", M, None, BOTH),
    _family(
        r"(?:mistral-(?:large|medium|small)-(?:25(?:0[5-9]|1)|26|3)|ministral-\d+b-2512|devstral)", 131_072, None, SEES
    ),
    _family(r"magistral", 40_000, 40_000, THINKS),
    _family(r"pixtral", 128_000, None, SEES),
    _family(r"codestral", 256_000),
    _family(r"mixtral-8x22b", 65_536),
    _family(r"(?:mistral-(?:nemo|large|medium|small|saba)|ministral)", 32_768),
    _family(r"(?:mixtral|mistral|open-mistral)", 32_768),
    # xAI
    _family(r"grok-4.*non-reasoning", M, None, SEES),
    _family(r"grok-4[.-](?:[15]-?fast|fast|20|3)", M, None, BOTH),
    _family(r"grok-4", 256_000, None, BOTH),
    _family(r"grok-code", 256_000, None, THINKS),
    _family(r"grok-3-mini", 131_072, None, THINKS),
    _family(r"grok-2", 32_768),
    _family(r"grok", 131_072),
    # Zhipu, Moonshot, MiniMax, ByteDance
    _family(r"glm-5\.[23]", M, None, THINKS),
    _family(r"glm-5v", 202_752, None, BOTH),
    _family(r"glm-4\.\dv", 65_536, 16_384, BOTH),
    _family(r"glm-(?:5|4\.[67])", 200_000, 131_072, THINKS),
    _family(r"glm-4\.5", 131_072, 98_304, THINKS),
    _family(r"glm", 128_000, 4_096),
    _family(r"kimi-k3", M, None, BOTH),
    _family(r"kimi-k2\.[5-9]", 262_144, None, BOTH),
    _family(r"kimi-k2-thinking", 262_144, None, THINKS),
    _family(r"kimi-k2", 131_072, 16_384),
    _family(r"moonshot-v1-32k", 32_768),
    _family(r"moonshot-v1-128k|kimi", 131_072),
    _family(r"minimax-m3", M, None, THINKS),
    _family(r"minimax-m[12]", 204_800, None, THINKS),
    _family(r"minimax", M),
    _family(r"seed-(?:1\.6|2)", 262_144, None, BOTH),
    # Others that people run
    _family(r"command-a", 256_000, 8_192),
    _family(r"command-r", 128_000, 4_096),
    _family(r"nova-(?:micro|lite|pro)", 128_000, 5_120),
    _family(r"nemotron", 131_072, None, THINKS),
    _family(r"hermes-?[34]", 131_072),
    _family(r"phi-?4-reasoning", 32_768, None, "thinking"),
    _family(r"phi-?4", 16_384),
    _family(r"phi-?3", 4_096, None, ""),
    _family(r"smollm2", 8_192, None, ""),
    _family(r"smollm3", 65_536, None, THINKS),
)

# Tokens per o200k_base token, the dearest of English and Chinese chat, measured on the published tokenizers; Claude's
# newer tokenizer is not published and counts more than the old one (1.33).
_FACTORS = tuple(
    (re.compile(pattern), factor)
    for pattern, factor in (
        (r"gpt-(?:4o|4\.1|4\.5|[5-9]|oss)|(?:^|/)o[134]\b", 1.0),
        (r"gpt-[34]", 1.43),
        (r"claude", 1.5),
        (r"deepseek-r1-distill", UNKNOWN_FACTOR),
        (r"deepseek", 1.07),
        (r"qwen|qwq", 1.1),
        (r"gemini|gemma", 1.12),
        (r"mistral|mixtral|ministral|magistral|devstral|codestral|pixtral", 1.3),
        (r"smollm", 2.3),
    )
)

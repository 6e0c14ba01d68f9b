"""What a token costs that the server has in its cache, of one that it has not, by the model's name. Has no amounts."""

from __future__ import annotations

import re

# The first pattern that fits counts. Ratios of the price list genai-prices 0.2.3 (November 2026), the highest where
# members of a family differ; a model that is not there has none, or its list states none.
_CACHED = tuple(
    (re.compile(rf"(?:^|[/:._-])(?:{pattern})"), price)
    for pattern, price in (
        # OpenAI
        (r"gpt-5(?:\.\d)?-pro|gpt-oss|chatgpt-4o", None),
        (r"gpt-[56]", 0.1),
        (r"gpt-4\.1|o3(?!-mini)|o4-mini", 0.25),
        (r"gpt-4o|o1|o3-mini", 0.5),
        # Anthropic, Google
        (r"claude-3-haiku", 0.12),
        (r"claude-(?:[2v]|instant)", None),
        (r"claude", 0.1),
        (r"gemini-(?:2\.[5-9]|[3-9]).*(?:image|live|tts|omni)", None),
        (r"gemini-(?:2\.[5-9]|[3-9])", 0.1),
        (r"gemini-2\.0-flash(?!-lite)", 0.25),
        # DeepSeek, Mistral, xAI
        (r"deepseek-(?:v[4-9]|flash|pro)", 0.1),
        (r"deepseek-(?:chat|reasoner)", 0.26),
        (r"mistral-(?:large-(?:2512|[4-9])|medium-(?:3|latest)|small-(?:26|latest))|ministral-\d+b-2512", 0.1),
        (r"grok-code", 0.1),
        (r"grok-[3-9]", 0.25),
        # Moonshot, MiniMax, Zhipu
        (r"kimi-k3", 0.1),
        (r"kimi-k2\.[67]", 0.2),
        (r"minimax-m(?:2\.7|3)", 0.2),
        (r"glm-(?:4\.[5-9]|5)", 0.25),
    )
)


def cached_price(model: str) -> float | None:
    """What a cached input token of a model costs of an uncached one, 0 to 1; `None` where that is unknown."""
    name = model.lower()
    return next((price for pattern, price in _CACHED if pattern.search(name)), None)

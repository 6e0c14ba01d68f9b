"""What a cached input token costs of an uncached one, by family, by the operator's word, and on one's own machine.

A literal table; it asks nobody. It decides when old messages move into memory (`SUMMARY__TRIGGER__TYPE=auto`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

AT_HOME = 0.05
"""On a machine of one's own a token costs time: one that stands in the server's cache is not read again, it only makes
every word of the answer a little slower. So a prompt may grow there before it is worth a call to shorten it.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """The prices of every model by its full name. `stated` has keys `provider` and `provider/model`, of which the
    longer one wins; `at_home` are the servers that cost time and no money.
    """

    stated: Mapping[str, float]
    at_home: Collection[str]

    def cached_price(self, model: str) -> float | None:
        """Of a cached input token, 0 to 1 of an uncached one; `None` where nobody knows, or nothing is cached."""
        billed = self.billed_price(model)
        return AT_HOME if billed is None and model.partition("/")[0] in self.at_home else billed

    def billed_price(self, model: str) -> float | None:
        """The same as far as somebody bills it: `None` at home, unless the operator has stated a price."""
        provider = model.partition("/")[0]
        for key in (model, provider):
            if key in self.stated:
                return self.stated[key]
        return None if provider in self.at_home else family_price(model)


def family_price(model: str) -> float | None:
    """What its vendor asks for a cached token of a model; the name may carry a provider, an owner and a variant. A
    server that sells the models of others may ask something else, which the operator can state.
    """
    name = model.partition("/")[2].lower() or model.lower()
    return next((price for pattern, price in _FAMILIES if pattern.search(name)), None)


# The first pattern that fits counts: exceptions stand before their family. Cached through input price as the public
# price list genai-prices 0.2.3 has them (November 2026; importing it takes 32 MB), the dearest where members of a
# family differ; `None` where the vendor gives no discount.
_FAMILIES = tuple(
    (re.compile(rf"(?:^|[/:._-]){pattern}"), price)
    for pattern, price in (
        # OpenAI
        (r"gpt-6\.1", 0.05),
        (r"gpt-[56](?:\.\d)?-pro", None),
        (r"gpt-[56]|gpt-chat-latest", 0.1),
        (r"gpt-4\.1|o3-(?:deep|\d{4})|o3$|o4-mini", 0.25),
        (r"o[13]-pro|gpt-4o-(?:2024-05-13|search|audio|mini-audio)|chatgpt-4o", None),
        (r"gpt-4o|gpt-4\.5|o1|o3-mini", 0.5),
        # Anthropic
        (r"claude-3[.-]haiku", 0.12),
        (r"claude-fable-5[.-][12]\b", 0.025),
        (r"claude-(?:opus|sonnet)-5[.-]5", 0.05),
        (r"claude-(?:[12]\b|v\d|instant)", None),
        (r"claude", 0.1),
        # Google
        (r"gemini-.*(?:image|live|tts|omni|banana)", None),
        (r"gemini-4", 0.05),
        (r"gemini-(?:1\.5|flash-1\.5|pro-1\.5)", 0.27),
        (r"gemini-2\.0-flash-lite", None),
        (r"gemini-2\.0-flash", 0.25),
        (r"gemini-(?:2\.5|3)", 0.1),
        # DeepSeek
        (r"deepseek-(?:v4|flash|pro)", 0.04),
        (r"deepseek-(?:chat|reasoner)", 0.26),
        # xAI
        (r"grok-4[.-](?:20|3)", 0.16),
        (r"grok-4[.-]5", 0.15),
        (r"grok-(?:build|code)", 0.2),
        (r"grok-[34]", 0.25),
        # Mistral
        (
            r"(?:mistral-(?:large-(?:2512|4)|medium-(?:3|latest)|small-(?:2603|latest))|ministral-\d+b-(?:2512|latest))",
            0.1,
        ),
        (r"codestral-2508|devstral-2512", 0.1),
        # Zhipu, Moonshot, MiniMax, Meta
        (r"glm-(?:4\.[5-7]|5)", 0.21),
        (r"kimi-k3", 0.1),
        (r"kimi-k2\.[5-9]", 0.2),
        (r"kimi-k2-(?:0711|0905|thinking|turbo)", 0.25),
        (r"minimax-m(?:2|3)", 0.2),
        (r"muse", 0.14),
    )
)

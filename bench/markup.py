"""What mark-up costs: cutting a Markdown source into messages, and showing it as Telegram's or Discord's.

Each kind of text in three sizes, so that anything beyond linear shows in the ratio of times, which is 4 for four times
the text. The renderers format the first `formatted_chars` and cut the rest as it is, more than any answer shows.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from adapters.markup import split_entities, to_discord, to_entities
from adapters.markup.dialect import LONGEST
from adapters.split import split, utf16_length
from bench.pipeline import write_result

SIZES = (250_000, 500_000, 1_000_000)
UPDATE = 10_000
"""Characters of an answer that is being streamed: each of its updates renders all of it."""
RUNS = 3
"""The best of them counts."""

MIXED = """## Heading

Prose with **bold**, *italic*, `code`, a [link](https://example.org/a_(b)), some_snake_case and $5. ||A secret.|| 😀

这是一个**重点**：说明文字，没有空格的句子，后面还有更多的内容，一直写到这一行的末尾才停下来。

- one
  - nested *two*
- [ ] task

| Name | Count |
|:-----|------:|
| 猫 | `1` |

```python
def square(x):
    return x ** 2
```

> quoted **text**

"""

TEXTS: dict[str, Callable[[int], str]] = {
    "mixed": lambda size: _filled(MIXED, size),
    "one line": lambda size: _filled("words without any end ", size),
    "one line without spaces": lambda size: _filled("没有空格的句子", size),
    "one fence": lambda size: "```py\n" + _filled("x = compute(1)\n", size) + "```",
    "nested emphasis": lambda size: _filled("*_", size),
    "open brackets": lambda size: _filled("[", size),
    "less-than signs": lambda size: _filled("<", size),
    "backtick runs": lambda size: _filled("`a``b```c````", size),
    "rules that are none": lambda size: _filled("- ", size - 5) + "~~~ a",
    "grapheme clusters": lambda size: _filled("👨‍👩‍👧‍👦🇩🇪", size),
}

WAYS: dict[str, Callable[[str], object]] = {
    "split": lambda text: split(text, 2000, length=utf16_length),
    "telegram": lambda text: split_entities(to_entities(text)),
    "discord": to_discord,
}


async def main() -> None:
    """Measure and write the result file."""
    answer = _filled(MIXED, UPDATE)
    figures: dict[str, object] = {
        "formatted_chars": LONGEST,
        "update_of_10_kb_ms": {name: round(_seconds(way, answer) * 1e3, 2) for name, way in WAYS.items()},
    }
    for name, make in TEXTS.items():
        figures[name] = {way: _measured(run, make) for way, run in WAYS.items()}
        print(f"markup, {name}: {figures[name]}")
    print(f"markup: update of 10 kB in ms {figures['update_of_10_kb_ms']}")
    write_result("markup", figures)


def _measured(run: Callable[[str], object], make: Callable[[int], str]) -> dict[str, float]:
    times = {size: _seconds(run, make(size)) for size in SIZES}
    seconds = {f"s_{size // 1000}_kb": round(took, 4) for size, took in times.items()}
    return {**seconds, "ratio": round(times[SIZES[-1]] / times[SIZES[0]], 2)}


def _seconds(run: Callable[[str], object], text: str) -> float:
    best = float("inf")
    for _ in range(RUNS):
        began = time.process_time()
        run(text)
        best = min(best, time.process_time() - began)
    return best


def _filled(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]

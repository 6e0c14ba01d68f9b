"""Runs the benchmarks that are named on the command line, or all of them."""

import asyncio
import sys
from itertools import takewhile

from bench import lore, markup, memory, pipeline, sessions, wire

BENCHMARKS = {
    "lore": lore.main,
    "markup": markup.main,
    "memory": memory.main,
    "pipeline": pipeline.main,
    "sessions": sessions.main,
    "wire": wire.main,
}

for name in [*takewhile(lambda word: not word.startswith("-"), sys.argv[1:])] or BENCHMARKS:
    asyncio.run(BENCHMARKS[name]())

"""Runs the benchmarks that are named on the command line, or all of them."""

import asyncio
import sys
from itertools import takewhile

from bench import lore, markup, mcp, memory, memory_peers, pipeline, sessions, tools, wire
from bench.extraction import run as extraction

BENCHMARKS = {
    "extraction": extraction.main,
    "lore": lore.main,
    "markup": markup.main,
    "mcp": mcp.main,
    "memory": memory.main,
    "memory-peers": memory_peers.main,
    "pipeline": pipeline.main,
    "sessions": sessions.main,
    "tools": tools.main,
    "wire": wire.main,
}

ON_REQUEST = ("extraction", "memory-peers")
"""Only by name: they take several minutes, and need the installed demo model, or install other projects."""

usual = [name for name in BENCHMARKS if name not in ON_REQUEST]
for name in [*takewhile(lambda word: not word.startswith("-"), sys.argv[1:])] or usual:
    asyncio.run(BENCHMARKS[name]())

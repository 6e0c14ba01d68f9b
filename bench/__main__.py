"""Runs the benchmarks that are named on the command line, or all of them."""

import asyncio
import sys

from bench import markup, pipeline, sessions, wire

BENCHMARKS = {"markup": markup.main, "pipeline": pipeline.main, "sessions": sessions.main, "wire": wire.main}

for name in sys.argv[1:] or BENCHMARKS:
    asyncio.run(BENCHMARKS[name]())

"""The memory benchmark's talk held by the memories of other projects, billed in the same way as ours.

Each runs in an environment of its own, made once. Their summaries block the turn that needs them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from bench.chatter import Talk, load_encoding, make_talk
from bench.memory import SESSION_TURNS, TURNS
from bench.pipeline import environment_for, write_result
from bench.process import ROOT

PEERS = {
    "langchain_memory.py": "langchain",
    "llamaindex_memory.py": "llama-index-core",
    "astrbot_memory.py": "astrbot",
}
"""The files, and what each needs from the package index."""
SHARED = "tiktoken regex structlog"
"""What counting and billing need in every environment."""
NEWEST_PYTHONS = ("python3.12", "python3.13", "python3.14")
"""AstrBot's newest releases do not install on 3.11."""


async def main() -> None:
    """Run the peers one after the other, print their rows, write the result file."""
    parser = argparse.ArgumentParser(prog="python -m bench memory-peers", description=__doc__)
    parser.add_argument("name", nargs="*", help="the benchmarks that run")
    parser.add_argument("--locomo", type=Path, help="a file of LoCoMo, whose first speakers' turns are said")
    parser.add_argument("--turns", type=int, default=TURNS)
    options = parser.parse_args(sys.argv[1:])
    talk = make_talk(load_encoding(), options.turns, options.locomo)
    rows: dict[str, object] = {}
    for file, packages in PEERS.items():
        python = environment_for(Path(file).stem, f"{packages} {SHARED}", _newest_python())
        if python is None:
            print(f"{packages} does not install here, so its rows are left out")
            continue
        for row in _run(python, file, talk):
            name = f"{row.pop('name')} ({_version(python, packages)})"
            rows[name] = row
            print(f"{name}: {row}")
    write_result("memory_peers", {"peers": rows, "texts": "LoCoMo" if options.locomo else "made"})


def _newest_python() -> str:
    """A Python that the newest release of every peer takes, where there is one; else the one that runs this."""
    found = filter(None, map(shutil.which, NEWEST_PYTHONS))
    runs = (path for path in found if not subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode)
    return next(runs, sys.executable)


def _run(python: Path, file: str, talk: Talk) -> list[dict[str, object]]:
    """The rows of one peer, which works in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "talk.json")
        told.write_text(json.dumps({**asdict(talk), "session_turns": SESSION_TURNS}), encoding="utf-8")
        done = subprocess.run(
            [python, ROOT / "bench" / "peers" / file, told],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    if done.returncode:
        print(f"{file} ended with {done.returncode}, so its rows are left out")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"name"')]


def _version(python: Path, packages: str) -> str:
    asked = f"import importlib.metadata; print(importlib.metadata.version({packages!r}))"
    return subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()

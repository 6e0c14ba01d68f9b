"""Runs a model file inside this process, as an OpenAI-compatible server on loopback that the ordinary client talks to.

The only importer of xllamacpp. Knows no catalogue of models and downloads nothing.
"""

from __future__ import annotations

import asyncio
import os
import platform
import re
import secrets
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import structlog

from bot.errors import OperatorError
from bot.llm.model import Model, ModelError, ModelRequest

log = structlog.get_logger(__name__)

REQUEST_PARAMETERS = MappingProxyType({"temperature": 0.7, "top_p": 0.8, "top_k": 20, "repeat_penalty": 1.1})
"""Sampling with which small models repeat themselves least; for every request to this server."""

REQUEST_HEADERS = MappingProxyType({"Connection": "close"})
"""For every request, too: the engine promises to keep connections and closes each after a streamed answer, on which the
next request would fail if it came at once."""

PROMPT_BATCH_TOKENS = 64
"""How much of a prompt is read at once, 1.3 s on one core with the demo model: only between two batches can the engine
break off. Larger ones would be 2 % faster."""

PROMPT_CACHE_MIB = 256
"""Prompts of other sessions kept beside the current one, some 9,000 tokens with the demo model."""

HANG_UP_SECONDS = 1.1
"""How long the engine takes to notice a closed connection: it looks after one second in which it was asked nothing."""

GGUF_MAGIC = b"GGUF"


class LocalModelError(OperatorError):
    """A model file cannot be run on this machine."""

    def __init__(self, file: Path, problem: str, remedy: str) -> None:
        self.file, self.problem, self.remedy = file, problem, remedy
        super().__init__(f"The local model {file.name} {problem}. {remedy}")


class LocalServer:
    """A running model. `base_url` and `api_key` are what an OpenAI client needs; any model name is fine there."""

    def __init__(self, engine: Any, api_key: str) -> None:
        self._engine = engine
        self.base_url = f"{engine.listening_address}/v1"
        self.api_key = api_key

    @classmethod
    def start(cls, file: Path, *, context_tokens: int, free_memory: int | None) -> LocalServer:
        """Load the model, 0.3 s for 0.1 GB and 1 to 4 s for 1 GB; the engine stops every other thread meanwhile.

        `free_memory` is in bytes, as `available_memory` tells it; `None` = unknown, so not checked.

        Raises:
            LocalModelError: no model file, no engine for this machine, too little memory, or a damaged file.
        """
        _check_file(file)
        _check_memory(file, free_memory)
        xllamacpp = _import_engine(file)
        api_key = secrets.token_urlsafe(24)
        try:
            engine = xllamacpp.Server(_engine_parameters(xllamacpp, file, context_tokens, api_key))
        except RuntimeError as error:
            remedy = "It is damaged or made for another engine: get it anew, or choose another model with MODEL."
            raise LocalModelError(file, "could not be loaded", remedy) from error
        # An engine that is dropped before its loop runs never ends; it answers this question from within the loop.
        engine.handle_metrics()
        return cls(engine, api_key)

    async def close(self, patience: timedelta = timedelta(seconds=10)) -> None:
        """Stop the model and free its memory. Whoever talks to it must have hung up before.

        Waits until the engine has noticed that: dropped with requests in its queue, it would never end.
        """
        if self._engine is None:
            return
        deadline = asyncio.get_running_loop().time() + patience.total_seconds()
        while self.open_requests() and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(HANG_UP_SECONDS)
        self._engine = None

    def open_requests(self) -> int:
        """How many requests it works on or holds in its queue; the engine answers between two batches."""
        counts = re.findall(r"^llamacpp:requests_(?:processing|deferred) (\d+)", self._engine.handle_metrics(), re.M)
        return sum(map(int, counts))


def _check_file(file: Path) -> None:
    try:
        with file.open("rb") as opened:
            magic = opened.read(len(GGUF_MAGIC))
    except OSError as error:
        remedy = "Check the path in MODEL, or run: familiar model install"
        raise LocalModelError(file, f"cannot be read ({error.strerror})", remedy) from error
    if magic != GGUF_MAGIC:
        raise LocalModelError(file, "is no GGUF file", "Choose a file that ends in .gguf, made for llama.cpp.")


def needed_memory(file_bytes: int) -> int:
    """Bytes of memory without which a model file of this size cannot run. Measured for 1.1 GB: 1.0 GB of its own, the
    prompt cache, and 1.1 GB of the file itself, of which the system may drop a part."""
    return file_bytes * 3 // 2 + (PROMPT_CACHE_MIB << 20)


def _check_memory(file: Path, free_memory: int | None) -> None:
    needed = needed_memory(file.stat().st_size)
    if free_memory is not None and free_memory < needed:
        problem = f"needs {needed / 1e9:.1f} GB of memory and {free_memory / 1e9:.1f} GB are free"
        remedy = "Close other programs, set MODEL=local/small, or use a model server by MODEL=provider/model."
        raise LocalModelError(file, problem, remedy)


def _import_engine(file: Path) -> Any:
    remedy = "Use a model server instead: set MODEL=provider/model and PROVIDERS__<NAME>__BASE_URL or __API_KEY."
    if not _has_vector_instructions():
        raise LocalModelError(file, "needs a processor with AVX2, which this machine has not", remedy)
    # Threads that wait for each other must sleep, not spin: with another busy process, spinning halves the speed.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        import xllamacpp
    except ImportError as error:
        if "libgomp" in str(error):
            # The wheel relies on GCC's OpenMP library, which slim images leave out.
            remedy = f"Install it (Debian, Ubuntu: apt install libgomp1; Fedora: dnf install libgomp). Or: {remedy}"
            raise LocalModelError(file, "needs the system library libgomp, which is missing", remedy) from error
        raise LocalModelError(file, f"has no engine on this machine ({error})", remedy) from error
    return xllamacpp


def _has_vector_instructions() -> bool:
    """Without AVX2 the engine, as published for x86, would end the process by an illegal instruction."""
    try:
        processor = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    return platform.machine() != "x86_64" or " avx2" in processor


def _engine_parameters(xllamacpp: Any, file: Path, context_tokens: int, api_key: str) -> Any:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(file)
    parameters.n_ctx = context_tokens
    parameters.n_parallel = 1
    parameters.n_batch = parameters.n_ubatch = PROMPT_BATCH_TOKENS
    parameters.cache_ram_mib = PROMPT_CACHE_MIB
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = engine_threads()
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [api_key]
    parameters.cors_origins = "http://127.0.0.1"  # the engine's default lets every web page call it
    parameters.ui = parameters.endpoint_slots = False
    parameters.endpoint_metrics = True  # `LocalServer` asks it
    parameters.warmup = False  # `warm` does that without stopping everything else
    parameters.verbosity = -1
    return parameters


def engine_threads(cores: int | None = None, *, ci: bool | None = None) -> int:
    """Threads for the engine: one where cores are few or shared (two threads that wait for each other are slower there
    than one alone), else all cores but one."""
    cores = cores if cores is not None else os.cpu_count() or 1
    ci = ci if ci is not None else bool(os.environ.get("CI"))
    return 1 if ci or cores <= 2 else cores - 1


def available_memory(proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Bytes of memory that can still be used, a container's limit included; `None` where the system does not tell."""
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", (proc / "meminfo").read_text(encoding="ascii"), re.M)
    except OSError:
        return None
    free = int(found[1]) * 1024 if found else None
    try:
        limit = (cgroup / "memory.max").read_text(encoding="ascii").strip()
        used = (cgroup / "memory.current").read_text(encoding="ascii")
    except OSError:
        return free
    if limit == "max":
        return free
    within = int(limit) - int(used)
    return within if free is None else min(free, within)


async def warm(model: Model, request: ModelRequest) -> None:
    """Let the server read a prompt ahead of its first use: what the next request shares with it is then answered from
    the cache. May be cancelled; a failure is only logged, since the request itself will tell."""
    try:
        async for _ in model.stream(replace(request, max_output_tokens=1)):
            pass
    except ModelError as error:
        log.debug("local.not_warmed", error=str(error))

"""Decides whether the embedded model must serve, gets it there, and says honestly what it is good for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bot.cli.inert import inert
from bot.cli.words import Words, words_for
from bot.llm.configured import LOCAL, LocalModel, names_remote_model
from bot.llm.model_files import ModelFile
from bot.settings import Settings

Get = Callable[[ModelFile], None]
"""Gets a model that is not installed."""

OWN_FILE_CONTEXT_TOKENS = 8192
"""Window for a model file of the operator's own; its memory grows with it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Chosen:
    """A model file to run, and what to tell about it."""

    name: str
    file: Path
    context_tokens: int
    notice: str


@contextmanager
def local_model_for(settings: Settings, *, is_check: bool = False) -> Iterator[LocalModel | None]:
    """Serve the embedded model for the length of the block; `None` when a configured server does the work. Not to be
    used within a running event loop. A check says nothing and downloads nothing.

    Raises:
        OperatorError: it cannot be had or run here; the sentence says what to do.
    """
    if names_remote_model(settings):
        yield None
        return
    from bot.llm.local import REQUEST_HEADERS, REQUEST_PARAMETERS, LocalServer, available_memory

    say = words_for(settings)
    if not is_check:
        _offer_local_servers(settings, say)
    chosen = _choose(settings, _miss if is_check else partial(_install, say), say)
    if not is_check:
        print(chosen.notice, flush=True)
    server = LocalServer.start(chosen.file, context_tokens=chosen.context_tokens, free_memory=available_memory())
    try:
        yield LocalModel(
            name=chosen.name,
            base_url=server.base_url,
            api_key=server.api_key,
            context_window=chosen.context_tokens,
            parameters=REQUEST_PARAMETERS,
            headers=REQUEST_HEADERS,
        )
    finally:
        asyncio.run(server.close())


def _choose(settings: Settings, get: Get, say: Words) -> _Chosen:
    """A path or a named model as configured; without either, the best that this machine can run."""
    from bot.llm import install
    from bot.llm.model_files import MODEL_FILES

    name = settings.model.removeprefix(f"{LOCAL}/")
    if name in MODEL_FILES:
        model = MODEL_FILES[name]
        if not install.is_installed(model, install.cache_directory()):
            get(model)
        return _Chosen(
            name=name,
            file=install.locate(name, install.cache_directory()),
            context_tokens=model.context_tokens,
            notice=say("start-inside", model=model.title) + "\n" + _expectation(model, say),
        )
    if name:
        file = install.locate(name, install.cache_directory())
        notice = say("start-inside", model=file.name)
        return _Chosen(name=file.stem, file=file, context_tokens=OWN_FILE_CONTEXT_TOKENS, notice=notice)
    return _choose_embedded(get, say)


def _expectation(model: ModelFile, say: Words) -> str:
    return say("start-expect", what=say(f"start-expect-{model.name}"))


def _choose_embedded(get: Get, say: Words) -> _Chosen:
    """The demo model, or the small one where that cannot be had or run."""
    from bot.llm import install
    from bot.llm.install import ModelInstallError
    from bot.llm.local import available_memory

    cache, unavailable = install.cache_directory(), set[str]()
    while True:
        choice = install.choose(cache, free_memory=available_memory(), unavailable=unavailable)
        try:
            if not choice.installed:
                get(choice.model)
        except ModelInstallError as error:
            if choice.model.name in unavailable or choice.why or get is _miss:
                raise
            print(error)
            unavailable.add(choice.model.name)
            continue
        why = f" ({say(choice.why, **choice.facts)})" if choice.why else ""
        inside = say("start-instead", model=choice.model.title, why=why)
        return _Chosen(
            name=choice.model.name,
            file=install.path_of(choice.model, cache),
            context_tokens=choice.model.context_tokens,
            notice="\n".join((inside, _expectation(choice.model, say), say("start-better"), "")),
        )


def _install(say: Words, model: ModelFile) -> None:
    from bot.cli.model import install_with_bar
    from bot.llm import install

    print(say("start-getting", model=model.title, size=f"{model.size / 1e6:.0f}"), flush=True)
    install_with_bar(model, install.cache_directory())


def _miss(model: ModelFile) -> None:
    from bot.llm.install import ModelInstallError

    raise ModelInstallError(model.name, "this model is not installed.", f"Run: familiar model install {model.name}")


def _offer_local_servers(settings: Settings, say: Words) -> None:
    """Tell somebody who configured nothing how to use a model server that already runs on this machine."""
    from bot.llm.discovery import find_local_servers

    if settings.model:
        return
    for server in asyncio.run(find_local_servers()):
        prefix = f"PROVIDERS__{server.name.upper()}__BASE_URL={server.base_url}"
        model = f"MODEL={server.name}/{server.models[0]}" if server.models else f"MODEL={server.name}/NAME"
        print(inert(f"{say('start-server-here', server=server.name)}\n  {prefix}\n  {model}"))

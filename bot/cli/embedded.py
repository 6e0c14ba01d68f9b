"""Decides whether the embedded model must serve, gets it there, and says honestly what it is good for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from bot.cli.inert import inert
from bot.cli.words import Words, words_for
from bot.llm.configured import LOCAL, LocalModel, embedded_fallback, names_remote_model
from bot.llm.model_files import ModelFile
from bot.settings import Settings

if TYPE_CHECKING:
    from bot.llm.local import LocalServer

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


class _Engine:
    """A model file, loaded when that is first wanted."""

    def __init__(self, chosen: _Chosen) -> None:
        self._chosen = chosen
        self._server: LocalServer | None = None
        self._loading = Lock()

    def serve(self) -> LocalModel:
        """The model, serving; any thread may ask, and the first one loads it.

        Raises:
            LocalModelError: it cannot be run here.
        """
        from bot.llm.local import LocalServer, available_memory

        with self._loading:
            if self._server is None:
                file, tokens = self._chosen.file, self._chosen.context_tokens
                self._server = LocalServer.start(file, context_tokens=tokens, free_memory=available_memory())
        return self._model(self._server.base_url, self._server.api_key)

    def stand_by(self) -> LocalModel:
        """The model, to be loaded by its `start`."""
        return replace(self._model("http://127.0.0.1/v1", ""), start=self.serve)

    def close(self) -> None:
        """Let go of it."""
        if self._server is not None:
            asyncio.run(self._server.close())

    def _model(self, base_url: str, api_key: str) -> LocalModel:
        from bot.llm.local import REQUEST_HEADERS, REQUEST_PARAMETERS

        return LocalModel(
            name=self._chosen.name,
            base_url=base_url,
            api_key=api_key,
            context_window=self._chosen.context_tokens,
            parameters=REQUEST_PARAMETERS,
            headers=REQUEST_HEADERS,
        )


@contextmanager
def local_model_for(settings: Settings, *, is_check: bool = False) -> Iterator[LocalModel | None]:
    """Serve the embedded model for the length of the block, or let it stand by where FALLBACKS name it; `None` when
    configured servers do all the work. Not to be used within a running event loop. A check says nothing, downloads
    nothing, and loads also what only stands by.

    Raises:
        OperatorError: it cannot be had or run here; the sentence says what to do.
    """
    stands_by = embedded_fallback(settings)
    if names_remote_model(settings) and not stands_by:
        yield None
        return
    say = words_for(settings)
    chosen = _stand_by(stands_by, say, is_check) if stands_by else _main(settings, say, is_check)
    if chosen is None:
        yield None
        return
    if not is_check:
        print(chosen.notice, flush=True)
    engine = _Engine(chosen)
    try:
        yield engine.stand_by() if stands_by and not is_check else engine.serve()
    finally:
        engine.close()


def _main(settings: Settings, say: Words, is_check: bool) -> _Chosen:
    instead = "start-unchosen" if settings.providers else "start-instead"
    if is_check:
        return _choose(settings.model, _miss, say, instead=instead)
    _offer_local_servers(settings, say)
    return _choose(settings.model, partial(_install, say), say, instead=instead)


def _stand_by(name: str, say: Words, is_check: bool) -> _Chosen | None:
    """The model that FALLBACKS name; where it cannot be had, the others do without it."""
    from bot.llm.install import ModelInstallError

    try:
        chosen = _choose(name, _miss if is_check else partial(_install, say), say)
    except ModelInstallError as error:
        if is_check:
            raise
        print(error)
        return None
    return replace(chosen, notice=say("start-stands-by", model=f"{LOCAL}/{name}"))


def _choose(configured: str, get: Get, say: Words, *, instead: str = "start-instead") -> _Chosen:
    """A path or a named model as configured; without either, the best that this machine can run, told by `instead`."""
    from bot.llm import install
    from bot.llm.model_files import MODEL_FILES

    name = configured.removeprefix(f"{LOCAL}/")
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
    return _choose_embedded(get, say, instead)


def _expectation(model: ModelFile, say: Words) -> str:
    return say("start-expect", what=say(f"start-expect-{model.name}"))


def _choose_embedded(get: Get, say: Words, instead: str) -> _Chosen:
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
        inside = say(instead, model=choice.model.title, why=why)
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
    install_with_bar(model, install.cache_directory(), told=say("start-bar", model=model.name))


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

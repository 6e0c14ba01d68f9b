"""`familiar model`: install, list and remove the model files that run in this process; forget what servers taught."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from bot.errors import OperatorError
from bot.llm import install as files
from bot.llm.local import needed_memory
from bot.llm.model_files import DEMO, MODEL_FILES, ModelFile

app = typer.Typer(
    help="The models that run inside Familiar, without any server or key; and what was learned about others.",
    no_args_is_help=True,
)

ModelName = Annotated[str, typer.Argument(metavar="NAME", help=" or ".join(MODEL_FILES))]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar; one line when something was installed.")]


class UnknownModelFile(OperatorError):
    """No installable model has that name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{name!r} is no model that can be installed; choose one of: {', '.join(MODEL_FILES)}")


class UnknownServer(OperatorError):
    """No configured server has such a model."""

    def __init__(self, name: str, servers: Collection[str]) -> None:
        self.name = name
        known = ", ".join(f"{server}/..." for server in servers) or "none; set PROVIDERS__<NAME>__BASE_URL in .env"
        super().__init__(f"{name!r} names no model of a configured server; there are: {known}")


@app.command("install")
def install(name: ModelName = DEMO.name, quiet: Quiet = False) -> None:
    """Download a model into your cache. Run it again to continue an interrupted download."""
    model, cache = _find(name), files.cache_directory()
    if not files.is_installed(model, cache):
        install_with_bar(model, cache, quiet=quiet)
    elif quiet:
        return
    print(f"{model.name}: {model.size / 1e6:.0f} MB in {files.path_of(model, cache)}")


@app.command("list")
def list_models() -> None:
    """Show which models can be had, which are installed, and what each is good for."""
    from rich.console import Console
    from rich.table import Table

    cache = files.cache_directory()
    table = Table("name", "size", "memory", "installed", "good for", caption=f"kept in {cache}")
    for model in MODEL_FILES.values():
        installed = "yes" if files.is_installed(model, cache) else "no"
        memory = f"{needed_memory(model.size) / 1e9:.1f} GB"
        table.add_row(model.name, f"{model.size / 1e6:.0f} MB", memory, installed, f"{model.good_for}\n{model.title}")
    Console().print(table)


@app.command("remove")
def remove(name: ModelName) -> None:
    """Delete an installed model, or what is left of an interrupted download."""
    model, cache = _find(name), files.cache_directory()
    print(f"{name}: removed" if files.remove(model, cache) else f"{name}: nothing to remove in {cache}")


@app.command("forget")
def forget(name: Annotated[str, typer.Argument(metavar="PROVIDER/MODEL")]) -> None:
    """Forget what the server of a model was found not to take, as after its update. While Familiar runs, write
    /model forget in a chat instead.
    """
    from bot.env import load_settings
    from bot.llm.configured import configured_providers
    from bot.store import schema
    from bot.store.lock import held_alone

    settings = load_settings()
    providers = configured_providers(settings, None)
    server, _, model = name.partition("/")
    if server not in providers or not model:
        raise UnknownServer(name, providers)
    with held_alone(settings.sqlite_url):
        schema.upgrade(settings.sqlite_url)
        forgotten = asyncio.run(_forget(settings.sqlite_url, providers[server].endpoint, model))
    print(f"{name}: forgotten: {', '.join(forgotten)}" if forgotten else f"{name}: nothing was learned")


async def _forget(database: str, endpoint: str, model: str) -> list[str]:
    from bot.store import ledger
    from bot.store.database import Database

    db = Database(database)
    try:
        known = await db.read(ledger.load_quirks)
        await db.run(ledger.drop_quirks, endpoint, model)
    finally:
        await db.close()
    return sorted(one.quirk.value for one in known if (one.endpoint, one.model) == (endpoint, model))


def install_with_bar(model: ModelFile, cache: Path, *, told: str = "", quiet: bool = False) -> Path:
    """Install a model and show how far it is, behind what is told of it.

    Raises:
        ModelInstallError: as `bot.llm.install.install` does.
    """
    try:
        told = told or f"Getting the {model.name} model"
        with _bar(model, told, quiet=quiet) as progress:
            return files.install(model, cache, progress=progress)
    except KeyboardInterrupt:
        print("Interrupted. What has arrived is kept: run it again to resume.", file=sys.stderr)
        raise


@contextmanager
def _bar(model: ModelFile, told: str, *, quiet: bool) -> Iterator[files.Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=quiet) as progress:
        task = progress.add_task(told, total=model.size)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _find(name: str) -> ModelFile:
    try:
        return MODEL_FILES[name]
    except KeyError:
        raise UnknownModelFile(name) from None

"""`familiar model`: install, list and remove the model files that run in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from bot.errors import OperatorError
from bot.llm import install as files
from bot.llm.local import needed_memory
from bot.llm.model_files import DEMO, MODEL_FILES, ModelFile

app = typer.Typer(help="The models that run inside Familiar, without any server or key.", no_args_is_help=True)

ModelName = Annotated[str, typer.Argument(metavar="NAME", help=" or ".join(MODEL_FILES))]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar; one line when something was installed.")]


class UnknownModelFile(OperatorError):
    """No installable model has that name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{name!r} is no model that can be installed; choose one of: {', '.join(MODEL_FILES)}")


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


def install_with_bar(model: ModelFile, cache: Path, *, quiet: bool = False) -> Path:
    """Install a model and show how far it is.

    Raises:
        ModelInstallError: as `bot.llm.install.install` does.
    """
    with _bar(model, quiet=quiet) as progress:
        return files.install(model, cache, progress=progress)


@contextmanager
def _bar(model: ModelFile, *, quiet: bool) -> Iterator[files.Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=quiet) as progress:
        task = progress.add_task(f"Getting the {model.name} model", total=model.size)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _find(name: str) -> ModelFile:
    try:
        return MODEL_FILES[name]
    except KeyError:
        raise UnknownModelFile(name) from None

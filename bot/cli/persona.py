"""`familiar persona`: look at cards, shipped, imported or in files, and check them. Needs no model."""

from __future__ import annotations

import json
import os.path
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.chat import Finding, Severity
from bot.cli.cards import export_card, import_cards, known_personas, persona_named, remove_card, restore_card
from bot.cli.inert import plain
from bot.personas.card import CARD_FIELDS, CardError, PersonaCard
from bot.personas.library import (
    CARD_FILES,
    SHIPPED_FOLDER,
    card_folders,
    fault,
    load_card,
    load_persona,
    warning,
)

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(no_args_is_help=True, help="List, show, check, import, export and remove persona cards.")
app.command("import")(import_cards)
app.command("export")(export_card)
app.command("remove")(remove_card)
app.command("restore")(restore_card)

_MARKS = {
    Severity.OK: "[green]ok[/green]",
    Severity.WARNING: "[yellow]warning[/yellow]",
    Severity.FAULT: "[red]fault[/red]",
}


@app.command("list")
def list_personas() -> None:
    """List the personas that can be used, and the one place that sees a card if not all do."""
    library = known_personas()
    from rich.table import Column, Table

    personas = library.whole.personas
    has_places = any(persona.place_key for persona in personas)
    table = Table("id", "name", "language", *["place"] * has_places, Column("about", overflow="fold"), box=None)
    for persona in personas:
        mark = " (default)" if persona is library.default else ""
        place = [persona.place_key or ""] * has_places
        row = (persona.id + mark, persona.name, persona.language, *place, persona.card.creator_notes)
        table.add_row(*map(plain, row))
    console = _console()
    console.print(table)
    _tell(console, library.findings)


@app.command("show")
def show_persona(name: Annotated[str, typer.Argument(help="Id or name of a persona, or a card file.")]) -> None:
    """Show a persona's whole card."""
    shelf = known_personas().whole
    if shelf.find(name) is None and os.path.isfile(name):  # unlike Path.is_file, takes any name
        _show_file(Path(name))
        return
    persona = persona_named(name, shelf)
    _show_card(persona.card, f"{persona.id}  {persona.source_path or persona.place_key or ''}".rstrip())


def _show_file(path: Path) -> None:
    try:
        found = load_card(path)
    except CardError as error:
        _tell(_console(), [fault(str(path), error)])
        raise typer.Exit(1) from error
    files = ", ".join(asset.path for asset in found.assets) or "none"
    picture = "no" if found.picture is None else f"{len(found.picture):,} bytes"
    _show_card(found.card, f"{path}  {found.container}, picture: {picture}, other files: {files}")
    _tell(_console(), (warning(str(path), told) for told in found.warnings))


def _show_card(card: PersonaCard, origin: str) -> None:
    console = _console()
    console.print(f"[bold]{plain(card.spoken_name)}[/bold]  [dim]{plain(origin)}[/dim]", highlight=False)
    for field in CARD_FIELDS:
        if value := getattr(card, field):
            name = field.replace("_", " ")
            console.print(f"\n[bold]{name}[/bold]\n{plain(_as_text(value))}", highlight=False)


def _as_text(value: object) -> str:
    match value:
        case str():
            return value
        case tuple():
            return "\n".join(map(_as_text, value))
        case _:
            return json.dumps(value, ensure_ascii=False, indent=2)


@app.command("validate")
def validate(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Card files, persona folders or folders of them; the shipped personas if none is given."),
    ] = None,
) -> None:
    """Check cards: exit code 1 if one cannot be used, 0 if all can, warnings or not."""
    findings = [finding for path in paths or [SHIPPED_FOLDER] for finding in _check(path)]
    _tell(_console(), findings)
    if any(finding.severity is Severity.FAULT for finding in findings):
        raise typer.Exit(1)


def _check(path: Path) -> list[Finding]:
    if not path.is_dir():
        return _check_file(path)
    if any((path / name).is_file() for name in CARD_FILES):
        return _check_folder(path)
    folders = card_folders(path)
    if not folders:
        return [fault(str(path), CardError("card-folder-empty", "card-folder-empty-remedy", file=CARD_FILES[0]))]
    return [finding for folder in folders for finding in _check_folder(folder)]


def _check_folder(folder: Path) -> list[Finding]:
    persona, findings = load_persona(folder.resolve())
    if persona is None:
        return findings
    subject = str(persona.source_path or folder)
    return [*findings, *_book_warnings(subject, persona.card), _usable(str(folder), persona.name)]


def _check_file(path: Path) -> list[Finding]:
    try:
        found = load_card(path)
    except CardError as error:
        return [fault(str(path), error)]
    subject = str(path)
    told = [warning(subject, told) for told in found.warnings]
    return [*told, *_book_warnings(subject, found.card), _usable(subject, found.card.spoken_name)]


def _book_warnings(subject: str, card: PersonaCard) -> list[Finding]:
    from bot.personas.lorebook.checking import book_warnings  # the engine, only where there is a book to check

    return [warning(subject, told) for told in book_warnings(card.character_book)]


def _usable(subject: str, name: str) -> Finding:
    return Finding(severity=Severity.OK, subject=subject, message=f"“{name}” can be used.")


def _console() -> Console:
    from rich.console import Console  # 6 MB, which `familiar run` has no use for

    return Console()


def _tell(console: Console, findings: Iterable[Finding]) -> None:
    for finding in findings:
        text = plain(f"{finding.subject}: {finding.message} {finding.remedy}".rstrip())
        console.print(f"{_MARKS[finding.severity]} {text}", highlight=False, soft_wrap=True)

"""`familiar persona import` and `export`: cards into the database and out of it, also while the bot runs on it."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.inert import inert
from bot.cli.keys import demand_key
from bot.env import SettingsError, load_settings
from bot.personas.card import CardError
from bot.personas.files import FORMS, usual_form, write_persona
from bot.personas.formats import MAX_FILE_BYTES, CardFile, read_file
from bot.personas.imported import put_imported
from bot.personas.library import Ambiguous, Persona, PersonaLibrary, Shelf
from bot.personas.proposals import NO_PROPOSALS, Proposals, proposals_of
from bot.store import personas, schema
from bot.store.database import Tx, read_once, write_once
from bot.store.personas import NewPersona, Original

OPERATOR = "operator"
"""Who brought a card from the command line."""


def known_personas() -> PersonaLibrary:
    """All personas; the imported ones only where the settings, whose faults are told, and the database can be read."""
    library = PersonaLibrary()
    try:
        put_imported(library, load_settings().sqlite_url)
    except SettingsError:
        told = (
            "The settings need attention, so imported cards are left out here; `familiar doctor` tells what is wrong."
        )
        print(told, file=sys.stderr)
    return library


def persona_named(name: str, shelf: Shelf) -> Persona:
    """The persona that is meant.

    Raises:
        BadParameter: none, or several; names near ones.
    """
    match shelf.find(name):
        case Persona() as persona:
            return persona
        case Ambiguous(matches=matches):
            ids = ", ".join(persona.id for persona in matches)
            raise typer.BadParameter(inert(f"Several personas are called “{name}”; say which by its id: {ids}."))
    near = ", ".join(shelf.near(name))
    hint = f"Did you mean {near}?" if near else "`familiar persona list` shows all."
    raise typer.BadParameter(inert(f"There is no persona “{name}”. {hint}"))


def import_cards(
    files: Annotated[list[Path], typer.Argument(help="PNG, CHARX, JSON or YAML files.")],
    place: Annotated[
        str, typer.Option(help="The one place that sees them, such as discord:1234 or telegram:-1005678; else all do.")
    ] = "",
    accept: Annotated[bool, typer.Option("--accept", help="Let them use the model and tools they ask for.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Import cards. Shows what had to be mended and what a card asks for, and asks before it keeps one."""
    if place:
        demand_key(place)
    url = load_settings().sqlite_url
    schema.upgrade(url)
    refused = [path for path in files if not _import_one(path, place or None, url, accept=accept, yes=yes)]
    if refused:
        raise typer.Exit(1)


def _import_one(path: Path, place: str | None, url: str, *, accept: bool, yes: bool) -> bool:
    """Whether a card was imported, or its user did not want it."""
    try:
        data = read_whole(path)
        read = read_file(data, fallback_name=path.stem)
    except CardError as error:
        say(f"{path}: {error.problem} {error.remedy}")
        return False
    proposals = proposals_of(read.card)
    _describe(path, read, proposals, accept=accept)
    if not yes and not _confirmed(f"Import it for {place or 'all places'}?"):
        return True
    new = NewPersona(
        card=read.card,
        place_key=place,
        container=read.container,
        sha256=read.sha256,
        data=data,
        picture=read.picture,
        brought_by=OPERATOR,
    )
    persona_id = write_once(url, _keep, new, proposals if accept else NO_PROPOSALS)
    say(f"{read.card.spoken_name} is imported as {persona_id}. A running bot knows it at the next command.")
    return True


def read_whole(path: Path) -> bytes:
    """What is in a file, as far as it may be read.

    Raises:
        CardError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise CardError("card-file-unreadable", "card-unreadable-remedy", problem=str(error.strerror)) from error


def _describe(path: Path, read: CardFile, proposals: Proposals, *, accept: bool) -> None:
    say(f"{path}: {read.card.spoken_name} ({read.container.upper()})")
    from bot.personas.lorebook.checking import book_warnings  # the engine, only where a card is brought

    for told in (*read.warnings, *book_warnings(read.card.character_book)):
        say(f"  {told}")
    if proposals:
        wishes = ", ".join(filter(None, (proposals.model, *proposals.tool_groups)))
        say(f"  asks for a model or tools: {wishes}; {'granted' if accept else 'not granted without --accept'}")


def _keep(tx: Tx, new: NewPersona, accepted: Proposals) -> str:
    now = datetime.now(UTC)
    persona_id = personas.keep_draft(tx, new, now)
    personas.confirm(tx, persona_id, accepted, by=OPERATOR, now=now)
    return persona_id


def export_card(
    name: Annotated[str, typer.Argument(help="Id or name of a persona.")],
    form: Annotated[str, typer.Option("--format", "-f", help=f"{', '.join(FORMS)}; else what takes along most.")] = "",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write; else named after it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write a persona's card to a file that other programs read. What it was granted here does not go with it."""
    if form not in ("", *FORMS):
        raise typer.BadParameter(f"A card is written as one of: {', '.join(FORMS)}.", param_hint="--format")
    persona = persona_named(name, known_personas().whole)
    original = _original(persona)
    came_in, came_as = (original.container, original.data) if original else (None, None)
    form = form or usual_form(came_in, has_picture=bool(original and original.picture))
    try:
        written = write_persona(persona.card, form, datetime.now(UTC), came_as=came_as)
    except CardError as error:
        raise typer.BadParameter(inert(f"{error.problem} {error.remedy}")) from error
    path = output or Path(written.name)
    try:
        with path.open("wb" if force else "xb") as file:
            file.write(written.data)
    except FileExistsError:
        raise typer.BadParameter(inert(f"{path} is there already; --force writes over it.")) from None
    except OSError as error:
        raise typer.BadParameter(inert(f"{path} cannot be written: {error.strerror}.")) from error
    say(f"{persona.name} is written to {path}.")
    if written.left_out:
        say(f"Not in it: {written.left_out:,} of the files that came along; --format charx takes all of them.")


def remove_card(
    name: Annotated[str, typer.Argument(help="Id or name of an imported persona.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Take an imported card away. Its conversations stay, and `restore` brings it back."""
    persona = persona_named(name, known_personas().whole)
    if not persona.is_imported:
        raise typer.BadParameter(
            inert(f"{persona.name} lies in {persona.source_path}; only imported cards are removed.")
        )
    if yes or _confirmed(f"Take {inert(persona.name)} ({persona.id}) away?"):
        write_once(load_settings().sqlite_url, personas.retire, persona.id, by=OPERATOR, now=datetime.now(UTC))
        say(f"{persona.name} is gone; `familiar persona restore {persona.id}` brings it back.")


def restore_card(persona_id: Annotated[str, typer.Argument(help="The id of a removed persona.")]) -> None:
    """Bring back a card that was taken away."""
    url = load_settings().sqlite_url
    if read_once(url, personas.find_retired, None, persona_id) is None:
        raise typer.BadParameter(inert(f"No removed persona has the id “{persona_id}”."))
    write_once(url, personas.restore, persona_id)
    say(f"{persona_id} is back.")


def _original(persona: Persona) -> Original | None:
    if not persona.is_imported:
        return None
    return read_once(load_settings().sqlite_url, personas.read_original, None, persona.id)


def _confirmed(question: str) -> bool:
    """Whether somebody says yes.

    Raises:
        Abort: nobody is there to be asked, or they break it off.
    """
    try:
        return typer.confirm(question)
    except typer.Abort:
        if not sys.stdin.isatty():
            print("\nNobody answers here, so nothing was done; --yes goes ahead without asking.", file=sys.stderr)
        raise


def say(text: str) -> None:
    """Print a line in which nothing counts as mark-up or moves the cursor."""
    print(inert(text))

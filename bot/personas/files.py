"""A persona as a file to give away: its card as it is now, with the picture and the files it came with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from bot.personas.card import CardError, PersonaCard
from bot.personas.export import file_name, stamped
from bot.personas.formats import Asset, Container, read_file, write_charx, write_json, write_png
from bot.personas.formats.assets import data_in, main_icon

FORMS = ("json", "png", "charx")


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """A file by its name and its bytes."""

    name: str
    data: bytes
    left_out: int
    """How many files that came with the card, its picture among them, have no place in it."""


def usual_form(came_in: str | None, *, has_picture: bool) -> str:
    """The one of FORMS that takes along most of what a card came with."""
    if came_in == Container.CHARX:
        return "charx"
    return "png" if has_picture else "json"


def write_persona(card: PersonaCard, form: str, now: datetime, *, came_as: bytes | None) -> Written:
    """The persona in one of FORMS; `came_as` is the file it was imported from. What was accepted then is no part of it.

    Raises:
        CardError: the picture cannot carry a card.
    """
    leaving = stamped(card, int(now.timestamp()))
    picture, assets = _came_along(came_as)
    match form:
        case "png":
            data, left_out = write_png(leaving, picture), len(assets)
        case "charx":
            data, left_out = write_charx(leaving, picture, assets), 0
        case _:
            data, left_out = write_json(leaving), len(assets) + _is_outside(card, picture)
    return Written(name=file_name(card, form), data=data, left_out=left_out)


def _is_outside(card: PersonaCard, picture: bytes | None) -> bool:
    """Whether there is a picture that the card's text does not hold."""
    main = main_icon(card.assets) or {}
    return picture is not None and data_in(str(main.get("uri", ""))) != picture


def _came_along(data: bytes | None) -> tuple[bytes | None, tuple[Asset, ...]]:
    if data is None:
        return None, ()
    try:
        read = read_file(data, fallback_name="card")
    except CardError:  # a later version of ours may be stricter
        return None, ()
    return read.picture, read.assets

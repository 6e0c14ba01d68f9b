"""How the command line is told of people and places: a platform and an id of it. Knows no store and no extension."""

from __future__ import annotations

import difflib

import typer

from bot.cli.inert import inert
from bot.env.access import PLATFORM_NUMBER
from bot.settings import PLATFORMS, TERMINAL

ALIKE = 0.8
"""From which ratio of difflib on a platform is a slip of a known one: “discrod” is, “discourse” is another's."""


def demand_key(key: str) -> str:
    """A key of a person or place as it was typed, `discord:1234`; of platforms that extensions bring any id will do.

    Raises:
        typer.BadParameter: nobody can have it, so that nothing would ever be found under it.
    """
    platform, _, identity = key.partition(":")
    if not (platform and identity):
        raise typer.BadParameter("A place or person is a platform and an id, such as discord:1234.")
    near = difflib.get_close_matches(platform.casefold(), PLATFORMS, 1, ALIKE)
    if near and platform not in PLATFORMS:
        raise typer.BadParameter(inert(f"There is no platform “{platform}”; did you mean {near[0]}?"))
    if platform in PLATFORMS and platform != TERMINAL and not PLATFORM_NUMBER.fullmatch(identity):
        raise typer.BadParameter(inert(f"{platform} numbers people and places, and “{identity}” is no number."))
    return key

"""Whose face people see when a persona speaks: its own, or the one that the platform knows the bot by."""

from __future__ import annotations

from collections.abc import Callable

from bot.chat import LoadPicture, Speaker
from bot.personas.library import Persona

PictureOf = Callable[[Persona], LoadPicture | None]
"""How the picture of a persona is had, if it may have one."""


def speaker_of(
    persona: Persona | None, *, own_id: str, is_one_of_several: bool, picture_of: PictureOf
) -> Speaker | None:
    """The speaker that an adapter is told of. `own_id` is the persona that the platform knows the bot by: where it
    speaks alone, there is nothing to tell.
    """
    if persona is None or (persona.id == own_id and not is_one_of_several):
        return None
    return Speaker(
        persona_id=persona.id,
        name=persona.name,
        has_own_face=persona.id != own_id,
        is_one_of_several=is_one_of_several,
        picture=picture_of(persona),
    )

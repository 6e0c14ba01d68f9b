"""Whose face people see when a persona speaks: its own, or the one that the platform knows the bot by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bot.cast import Cast, read_cast
from bot.chat import ChannelRef, LoadPicture, Speaker
from bot.overrides import Resolver
from bot.personas.library import Persona, PersonaLibrary
from bot.personas.shelf import persona_id_for
from bot.settings import PlaceSettings

PictureOf = Callable[[Persona], LoadPicture | None]
"""How the picture of a persona is had, if it may have one."""


@dataclass(frozen=True, kw_only=True)
class Faces:
    """Tells who speaks in a channel, and with which face."""

    library: PersonaLibrary
    resolver: Resolver
    picture_of: PictureOf = lambda _: None

    def cast(self, channel: ChannelRef, settings: PlaceSettings) -> Cast:
        """Everybody who speaks there."""
        shelf = self.library.at(channel.place_key)
        return read_cast(shelf, settings, persona_id_for(shelf, settings.persona))

    def speaker(self, persona: Persona | None, channel: ChannelRef, cast: Cast) -> Speaker | None:
        """The speaker that an adapter is told of. Where the persona that the platform knows the bot by speaks alone,
        there is nothing to tell.
        """
        own_id = persona_id_for(self.library, self.resolver.resolve(channel.platform, ()).values.persona)
        if persona is None or (persona.id == own_id and not cast.is_several):
            return None
        return Speaker(
            persona_id=persona.id,
            name=persona.name,
            has_own_face=persona.id != own_id,
            is_one_of_several=cast.is_several,
            picture=self.picture_of(persona),
        )

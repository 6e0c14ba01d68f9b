"""Makes what gives personas their faces, and what says their first words with them."""

from __future__ import annotations

from functools import partial

from bot.app.running import Core
from bot.faces import Faces
from bot.greeting import Greeter
from bot.portraits import Portraits


def build_faces(core: Core) -> Faces:
    """Who speaks where, with pictures from the cards."""
    portraits = Portraits(core.db)
    return Faces(
        library=core.library,
        resolver=core.resolver,
        picture_of=lambda persona: partial(portraits.face, persona),
    )


def build_greeter(core: Core) -> Greeter:
    """What says greetings, each with the face of its persona."""
    return Greeter(
        db=core.db,
        resolver=core.resolver,
        faces=build_faces(core),
        adapters=core.platforms,
        now=core.now,
        count=core.counter.count,
    )

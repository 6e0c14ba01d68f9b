"""Which images of a conversation go with a request. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bot.store.images import ImageKey, ImageRow
from bot.turn import Turn

IMAGE_TOKENS = 800
"""Estimate for one image of ordinary size at the usual detail."""

MOST_IMAGES = 4
"""Images of a conversation that go with a request, so that a question about a picture may come later than the picture.
More would fill a window of 16,000 tokens by a quarter, and servers that people run at home take few."""

IMAGE_ROOM_RATIO = 0.75
"""How much of the history's room images may take, so that in a small window the words about them stay."""


def choose_images(found: Sequence[ImageKey], burst: Sequence[int], sent: Sequence[int]) -> Sequence[ImageKey]:
    """Of the images in the window, those to send: what was `sent` before and what is new. Where new ones make them too
    many, half of them go at once, so that there is room for the next; those of the burst itself always stay.
    """
    found = [image for image in found if not sent or image.id >= sent[0]]
    is_new = bool(found) and (not sent or found[-1].id > sent[-1])
    if not is_new or len(found) <= MOST_IMAGES:
        return found
    asked = sum(image.message_id in burst for image in found)
    return found[-max(MOST_IMAGES // 2, asked) :]


def images_that_fit(turn: Turn, room: int) -> Sequence[ImageRow]:
    """The turn's images that go into so many tokens, the newest of them."""
    most = max(0, room // IMAGE_TOKENS)
    if len(turn.images) <= most:
        return turn.images
    asked = sum(image.message_id in turn.burst for image in turn.images)
    kept = max(most // 2, min(most, asked))
    return turn.images[len(turn.images) - kept :]


def images_by_message(images: Iterable[ImageRow]) -> Mapping[int, int]:
    """How many images each message is sent with."""
    number: dict[int, int] = {}
    for image in images:
        number[image.message_id] = number.get(image.message_id, 0) + 1
    return number

"""A PNG or APNG picture taken apart as a card: the first chunk that can be read, and the files that came along."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bot.personas.card import CardError, CardWarning
from bot.personas.formats import png
from bot.personas.formats.json import read_json
from bot.personas.formats.pictures import demand_a_bearable_picture
from bot.personas.formats.unpacked import Container, Unpacked
from bot.sentences import sentence


def read_portrait(data: bytes) -> Unpacked:
    """Take a picture apart.

    Raises:
        CardError: it is damaged, over a limit, or its card is.
    """
    demand_a_bearable_picture(data)
    mapping, warnings = _first_readable(png.card_payloads(data))
    if not png.is_whole(data):
        warnings.append(CardWarning(field="picture", message=sentence("card-picture-cut")))
    return Unpacked(
        container=Container.APNG if png.is_animated(data) else Container.PNG,
        mapping=mapping,
        picture=data,
        files=png.asset_files(data),
        warnings=tuple(warnings),
    )


def _first_readable(payloads: Iterator[tuple[str, bytes]]) -> tuple[Mapping[Any, Any], list[CardWarning]]:
    """The first chunk that can be read; damaged ones before it are told."""
    warnings: list[CardWarning] = []
    for keyword, payload in payloads:
        try:
            return read_json(payload), warnings
        except CardError as error:
            warnings.append(CardWarning(field=keyword, message=sentence("card-chunk-unusable", problem=error.problem)))
    if warnings:
        raise CardError("card-chunk-damaged", "card-export-again", problem=warnings[0].message)
    raise CardError("card-chunk-undecoded", "card-export-again")

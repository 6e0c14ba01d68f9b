"""Cards that nobody thought of go through every container, and come out as they went in."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterator
from itertools import cycle
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.personas.card import PersonaCard
from bot.personas.formats import Container, read_file, write_charx, write_json, write_png
from tests.cards import PLAIN_PNG, apng, international_text, packed_text, picture, text
from tests.cards import png as make_png

OTHER_PNG = picture("PNG", side=5)

WORDS = st.text(max_size=30)
WHOLE = st.integers(-(10**18), 10**18)  # as YAML takes them
NUMBERS = WHOLE | st.integers(-(10**15), 10**15).map(lambda number: number / 8) | st.sampled_from([math.nan, -math.inf])
PAIR = re.compile(r"\\u(d[89ab]..)\\u(d[c-f]..)")
JPEG = picture("JPEG")
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
OPEN = st.dictionaries(st.text(max_size=8), ANYTHING, max_size=4)
ENTRIES = st.lists(st.fixed_dictionaries({"keys": st.lists(WORDS, max_size=3), "content": WORDS}) | OPEN, max_size=4)
ASSET = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["icon", "background", "emotion", "user_icon", "x_sound", "other"]),
        "uri": st.sampled_from(["ccdefault:", "https://example.org/a.png", "embeded://a/b.png", "__asset:3"]) | WORDS,
        "name": st.sampled_from(["main", "neutral"]) | WORDS,
        "ext": st.sampled_from(["png", "webp", "unknown"]) | WORDS,
    },
    optional={"x_own": ANYTHING},
)
STRAY = st.sampled_from(["first_mesage", "fav", "data", "spec", "unknown", "x", "\0x", "create_date"]) | st.text(
    max_size=9
)
DATA = st.fixed_dictionaries(
    {"name": st.text(min_size=1, max_size=20)},
    optional={
        **dict.fromkeys(("description", "personality", "scenario", "first_mes", "mes_example", "creator_notes"), WORDS),
        **dict.fromkeys(("system_prompt", "post_history_instructions", "creator", "character_version"), WORDS),
        **dict.fromkeys(("alternate_greetings", "group_only_greetings", "tags", "source"), st.lists(WORDS, max_size=3)),
        "nickname": WORDS,
        "creator_notes_multilingual": st.dictionaries(st.sampled_from(["en", "zh", "de"]), WORDS),
        "creation_date": st.integers() | st.floats(),
        "modification_date": st.integers(),
        "character_book": ENTRIES | st.fixed_dictionaries({"entries": ENTRIES}, optional={"name": WORDS}) | ANYTHING,
        "assets": st.lists(ASSET, max_size=3),
        "extensions": OPEN,
    },
)


TEXTS = (
    *("description", "personality", "scenario", "first_mes", "mes_example"),
    *("creator_notes", "system_prompt", "post_history_instructions"),
)
FAMILY = 5


def family(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Cards of the same values: each has some other fields, and its texts in other places. Drawing one card costs more
    than reading it back from everything.
    """
    said = [data.get(field, "") for field in TEXTS]
    for turn in range(FAMILY):
        texts = zip(TEXTS, (*said[turn:], *said[:turn]), strict=True)
        kept = [field for place, field in enumerate(data) if not turn or (place + turn) % FAMILY]
        told = {field: text for field, text in texts if text}
        yield {**{field: data[field] for field in kept}, **told, "name": data["name"]}


def imported(data: dict[str, Any], stray: dict[str, Any]) -> PersonaCard:
    """The card as an import gives it, with fields of any name and kind beside those it knows."""
    card = {"spec": "chara_card_v3", "spec_version": "3.0", "data": {**stray, **data}}
    return read_file(json.dumps(card).encode(), fallback_name="somebody").card


V1_FIELDS = ("description", "personality", "scenario", "first_message", "example_messages")
V3_FIELDS = {
    "nickname": "",
    "creator_notes_multilingual": {},
    "source": (),
    "group_only_greetings": (),
    "creation_date": 0,
    "modification_date": 0,
    "assets": (),
}


def as_v2(card: PersonaCard) -> PersonaCard:
    """What of a card V2 has words for."""
    return card.model_copy(update=V3_FIELDS)


def as_v1(card: PersonaCard) -> PersonaCard:
    return PersonaCard(name=card.name, **{field: getattr(card, field) for field in V1_FIELDS})


def packed(card: PersonaCard, portrait: bytes) -> Iterator[tuple[Container, bytes, PersonaCard]]:
    """The card in every container and version, by our writers and by hand, each with what must be read of it."""
    v1, v2, v3 = (write_json(card, version) for version in ("v1", "v2", "v3"))
    archive, b3 = write_charx(card, portrait, ()), base64.b64encode(v3)
    yield Container.JSON, v3, card
    yield Container.JSON, v2, as_v2(card)
    if any(getattr(card, field) for field in V1_FIELDS[:4]):  # else it describes nobody
        yield Container.JSON, v1, as_v1(card)
    yield Container.PNG, write_png(card, portrait), card
    yield Container.PNG, make_png(text("chara", base64.b64encode(v2))), as_v2(card)
    yield Container.PNG, make_png(after=(packed_text("ccv3", b3),)), card
    yield Container.APNG, write_png(card, apng()), card
    yield Container.APNG, apng(international_text("ccv3", b3, packed=True)), card
    yield Container.CHARX, archive, card
    yield Container.CHARX, JPEG + archive, card
    yield Container.CHARX, b"MZ" + archive, card
    yield Container.WEBP, picture("WEBP", v3), card
    yield Container.JPEG, picture("JPEG", b"ASCII\0\0\0" + b3), card


def as_yaml(card: PersonaCard) -> bytes:
    """V3 with its outermost mapping in YAML's own form, and below it JSON, which is YAML but for the escapes of what
    JSON needs two for.
    """
    lines = (f"{key}: {json.dumps(value)}" for key, value in json.loads(write_json(card)).items())
    return PAIR.sub(one_escape, "\n".join(lines)).encode()


def one_escape(pair: re.Match[str]) -> str:
    char = bytes.fromhex(pair[1] + pair[2]).decode("utf-16-be")
    return f"\\U{ord(char):08x}"


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(DATA, st.dictionaries(STRAY, ANYTHING, max_size=3))
def test_thousands_of_cards_come_out_of_every_container_as_they_went_in(
    data: dict[str, Any], stray: dict[str, Any]
) -> None:
    cards = [imported(sibling, stray) for sibling in family(data)]
    assert read_file(as_yaml(cards[0])).card == cards[0]
    for card, portrait in zip(cards, cycle((PLAIN_PNG, OTHER_PNG)), strict=False):
        for container, file, wanted in packed(card, portrait):
            found = read_file(file)
            assert (found.container, found.card) == (container, wanted)
            assert container is not Container.CHARX or found.picture == portrait
        assert PersonaCard.model_validate_json(card.model_dump_json()) == card  # as the database keeps it

"""Damaged files of every kind are read or refused and nothing else; the limits hold; the original is told apart."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.personas.card import CardError
from bot.personas.formats import CardFile, Container, read_file
from tests.cards import (
    BOOK,
    LUNA,
    PLAIN_PNG,
    apng,
    as_base64,
    as_json,
    charx,
    international_text,
    packed_text,
    picture,
    png,
    text,
    v2,
    v3,
)

CARD = v3(character_book=BOOK, extensions={"a": [1]})
WHOLE = (
    as_json(CARD),
    png(text("chara", as_base64(v2())), text("ccv3", as_base64(CARD))),
    png(packed_text("ccv3", as_base64(CARD)), international_text("chara", as_base64(v2()), packed=True)),
    apng(text("ccv3", as_base64(CARD))),
    charx(CARD, **{"assets/icon/images/main.png": PLAIN_PNG, "assets/icon/images/main.jpeg": picture("JPEG")}),
    picture("JPEG") + charx(CARD),
    picture("JPEG", as_json(v2())),
    picture("WEBP", as_json(v2())),
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A good file with some bytes changed, cut out or put in."""
    data = bytearray(draw(st.sampled_from(WHOLE)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        length = draw(st.sampled_from([0, 1, 1, 2, 4, 40]))
        data[start : start + length] = draw(st.binary(max_size=4))
    return bytes(data)


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")  # what it thinks of damaged EXIF
@settings(max_examples=600, deadline=None)
@given(damaged())
def test_a_damaged_file_of_any_kind_is_read_or_refused(data: bytes) -> None:
    with suppress(CardError):
        assert isinstance(read_file(data, fallback_name="file"), CardFile)


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
@pytest.mark.parametrize("data", WHOLE, ids=[str(number) for number in range(len(WHOLE))])
def test_a_file_cut_off_anywhere_is_read_or_refused(data: bytes) -> None:
    for end in range(0, len(data), 7):
        with suppress(CardError):
            read_file(data[:end], fallback_name="file")


def test_a_card_file_tells_what_it_came_in_and_the_hash_of_the_original() -> None:
    data = png(text("ccv3", as_base64(v3())))
    found = read_file(data)
    assert found == CardFile(
        card=LUNA,
        warnings=(),
        container=Container.PNG,
        picture=data,
        assets=(),
        sha256=hashlib.sha256(data).hexdigest(),
    )


def test_no_picture_library_is_loaded_before_a_picture_needs_it() -> None:
    program = "import sys, bot.personas.formats; sys.exit('PIL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

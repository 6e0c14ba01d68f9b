"""Names, sizes and images as they come in, on any platform."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.incoming import JOINERS, image_type, inert, size_in_words


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ann", "Ann"),
        ("  Ann \n\t Lee ", "Ann Lee"),
        ("\u202eevil\u200b\u2066x", "evilx"),
        ("a\x00b\x1b[31m", "a b [31m"),
        ("👩\u200d👧", "👩\u200d👧"),
        ("\u200b\u2060", ""),
        ("\u200d", ""),
        ("\u3164", ""),
        ("\u2800\ufe0f", ""),
        ("a\u3164b", "a b"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("n" * 300, "n" * 80),
    ],
)
def test_names_become_one_inert_line(name: str, shown: str) -> None:
    assert inert(name) == shown


@given(st.text(max_size=200))
def test_no_name_breaks_a_line_or_hides_characters(name: str) -> None:
    shown = inert(name)
    assert all(char.isprintable() or char in JOINERS for char in shown)
    assert len(shown) <= 80
    assert shown == shown.strip()


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"GIF89a", "image/gif"),
        (b"<html>", None),
        (b"", None),
    ],
)
def test_D20_an_image_is_known_by_its_magic_bytes(data: bytes, media_type: str | None) -> None:
    assert image_type(data) == media_type


@pytest.mark.parametrize(
    ("size", "words"), [(0, "0 B"), (999, "999 B"), (12_345, "12 kB"), (999_999, "1000 kB"), (1_234_567, "1.2 MB")]
)
def test_a_size_is_told_in_words(size: int, words: str) -> None:
    assert size_in_words(size) == words

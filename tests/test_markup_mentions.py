"""A text of ours calls nobody on Telegram: no link to a person, no live name; what people read stays the same."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.markup import FormattedText, to_entities, without_mentions
from adapters.markup.formatted import Units
from adapters.markup.mentions import LOOKALIKE, WORD_JOINER

OWN = "mira_bot"
LIVE = re.compile(r"(?<!\w)@[A-Za-z0-9_]")
"""What the server may take for a name, where it looks for any."""

NAMES = ["@alice", "@", "bob", f"@{OWN}", "a@b.org", "](tg://user?id=1)", "<tg://user?id=2>", "![x](TG://user?id=3)"]
MARKS = ["`", "``", "**", "*", "[", "||", "_", " ", "\n", "```\n", "> ", "- ", "😀", "你好", ".", "/", WORD_JOINER]
SOURCES = st.lists(st.sampled_from([*NAMES, *MARKS])).map("".join)


def rendered(markdown: str, *, keeps_length: bool = False) -> FormattedText:
    return without_mentions(to_entities(markdown), own_name=OWN, keeps_length=keeps_length)


def styled(formatted: FormattedText) -> list[tuple[str, str]]:
    units = Units(formatted.text)
    return [(it.type, formatted.text[units.index(it.offset) : units.index(it.end)]) for it in formatted.entities]


def live_names(formatted: FormattedText) -> list[str]:
    """Whom the server would call: code blinds it, everything else does not."""
    units, text = Units(formatted.text), list(formatted.text)
    for it in formatted.entities:
        if it.type in ("code", "pre"):
            start, end = units.index(it.offset), units.index(it.end)
            text[start:end] = "." * (end - start)
    seen = "".join(text)
    return [seen[found.start() :].split()[0] for found in LIVE.finditer(seen)]


@given(SOURCES, st.booleans())
def test_D04_D28_no_rendering_calls_anybody_and_every_word_stays(markdown: str, keeps_length: bool) -> None:
    before, after = to_entities(markdown), rendered(markdown, keeps_length=keeps_length)
    assert not [it for it in after.entities if (it.url or "").lower().startswith("tg:")]
    assert all(name.lower().startswith(f"@{OWN}") for name in live_names(after))
    bare = [text.replace(WORD_JOINER, "").replace(LOOKALIKE, "@") for text in (before.text, after.text)]
    assert bare[0] == bare[1]
    kept = [(kind, text.replace(WORD_JOINER, "").replace(LOOKALIKE, "@")) for kind, text in styled(after)]
    expected = [
        (it.type, text.replace(WORD_JOINER, ""))
        for it, (_, text) in zip(before.entities, styled(before), strict=True)
        if not (it.url or "").lower().startswith("tg:")
    ]
    assert kept == expected
    assert not keeps_length or len(after.text) == len(before.text)


@given(SOURCES)
def test_D04_once_is_as_good_as_twice(markdown: str) -> None:
    once = rendered(markdown)
    assert without_mentions(once, own_name=OWN) == once
    assert without_mentions(once, own_name=OWN, keeps_length=True) == once


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("ask @alice", "ask @\u2060alice"),
        ("(@alice, @Bob_1)", "(@\u2060alice, @\u2060Bob_1)"),
        ("||@||alice", "@\u2060alice"),
        ("@**alice**", "@\u2060alice"),
        ("@alice**x**", "@\u2060alicex"),
        (f"@{OWN} and @{OWN.upper()}", f"@{OWN} and @{OWN.upper()}"),
        (f"@{OWN}x", f"@\u2060{OWN}x"),
        ("@ alice, a @", "@ alice, a @"),
        ("write to alice@example.org or josé@example.org", "write to alice@example.org or josé@example.org"),
        ("`@alice`", "@alice"),
        ("`a`@alice", "a@\u2060alice"),
        ("https://a.bc/`x`@alice", "https://a.bc/x@\u2060alice"),
        ("```\n@alice\n```", "@alice"),
        ("see https://example.org/@alice/1", "see https://example.org/@alice/1"),
        ("<https://example.org:8080?a=@alice>", "https://example.org:8080?a=@alice"),
        ("https://@alice", "https://@\u2060alice"),
        ("https://nowhere/@alice", "https://nowhere/@\u2060alice"),
        ("xhttps://a.bc/@alice", "xhttps://a.bc/@\u2060alice"),
        ("https://a.bc/(@alice)", "https://a.bc/(@\u2060alice)"),
        ("[Bob](tg://user?id=123) and [docs](https://example.org)", "Bob and docs"),
    ],
)
def test_D04_only_what_would_call_somebody_is_changed(markdown: str, shown: str) -> None:
    assert rendered(markdown).text == shown


def test_D04_a_text_made_to_be_slow_is_not() -> None:
    began = time.perf_counter()
    rendered("`a` @b https://a.bc/@" * 2_300)
    rendered("https://a.a" + ".a" * 20_000 + "@b")
    assert time.perf_counter() - began < 5

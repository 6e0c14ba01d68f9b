"""Cards written and read back: the same card through every container, the same pixels, and old readers served."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageSequence

from bot.personas.card import CardError, PersonaCard
from bot.personas.export import COPY_NOTICE, file_name, stamped
from bot.personas.formats import CardFile, Container, png, read_file, write_charx, write_json, write_png
from bot.personas.formats.text import MAX_DEPTH
from tests.cards import (
    BOOK,
    LUNA,
    PLAIN_PNG,
    V1,
    apng,
    as_base64,
    as_json,
    asset,
    charx,
    luna,
    packed_text,
    picture,
    text,
    v3,
)
from tests.cards import png as make_png

ICON = "assets/icon/images/main.png"
JOY = "assets/emotion/images/joy.png"
OTHER_PNG = picture("PNG", side=5)


def test_a_card_without_a_picture_gets_a_plain_one() -> None:
    assert read_file(write_png(LUNA, None)).card == LUNA
    assert read_file(write_charx(LUNA, None, ())).card == LUNA


@pytest.mark.parametrize("portrait", [PLAIN_PNG, OTHER_PNG, apng()], ids=["plain", "other", "frames"])
def test_a_picture_keeps_its_pixels_frames_and_other_chunks(portrait: bytes) -> None:
    written = write_png(LUNA, portrait)
    assert frames(written) == frames(portrait)
    assert without_texts(written) == without_texts(portrait)


def frames(data: bytes) -> list[tuple[Any, bytes]]:
    with Image.open(io.BytesIO(data)) as image:
        return [
            (frame.info.get("duration"), frame.convert("RGBA").tobytes()) for frame in ImageSequence.Iterator(image)
        ]


def without_texts(data: bytes) -> list[bytes]:
    return [chunk.raw for chunk in png.walk(data) if chunk.kind not in (b"tEXt", b"zTXt", b"iTXt")]


def test_P02_every_card_a_picture_had_is_replaced_by_one_of_each_version() -> None:
    old = as_base64(v3(name="Old"))
    picture = make_png(
        text("Chara", old), text("parameters", b"4k"), after=(packed_text("ccv3", old), text("ccv3", old))
    )
    written = write_png(LUNA, picture)
    with Image.open(io.BytesIO(written)) as image:
        image.load()
        texts = image.text  # type: ignore[attr-defined]  # a PNG has it
    assert set(texts) == {"chara", "ccv3", "parameters"}
    assert [json.loads(base64.b64decode(texts[word]))["spec"] for word in ("chara", "ccv3")] == [
        "chara_card_v2",
        "chara_card_v3",
    ]
    assert written.count(b"tEXtchara\0") == written.count(b"tEXtccv3\0") == 1
    assert b"Old" not in b"".join(base64.b64decode(texts[word]) for word in ("chara", "ccv3"))


def v2_copy(card: PersonaCard) -> dict[str, Any]:
    payloads = dict(png.card_payloads(write_png(card, None)))
    copy: dict[str, Any] = json.loads(payloads["chara"])
    return copy


def test_the_copy_for_old_readers_says_that_it_is_one_and_has_no_decorators() -> None:
    entries = [
        {"keys": ["a"], "content": "@@depth 4\n@@@role user\n\nIt is late."},
        {"keys": ["b"], "content": "An address such as\n@@home stays."},
        {"keys": ["c"], "content": "@@activate"},
        "junk",
    ]
    card = luna(creator_notes="By hand.", character_book={"name": "Clocks", "entries": entries})
    data = v2_copy(card)["data"]
    contents = [entry["content"] for entry in data["character_book"]["entries"][:3]]
    assert contents == ["It is late.", "An address such as\n@@home stays.", ""]
    assert data["character_book"]["name"] == "Clocks"
    assert data["creator_notes"] == f"By hand.\n\n{COPY_NOTICE}"
    assert v2_copy(luna(creator_notes=data["creator_notes"]))["data"]["creator_notes"] == data["creator_notes"]
    assert read_file(write_png(card, None)).card == card


def test_a_v3_file_repeats_the_six_fields_of_v1_where_the_oldest_readers_look() -> None:
    written = json.loads(write_json(LUNA))
    assert {field: written[field] for field in V1} == V1
    assert written["data"]["group_only_greetings"] == []
    assert json.loads(write_json(LUNA, "v1")) == V1


def test_P22_a_field_of_the_future_is_there_again_in_an_export() -> None:
    card = read_file(as_json({**v3(foo={"bar": [1]}), "spec_version": "3.1"})).card
    assert json.loads(write_json(card))["data"]["foo"] == {"bar": [1]}
    assert v2_copy(card)["data"]["foo"] == {"bar": [1]}


@pytest.mark.parametrize("kind", ["JPEG", "WEBP", "GIF"])
def test_a_picture_of_another_kind_becomes_a_png_and_stays_itself_in_an_archive(kind: str) -> None:
    portrait = picture(kind, side=3)
    written = read_file(write_png(LUNA, portrait))
    assert (written.card, written.container) == (LUNA, Container.PNG)
    assert written.picture is not None
    assert frames(written.picture)[0][1] == frames(portrait)[0][1]
    assert read_file(write_charx(LUNA, portrait, ())).picture == portrait


def test_a_damaged_picture_is_refused_when_a_card_should_be_put_in() -> None:
    for damaged in (b"text", PLAIN_PNG[:20], picture("JPEG")[:200]):
        with pytest.raises(CardError):
            write_png(LUNA, damaged)


WITH_FILES = v3(
    assets=[asset("icon", f"embeded://{ICON}"), asset("emotion", f"embeded://{JOY}", "joy"), asset("icon", "x", "b")]
)


def read_with_files() -> CardFile:
    return read_file(charx(WITH_FILES, **{ICON: OTHER_PNG, JOY: PLAIN_PNG, "x_meta/1.json": b"{}"}))


def test_an_archive_gives_its_picture_and_every_other_file() -> None:
    found = read_with_files()
    assert found.picture == OTHER_PNG
    assert [(it.type, it.name, it.ext, it.path, it.data) for it in found.assets] == [
        ("emotion", "joy", "png", JOY, PLAIN_PNG),
        ("", "", "json", "x_meta/1.json", b"{}"),
    ]


def test_P13_a_file_full_of_an_archives_own_marks_comes_out_whole() -> None:
    tricky = b"PK\x07\x08 PK\x01\x02 PK\x05\x06 PK\x03\x04" * 9
    found = read_file(charx(**{"a.bin": tricky, JOY: PLAIN_PNG}))
    assert {it.path: it.data for it in found.assets} == {"a.bin": tricky, JOY: PLAIN_PNG}
    assert read_file(write_charx(found.card, None, found.assets)).assets == found.assets


def test_an_archive_is_the_same_after_import_and_export() -> None:
    found = read_with_files()
    again = read_file(write_charx(found.card, found.picture, found.assets))
    assert (again.card, again.picture, again.assets) == (found.card, found.picture, found.assets)
    assert again.warnings == ()


def test_P14_the_default_icon_of_a_picture_is_the_picture_and_moves_into_an_archive() -> None:
    found = read_file(make_png(text("ccv3", as_base64(v3(assets=[asset("icon", "ccdefault:")])))))
    assert found.picture is not None
    again = read_file(write_charx(found.card, found.picture, ()))
    assert (again.card, again.picture) == (found.card, found.picture)


@pytest.mark.parametrize("portrait", [picture("JPEG", side=3), PLAIN_PNG], ids=["jpeg", "png"])
def test_the_picture_that_an_archive_hides_behind_is_the_personas_unless_it_has_one(portrait: bytes) -> None:
    assert read_file(portrait + charx()).picture == portrait
    found = read_file(portrait + charx(v3(assets=[asset("icon", f"embeded://{JOY}")]), **{JOY: OTHER_PNG}))
    assert (found.picture, found.assets) == (OTHER_PNG, ())
    assert read_file(portrait + charx(**{ICON: OTHER_PNG})).picture == OTHER_PNG
    assert read_file(b"MZ" + portrait + charx()).picture is None
    assert read_file(portrait[:12] + charx()).picture is None


def test_a_picture_that_two_names_share_is_not_lost_for_either() -> None:
    data = v3(assets=[asset("icon", "embeded://a.png"), asset("emotion", "embeded://a.png", "neutral")])
    found = read_file(charx(data, **{"a.png": OTHER_PNG}))
    assert (found.picture, [it.path for it in found.assets]) == (OTHER_PNG, ["a.png"])
    again = read_file(write_charx(found.card, found.picture, found.assets))
    assert (again.card, again.picture, again.assets) == (found.card, found.picture, found.assets)


@pytest.mark.parametrize("uri", ["embeded://a.png", "data:image/png;base64," + base64.b64encode(PLAIN_PNG).decode()])
def test_a_new_picture_replaces_the_one_that_the_card_lists(uri: str) -> None:
    both = [asset("icon", uri), asset("emotion", uri, "neutral")]
    found = read_file(charx(v3(assets=both), **{"a.png": PLAIN_PNG}))
    assert found.picture == PLAIN_PNG
    assert read_file(write_charx(found.card, OTHER_PNG, found.assets)).picture == OTHER_PNG
    assert read_file(write_png(found.card, OTHER_PNG)).picture == write_png(found.card, OTHER_PNG)


def test_a_new_picture_takes_no_other_files_place() -> None:
    found = read_file(charx(v3(assets=[asset("emotion", f"embeded://{ICON}", "joy")]), **{ICON: PLAIN_PNG, "a": b"1"}))
    again = read_file(write_charx(found.card, OTHER_PNG, found.assets))
    assert (again.card, again.picture, again.assets) == (found.card, OTHER_PNG, found.assets)


def test_a_file_that_is_called_like_the_card_does_not_become_it() -> None:
    hidden = text("chara-ext-asset_:card.json", base64.b64encode(as_json(v3(name="Mallory"))))
    found = read_file(make_png(hidden, text("ccv3", as_base64(v3()))))
    assert read_file(write_charx(found.card, found.picture, found.assets)).card == LUNA


def test_a_card_as_deep_as_cards_may_be_can_be_read_again() -> None:
    deep: object = 0
    for _ in range(MAX_DEPTH - 2):
        deep = [deep]
    card = read_file(as_json({**V1, "own": deep})).card
    assert read_file(write_json(card)).card == card
    with pytest.raises(CardError, match="nests deeper"):
        read_file(as_json({**V1, "own": [deep]}))


def test_an_export_is_stamped_and_keeps_when_the_card_was_made() -> None:
    assert stamped(luna(creation_date=5), 9) == luna(creation_date=5, modification_date=9)
    assert stamped(LUNA, 9).creation_date == 0


def test_a_card_near_the_limit_can_be_read_again() -> None:
    card = luna(description="x" * 1_500_000, character_book=BOOK)
    for written in (write_json(card), write_png(card, None), write_charx(card, None, ())):
        assert read_file(written).card == card


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("Luna", "Luna.png"),
        ("阿岑", "阿岑.png"),
        ("../../etc/cron.d/x", "etc cron d x.png"),
        ("CON", "persona.png"),
        ("a:b|c?", "a b c.png"),
        ("..", "persona.png"),
        ("\u202eevil", "evil.png"),
        ("x" * 300, "x" * 60 + ".png"),
        ("\0", "persona.png"),
    ],
)
def test_X08_an_export_has_a_file_name_that_every_system_takes(name: str, file: str) -> None:
    assert file_name(luna(name=name), "png") == file


@given(st.text(max_size=400))
def test_X08_no_name_makes_a_file_name_that_leads_anywhere(name: str) -> None:
    made = file_name(luna(name=name), "png")
    assert len(made.encode()) <= 255
    assert made.count(".") == 1
    assert not set(made) & set('/\\:*?"<>|\0\n\u202e')

"""Cards as people really have them, and as nobody should: each with what must become of it. Made here, not found."""

from __future__ import annotations

import codecs
import pickle
import random
import zipfile
import zlib
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass

from bot.personas.card import PersonaCard
from bot.personas.formats import MAX_FILE_BYTES, Container
from tests.cards import (
    BOOK,
    LUNA,
    PIXELS,
    PLAIN_PNG,
    V1,
    apng,
    archive,
    as_base64,
    as_json,
    asset,
    bomb,
    charx,
    chunk,
    encrypted,
    header,
    international_text,
    luna,
    packed_text,
    picture,
    png,
    text,
    v2,
    v3,
)


@dataclass(frozen=True, kw_only=True)
class Reads:
    """The file is read as this card, with a warning for each of these fields and no other."""

    card: PersonaCard = LUNA
    container: Container
    warned: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Refused:
    """The file is refused, in words that say why."""

    words: str


@dataclass(frozen=True)
class Nasty:
    """One file: the field case it stands for, what is odd about it, its bytes, and what must become of it."""

    row: str
    oddity: str
    make: Callable[[], bytes]
    outcome: Reads | Refused


def _broken_lines(value: bytes) -> bytes:
    return b"\r\n".join(value[start : start + 76] for start in range(0, len(value), 76))


def _url_safe(value: bytes) -> bytes:
    return value.translate(bytes.maketrans(b"+/", b"-_"))


def _with_byte(value: bytes) -> bytes:
    return value.replace(b"A clockmaker.", b"A clockmaker\xff")


ODD_LUNA = v2(description="ÿþ?~>>>???ÿ")  # its base64 has + and /
IN_PNG, IN_APNG, IN_CHARX = (Reads(container=kind) for kind in (Container.PNG, Container.APNG, Container.CHARX))
IN_JSON, IN_YAML = Reads(container=Container.JSON), Reads(container=Container.YAML)
OLD = as_base64(v2(name="Old"))
B2, B3 = as_base64(v2()), as_base64(v3())
NOISE = random.Random(7).randbytes(5_000)
ICON = "assets/icon/images/main.png"


def _json(row: str, oddity: str, card: object, outcome: Reads | Refused) -> Nasty:
    return Nasty(row, oddity, lambda: as_json(card), outcome)


def _png(row: str, oddity: str, *before: bytes, outcome: Reads | Refused = IN_PNG) -> Nasty:
    return Nasty(row, oddity, lambda: png(*before), outcome)


def _read(container: Container, *warned: str, **changes: object) -> Reads:
    return Reads(card=luna(**changes), container=container, warned=warned)


CHUNKS = (
    _png("P01", "zTXt chara", packed_text("chara", B2)),
    _png("P01", "zTXt ccv3", packed_text("ccv3", B3)),
    _png("P01", "iTXt", international_text("chara", B2, packed=False)),
    _png("P01", "packed iTXt", international_text("ccv3", B3, packed=True)),
    _png("P01", "damaged zTXt before a good one", chunk(b"zTXt", b"ccv3\0\0junk"), packed_text("chara", B2)),
    _png("P01", "cut zTXt", chunk(b"zTXt", b"chara\0\0" + zlib.compress(B2)[:-20]), outcome=Refused(words="decoded")),
    _png("P02", "stale chara before ccv3", text("chara", OLD), text("ccv3", B3)),
    _png("P02", "stale chara after ccv3", text("ccv3", B3), text("chara", OLD)),
    _png("P02", "two chara", text("chara", B2), text("chara", OLD)),
    _png("P02", "junk in the first of two", text("chara", b"!!"), text("chara", B2)),
    _png(
        "P02",
        "ccv3 that is no JSON",
        text("ccv3", b"AAAA"),
        text("chara", B2),
        outcome=_read(Container.PNG, "ccv3"),
    ),
    Nasty("P03", "after the pixels", lambda: png(after=(text("chara", B2),)), IN_PNG),
    Nasty("P03", "between the pixels", lambda: png(after=(text("ccv3", B3), PIXELS)), IN_PNG),
    Nasty("P03", "in a picture of frames", lambda: apng(text("ccv3", B3)), IN_APNG),
    Nasty("P03", "cut off after the card", lambda: png(text("chara", B2), end=b""), _read(Container.PNG, "picture")),
    Nasty("P03", "wrong checksum", lambda: png(text("chara", B2)[:-4] + b"oops"), IN_PNG),
    _png("P23", "line breaks", text("chara", _broken_lines(B2))),
    _png(
        "P23",
        "no padding",
        text("chara", as_base64(v2(creator="12")).rstrip(b"=")),
        outcome=_read(Container.PNG, creator="12"),
    ),
    _png(
        "P23",
        "URL alphabet",
        text("chara", _url_safe(as_base64(ODD_LUNA))),
        outcome=_read(Container.PNG, description="ÿþ?~>>>???ÿ"),
    ),
    _png("P23", "bare JSON", text("chara", as_json(v2()))),
    _png("P23", "bare JSON behind a mark", text("chara", codecs.BOM_UTF8 + as_json(v2()))),
    _png("P23", "mark inside of base64", text("chara", b64encode(codecs.BOM_UTF8 + as_json(v3())))),
    _png("P23", "mark before base64", text("chara", codecs.BOM_UTF8 + B2)),
    _png("P23", "trailing NUL", text("chara", B2 + b"\0")),
    _png(
        "P23",
        "a byte that is no UTF-8",
        text("chara", b64encode(_with_byte(as_json(v2())))),
        outcome=_read(Container.PNG, "description", description="A clockmaker\ufffd"),
    ),
    _png(
        "P23", "neither base64 nor JSON", text("chara", b"hello, world"), outcome=Refused(words="card in the picture")
    ),
    _png("P23", "nothing", text("chara", b""), outcome=Refused(words="card in the picture")),
    _png("P25", "parameters first", text("parameters", b"a photo of a clock, 4k"), text("chara", B2)),
    _png("P25", "parameters that are a card", text("parameters", OLD), text("chara", B2)),
    _png("P25", "parameters only", text("parameters", b"a clock"), outcome=Refused(words="carries no card")),
    _png("P25", "Chara", text("Chara", B2)),
    _png("P25", "CCV3", text("chara", OLD), text("CCV3", B3)),
)

PRUNED = {key: value for key, value in V1.items() if key != "name"}
PYGMALION = {
    "char_name": "Luna",
    "char_persona": "A clockmaker.",
    "personality": "Patient.",
    "world_scenario": "Her shop.",
    "char_greeting": "Come in!",
    "example_dialogue": V1["mes_example"],
}
OOBABOOGA = b"""
name: Luna
context: A clockmaker.
personality: Patient.
scenario: Her shop.
greeting: Come in!
example_dialogue: "<START>\\n{{user}}: hi\\n{{char}}: Mind the pendulum."
"""
ODD_BOOK = {"entries": [{"keys": "clock", "content": None, "position": 9, "id": 1}, {"id": 1, "depth": ""}, "junk"]}
NO_IDS = {"entries": [{"keys": ["a"], "content": "A", "position": "there"}, {"keys": ["b"], "secondary_keys": "c, d"}]}
TWICE = {"entries": [{"keys": ["a"], "content": "A", "id": 7}, {"keys": ["b"], "content": "B", "id": "7"}]}

TEXTS = (
    _json("P04", "null lorebook", v2(character_book=None), IN_JSON),
    _json("P04", "null everywhere", v3(tags=None, extensions=None, assets=None, source=None), IN_JSON),
    _json("P05", "greetings that are a text", v2(alternate_greetings="1687194031049"),
          _read(Container.JSON, "alternate_greetings", alternate_greetings=("1687194031049",))),
    _json("P05", "greetings that are a mapping", v3(group_only_greetings={"0": "hi"}),
          _read(Container.JSON, "group_only_greetings", "group_only_greetings")),
    _json("P06", "blank depth", v2(extensions={"depth_prompt": {"depth": ""}, "talkativeness": "0.5"}),
          _read(Container.JSON, extensions={"depth_prompt": {"depth": ""}, "talkativeness": "0.5"})),
    _json("P06", "extensions that are a list", v2(extensions=["a"]), _read(Container.JSON, "extensions")),
    _json("P06", "dates that are none", v3(creation_date="soon", modification_date=-1),
          _read(Container.JSON, "creation_date", "modification_date")),
    _json("P06", "dates in quotes", v3(creation_date="12", modification_date=3.5),
          _read(Container.JSON, creation_date=12, modification_date=3)),
    _json("P06", "assets that are junk", v3(assets=["junk", 7, {}]), _read(Container.JSON, "assets", "assets")),
    _json("P07", "blank name", v2(name=""), _read(Container.JSON, "name", name="file")),
    _json("P07", "blank name, another inside", v2(name=" ", char_name="Luna"), IN_JSON),
    _json("P07", "no name", PRUNED, _read(Container.JSON, "name", name="file")),
    _json("P08", "V1", V1, IN_JSON),
    _json("P08", "V2", v2(), IN_JSON),
    _json("P08", "V3", v3(), IN_JSON),
    Nasty("P08", "BOM", lambda: codecs.BOM_UTF8 + as_json(V1), IN_JSON),
    Nasty("P08", "UTF-16", lambda: "\ufeff".encode("utf-16-le") + as_json(V1).decode().encode("utf-16-le"), IN_JSON),
    Nasty("P10", "Pygmalion JSON", lambda: as_json(PYGMALION), IN_JSON),
    Nasty("P10", "Oobabooga YAML", lambda: OOBABOOGA, IN_YAML),
    _json("P11", "book inside", v2(character_book=BOOK), _read(Container.JSON, character_book=BOOK)),
    _json("P11", "book outside", {**v2(), "character_book": BOOK}, _read(Container.JSON, character_book=BOOK)),
    _json("P11", "book outside, null inside", {**v2(character_book=None), "character_book": BOOK},
          _read(Container.JSON, character_book=BOOK)),
    _json("P11", "books in both", {**v2(character_book=BOOK), "character_book": {"entries": []}},
          _read(Container.JSON, character_book=BOOK)),
    _json("P11", "book one level too deep", v2(character_book={"character_book": BOOK}),
          _read(Container.JSON, "character_book", character_book=BOOK)),
    _json("P11", "book in its own wrapper", v3(character_book={"spec": "lorebook_v3", "data": BOOK}),
          _read(Container.JSON, "character_book", character_book=BOOK)),
    _json("P11", "book that is a list", v2(character_book=BOOK["entries"]),
          _read(Container.JSON, "character_book", character_book=BOOK)),
    _json("P11", "book that is a text", v2(character_book="none"), _read(Container.JSON, "character_book")),
    _json("P11", "odd entries are kept as they came", v2(character_book=ODD_BOOK),
          _read(Container.JSON, character_book=ODD_BOOK)),
    _json("P11", "entries without ids, at places that are none", v2(character_book=NO_IDS),
          _read(Container.JSON, character_book=NO_IDS)),
    _json("P11", "an id given twice", v3(character_book=TWICE), _read(Container.JSON, character_book=TWICE)),
    _json("P22", "version 3.1", {**v3(foo={"a": 1}), "spec_version": "3.1"},
          _read(Container.JSON, "spec_version", "foo", unknown={"foo": {"a": 1}})),
    _json("P22", "no list of group greetings", {"spec": "chara_card_v3", "data": V1}, IN_JSON),
    _json("P22", "a version that is a list", {**v3(), "spec_version": [3]}, IN_JSON),
    Nasty("X12", "a tag that runs code", lambda: b"name: !!python/object/apply:os.system [id]", Refused(words="tag")),
    Nasty("X12", "a pickle", lambda: pickle.dumps(V1), Refused(words="no kind of file")),
    Nasty("X12", "aliases", lambda: b"name: &a [x]\ndescription: [*a, *a]", Refused(words="alias")),
    Nasty("X12", "deep nesting", lambda: b'{"name":"a","description":' + b"[" * 9999 + b"]" * 9999 + b"}",
          Refused(words="nests deeper")),
    Nasty("X12", "over the limit of JSON", lambda: as_json({**V1, "scenario": "x" * 2**21}),
          Refused(words="more than")),
    Nasty("X12", "a lorebook alone", lambda: as_json({"spec": "lorebook_v3", "data": BOOK}),
          Refused(words="describes no persona")),
)  # fmt: skip

PREFIX = picture("JPEG")
TWO_CARDS = {"a.png": png(text("chara", B2)), "b.png": png(text("chara", OLD))}
TRICKY = b"PK\x07\x08 PK\x01\x02 PK\x05\x06 PK\x03\x04"

ARCHIVES = (
    Nasty("P12", "plain", charx, IN_CHARX),
    Nasty("P12", "behind a JPEG", lambda: PREFIX + charx(), IN_CHARX),
    Nasty("P12", "behind a PNG", lambda: PLAIN_PNG + charx(), IN_CHARX),
    Nasty("P12", "behind a program", lambda: b"MZ" + NOISE + charx(), IN_CHARX),
    Nasty("P12", "behind noise", lambda: b"\1\2\0" + NOISE + charx(), Refused(words="no kind of file")),
    Nasty("P12", "not packed", lambda: archive({"card.json": as_json(v3())}, method=zipfile.ZIP_STORED), IN_CHARX),
    Nasty("P12", "only a picture with a card", lambda: archive({"x/a.png": png(text("chara", B2))}),
          _read(Container.PNG, "x/a.png")),
    Nasty("P12", "two pictures with cards", lambda: archive(TWO_CARDS), Refused(words="several pictures")),
    Nasty("P12", "no card at all", lambda: archive({"a.png": PLAIN_PNG}), Refused(words="no card.json")),
    Nasty("P12", "empty", lambda: archive({}), Refused(words="no kind of file")),
    Nasty("P12", "cut off", lambda: charx()[:-40], Refused(words="damaged")),
    Nasty("P12", "a changed byte", lambda: archive({"card.json": as_json(v3())}, method=zipfile.ZIP_STORED)
          .replace(b"Patient", b"patient"), Refused(words="damaged")),
    Nasty("P12", "encrypted", lambda: encrypted(charx()), Refused(words="encrypted")),
    Nasty("P13", "a file that looks like structure", lambda: charx(**{"a.bin": TRICKY * 9}), IN_CHARX),
    Nasty("P15", "a way up", lambda: charx(**{"../../evil.py": b"x"}), _read(Container.CHARX, "../../evil.py")),
    Nasty("P15", "a way up for Windows", lambda: charx(**{"a\\..\\evil.dat": b"x"}),
          _read(Container.CHARX, "a\\..\\evil.dat")),
    Nasty("P15", "an absolute path", lambda: charx(**{"/etc/x": b"x"}), _read(Container.CHARX, "/etc/x")),
    Nasty("P15", "a drive", lambda: charx(**{"C:/x": b"x"}), _read(Container.CHARX, "C:/x")),
    Nasty("X09", "a link", lambda: archive({"card.json": as_json(v3()), "a": b"/etc/passwd"}, links=("a",)),
          _read(Container.CHARX, "a")),
    Nasty("X09", "a NUL in a name", lambda: charx(**{"a\0b.png": b"x"}), _read(Container.CHARX, "a\0b.png")),
    Nasty("X09", "a card that is a link", lambda: archive({"card.json": b"/etc/passwd"}, links=("card.json",)),
          Refused(words="no card.json")),
    Nasty("P26", "Card.json", lambda: archive({"Card.json": as_json(v3())}), _read(Container.CHARX, "Card.json")),
    Nasty("P26", "card.json in a folder", lambda: archive({"luna/card.json": as_json(v3())}),
          Refused(words="luna/card")),
    Nasty("P26", "a thousand files", lambda: charx(**{f"a/{n}": b"" for n in range(1_000)}),
          Refused(words="1,000 files")),
    Nasty("P26", "a thousand folders", lambda: charx(**{f"{n}/": b"" for n in range(1_000)}),
          Refused(words="1,000 files")),
    Nasty("P26", "larger than a file may be", lambda: charx() + bytes(MAX_FILE_BYTES), Refused(words="more than")),
    Nasty("P16", "a file that is a bomb", lambda: charx(**{"a.bin": bytes(2**24)}), Refused(words="far larger")),
    Nasty("P16", "a card that is a bomb", lambda: archive({"card.json": b" " * 2**24}), Refused(words="far larger")),
    Nasty("P16", "too much in all", lambda: charx(**{f"{n}.bin": NOISE + bytes(600_000) for n in range(80)}),
          Refused(words="unpacks to")),
    Nasty("P16", "packed in an unusual way",
          lambda: archive({"card.json": as_json(v3())}, method=zipfile.ZIP_LZMA), Refused(words="no card.json")),
)  # fmt: skip

BOMBS = (
    _png("P16", "1 GB of zTXt", chunk(b"zTXt", b"chara\0\0" + bomb()), outcome=Refused(words="unpacks to more")),
    _png("P16", "1 GB of iTXt", chunk(b"iTXt", b"ccv3\0\1\0\0\0" + bomb()), outcome=Refused(words="unpacks to more")),
    Nasty("P16", "50,000 × 50,000 pixels", lambda: png(text("chara", B2), first=header(50_000, 50_000)),
          Refused(words="pixels")),
    Nasty("P16", "no pixels", lambda: png(text("chara", B2), first=header(0, 5)), Refused(words="damaged")),
    Nasty("P16", "no header", lambda: png(text("chara", B2), first=b""), Refused(words="damaged")),
    Nasty("P16", "a million chunks", lambda: png(text("chara", B2), *[chunk(b"tEXt", b"")] * 1_000_000),
          Refused(words="pieces")),
    _png("P16", "a chunk that claims more than there is", b"\xff\xff\xff\xfftEXt", outcome=Refused(words="no card")),
)  # fmt: skip

J2 = as_json(v2())
LIST = b",".join(str(value).encode() for value in J2)

COMMENTS = (
    Nasty("P09", "WebP", lambda: picture("WEBP", J2), Reads(container=Container.WEBP)),
    Nasty("P09", "WebP behind ASCII", lambda: picture("WEBP", b"ASCII\0\0\0" + J2), Reads(container=Container.WEBP)),
    Nasty("P09", "WebP behind NUL", lambda: picture("WEBP", b"\0" + J2), Reads(container=Container.WEBP)),
    Nasty("P09", "WebP, bytes as numbers", lambda: picture("WEBP", LIST), Reads(container=Container.WEBP)),
    Nasty("P09", "JPEG behind ASCII", lambda: picture("JPEG", b"ASCII\0\0\0" + J2), Reads(container=Container.JPEG)),
    Nasty("P09", "JPEG in base64", lambda: picture("JPEG", B2), Reads(container=Container.JPEG)),
    Nasty("P09", "JPEG of a holiday", lambda: picture("JPEG", b"ASCII\0\0\0At the sea!"),
          Refused(words="carries no card")),
    Nasty("P09", "JPEG without a comment", lambda: picture("JPEG"), Refused(words="carries no card")),
    Nasty("P09", "WebP without a comment", lambda: picture("WEBP"), Refused(words="carries no card")),
    Nasty("P09", "WebP cut off", lambda: picture("WEBP", J2)[:30], Refused(words="damaged")),
    Nasty("P09", "JPEG cut off", lambda: picture("JPEG", J2)[:30], Refused(words="damaged")),
    Nasty("P09", "GIF", lambda: picture("GIF"), Refused(words="no kind of file")),
    Nasty("P09", "noise", lambda: b"\0" + NOISE, Refused(words="no kind of file")),
)  # fmt: skip

IN_CHUNK = as_base64(v3(assets=[asset("icon", "__asset:0")]))
ASSETS = (
    Nasty("P14", "embeded", lambda: charx(v3(assets=[asset("icon", "embeded://" + ICON)]), **{ICON: PLAIN_PNG}),
          IN_CHARX),
    Nasty("P14", "embedded", lambda: charx(v3(assets=[asset("icon", "embedded://" + ICON)]), **{ICON: PLAIN_PNG}),
          IN_CHARX),
    _png("P14", "ccdefault", text("ccv3", as_base64(v3(assets=[asset("icon", "ccdefault:")])))),
    Nasty("P14", "a missing file", lambda: charx(v3(assets=[asset("emotion", "embedded://a.png", "joy")])),
          _read(Container.CHARX, "assets", assets=(asset("emotion", "embeded://a.png", "joy"),))),
    Nasty("P14", "an address in the web", lambda: as_json(v3(assets=[asset("icon", "https://example.org/a.png")])),
          _read(Container.JSON, "assets", assets=(asset("icon", "https://example.org/a.png"),))),
    Nasty("P14", "an icon that is no picture",
          lambda: charx(v3(assets=[asset("icon", "embeded://a.png")]), **{"a.png": b"text"}),
          _read(Container.CHARX, "assets", assets=(asset("icon", "embeded://a.png"),))),
    _png("P14", "an icon in a chunk of its own",
         text("chara-ext-asset_:0", b64encode(PLAIN_PNG)), text("ccv3", IN_CHUNK)),
    _png("P14", "the same without the colon",
         text("chara-ext-asset_0", b64encode(PLAIN_PNG)), text("ccv3", IN_CHUNK)),
)  # fmt: skip

CORPUS = (*CHUNKS, *TEXTS, *ARCHIVES, *BOMBS, *COMMENTS, *ASSETS)

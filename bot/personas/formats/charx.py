"""CHARX: a ZIP archive with `card.json` and the card's files, perhaps behind a picture or a stub that unpacks itself.

Read by its central directory, so that nothing inside a file can be mistaken for structure (P13). Writes to no disk.
"""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from bot.personas.card import CardError, CardWarning
from bot.personas.formats import json, png
from bot.personas.formats.paths import is_safe_path
from bot.personas.formats.pictures import demand_a_bearable_picture
from bot.personas.formats.portrait import read_portrait
from bot.personas.formats.unpacked import Container, Unpacked
from bot.sentences import sentence

SIGNATURE = b"PK\x03\x04"
CARD_PATH = "card.json"

MAX_ENTRIES = 1_000
MAX_UNPACKED = 40 * 1024 * 1024
MAX_RATIO = 200
RATIO_COUNTS_FROM = json.MAX_BYTES
"""Ours to choose: pictures hardly shrink and text shrinks by ten, so only a bomb has such a ratio at such a size."""

_ENTRY_MARK = b"PK\x01\x02"
_END_MARK = b"PK\x05\x06"
_BEGINNINGS = (SIGNATURE, b"\xff\xd8\xff", png.SIGNATURE, b"MZ")
"""An archive, or what tools put before one: a JPEG, a PNG, a program that unpacks itself (P12)."""


def is_archive(data: bytes) -> bool:
    """Whether the bytes are a ZIP archive by itself or behind a known kind of prefix."""
    return data.startswith(_BEGINNINGS) and _END_MARK in data[-(2**16 + 64) :]


def read_charx(data: bytes) -> Unpacked:
    """Take an archive apart.

    Raises:
        CardError: it is damaged, encrypted, over a limit, or has no card.
    """
    if data.count(_ENTRY_MARK) > MAX_ENTRIES:  # before the directory is read, which costs memory for each entry
        raise _too_many()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _read(archive, _picture_before(data, archive))
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, struct.error) as error:
        raise CardError("card-archive-damaged", "card-export-again", problem=str(error)) from error


def _picture_before(data: bytes, archive: zipfile.ZipFile) -> bytes | None:
    """The picture that the archive hides behind, if it can be used."""
    before = data[: min((entry.header_offset for entry in archive.infolist()), default=0)]
    with suppress(CardError):
        demand_a_bearable_picture(before)
        return before
    return None


def _read(archive: zipfile.ZipFile, picture: bytes | None) -> Unpacked:
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    _demand_bearable(entries)
    warnings: list[CardWarning] = []
    files = {entry.filename: archive.read(entry) for entry in entries if _is_wanted(entry, warnings)}
    card_path = _card_path(files)
    if card_path is None:
        return _from_picture_inside(files, warnings)
    if card_path != CARD_PATH:
        warnings.append(CardWarning(field=card_path, message=sentence("card-path-other", path=CARD_PATH)))
    mapping = json.read_json(files.pop(card_path))
    return Unpacked(container=Container.CHARX, mapping=mapping, picture=picture, files=files, warnings=tuple(warnings))


def _demand_bearable(entries: Iterable[zipfile.ZipInfo]) -> None:
    entries = list(entries)
    if len(entries) > MAX_ENTRIES:
        raise _too_many()
    if any(entry.flag_bits & 0x1 for entry in entries):
        raise CardError("card-archive-encrypted", "card-archive-encrypted-remedy")
    total = sum(entry.file_size for entry in entries)
    if total > MAX_UNPACKED:
        raise CardError("card-archive-large", "card-fewer-files", total=total, most=MAX_UNPACKED)
    if any(_ratio(entry) > MAX_RATIO for entry in entries if entry.file_size > RATIO_COUNTS_FROM):
        raise CardError("card-archive-bomb", "card-export-again")


def _ratio(entry: zipfile.ZipInfo) -> float:
    return entry.file_size / max(1, entry.compress_size)


def _is_wanted(entry: zipfile.ZipInfo, warnings: list[CardWarning]) -> bool:
    """Whether an entry is a plain file with a safe path, packed in the usual way; others are told and left out."""
    name = entry.orig_filename
    if not is_safe_path(name):
        problem = sentence("card-path-unsafe")
    elif stat.S_ISLNK(entry.external_attr >> 16):
        problem = sentence("card-path-link")
    elif entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        problem = sentence("card-path-packed")
    else:
        return True
    warnings.append(CardWarning(field=name[:100], message=problem))
    return False


def _card_path(files: Iterable[str]) -> str | None:
    """Where the card is: in the root, in any case (P26).

    Raises:
        CardError: it is in a sub-folder, where it may be the card of somebody else.
    """
    if CARD_PATH in files:
        return CARD_PATH
    similar = sorted(path for path in files if path.rpartition("/")[2].casefold() == CARD_PATH)
    nested = [path for path in similar if "/" in path]
    if len(similar) > len(nested):
        return next(path for path in similar if path not in nested)
    if nested:
        raise CardError("card-archive-nested", "card-archive-nested-remedy", path=nested[0], file=CARD_PATH)
    return None


def _from_picture_inside(files: Mapping[str, bytes], warnings: list[CardWarning]) -> Unpacked:
    """The card of the only picture that has one, in an archive that somebody packed around it (P12)."""
    found = [path for path, data in files.items() if data.startswith(png.SIGNATURE) and png.has_card_chunk(data)]
    if len(found) != 1:
        problem = "card-archive-several" if found else "card-archive-empty"
        raise CardError(problem, "card-send-itself", file=CARD_PATH)
    warnings.append(CardWarning(field=found[0][:100], message=sentence("card-path-only")))
    portrait = read_portrait(files[found[0]])
    return replace(portrait, warnings=(*warnings, *portrait.warnings))


def _too_many() -> CardError:
    return CardError("card-archive-files", "card-fewer-files", most=MAX_ENTRIES)


def pack(files: Mapping[str, bytes]) -> bytes:
    """An archive of the files, only its text packed: pictures are. The same files give the same bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, data in files.items():
            method = zipfile.ZIP_DEFLATED if path == CARD_PATH else zipfile.ZIP_STORED
            archive.writestr(zipfile.ZipInfo(path), data, method)
    return packed.getvalue()

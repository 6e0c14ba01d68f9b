"""Pictures and recordings that their messages only name, and the words that take the place of such a name.

A message keeps its files behind its words, each in brackets; what another model told of one stands with it, so that
whatever reads the message reads that, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from sqlalchemy import delete, select, update

from bot.store.database import Tx
from bot.store.images import ImageRow
from bot.store.tables import images, messages

AS_SEEN = ", as another model sees it: “"
"""Between a picture's name and what is told of it."""

_NOTES = r"(?:, [^\]“:]*)?"  # such as: of the message replied to


def find_unseen(tx: Tx, message_ids: Sequence[int]) -> list[ImageRow]:
    """The pictures of some messages of which nothing is told yet, in order."""
    rows = _rows(tx, message_ids, "image/%")
    return [row for number, row in rows if _place(row, number, _text(tx, row.message_id)[1])]


def find_unheard(tx: Tx, message_ids: Sequence[int]) -> list[ImageRow]:
    """The recordings of some messages, in order; their names are the notes that stand in the messages."""
    return [row for _, row in _rows(tx, message_ids, "audio/%")]


def tell_picture(tx: Tx, picture: ImageRow, seen: str, count: Callable[[str], int]) -> None:
    """Keep what was told of a picture in one line; if it is still there: another one may have its id by now."""
    same = (images.c.id == picture.id, images.c.data == picture.data)
    owners = tx.execute(select(images.c.message_id).where(*same)).scalars().all()
    for number, row in _rows(tx, owners, "image/%"):
        said, files = _text(tx, row.message_id)
        if row.id == picture.id and (place := _place(row, number, files)):
            # The bracket ends behind what is told, so none of its own may come before.
            words, end = " ".join(seen.translate(_INERT).split()), place.end() - 1
            _rewrite(tx, row.message_id, f"{said}{files[:end]}{AS_SEEN}{words}”{files[end:]}", count)


def tell_recording(tx: Tx, recording: ImageRow, words: str, count: Callable[[str], int]) -> None:
    """Let what was said stand behind the note of a recording, which is needed no longer; if it is still there."""
    waiting = [(number, row) for number, row in _rows(tx, [recording.message_id], "audio/%") if row == recording]
    if not waiting:
        return  # deleted meanwhile, and perhaps its message, too
    tx.execute(delete(images).where(images.c.id == recording.id))
    said, files = _text(tx, recording.message_id)
    untold = [*re.finditer(rf"{re.escape(f'[{recording.name}]')}$", files, re.MULTILINE)]
    if words and (number := waiting[0][0]) < len(untold):
        end = untold[number].end()
        _rewrite(tx, recording.message_id, f"{said}{files[:end]} {words.translate(_INERT)}{files[end:]}", count)


def _rows(tx: Tx, message_ids: Sequence[int], kind: str) -> Iterator[tuple[int, ImageRow]]:
    """Each file of a kind, with how many of its name its message has before it."""
    wanted = (images.c.message_id.in_(message_ids), images.c.media_type.like(kind))
    before = Counter[tuple[int, str]]()
    for row in tx.execute(select(images).where(*wanted).order_by(images.c.id)).all():
        yield before[row.message_id, row.name], ImageRow(**row._mapping)
        before[row.message_id, row.name] += 1


def _place(row: ImageRow, number: int, files: str) -> re.Match[str] | None:
    """Where a message names a picture of which nothing is told: the n-th of that name."""
    pattern = rf"\[image {re.escape(row.name)}{_NOTES}(?P<told>{AS_SEEN}[^”]*”)?\]"
    found = [*re.finditer(pattern, files)]
    return found[number] if number < len(found) and not found[number]["told"] else None


def _text(tx: Tx, message_id: int) -> tuple[str, str]:
    """What a message says, and what it tells of files."""
    row = tx.execute(select(messages.c.text, messages.c.words).where(messages.c.id == message_id)).one()
    return row.text[: row.words], row.text[row.words :]


def _rewrite(tx: Tx, message_id: int, text: str, count: Callable[[str], int]) -> None:
    tx.execute(update(messages).where(messages.c.id == message_id).values(text=text, tokens=count(text)))


_INERT = str.maketrans({"[": "(", "]": ")", "“": "‘", "”": "’"})

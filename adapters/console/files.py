"""Files of ours, saved where the person at the terminal finds them, and theirs, named by a path. Knows no screen."""

from __future__ import annotations

import asyncio
import itertools
import os
from pathlib import Path, PurePath

from adapters.console.words import split_path
from bot.chat import SLASHES, Attachment, AttachmentKind, CommandMenu, OptionKind, OutFile, Word, cut_words
from bot.errors import UserError


def save_file(file: OutFile, folder: Path) -> Path:
    """Write a file under its name, with a number behind it where that is taken: nothing is ever overwritten. Nobody
    else on the machine can read it.

    Raises:
        OSError: it cannot be written there.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = PurePath(PurePath(file.name).name)  # whatever it says, it stays in the folder
    for number in itertools.count(1):
        path = folder / (f"{name.stem}-{number}{name.suffix}" if number > 1 else name)
        if not path.exists():
            with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
                out.write(file.content)
            return path
    raise AssertionError


def attached(line: str, menu: CommandMenu) -> tuple[str, tuple[Attachment, ...]]:
    """A line without the path of the file that its command takes, and the file, which says so when it is fetched if it
    is not there; another line as it is.
    """
    path, given = split_path(cut_words(line[1:]), menu) if line.startswith(SLASHES) else ((), ())
    spec = next((spec for spec in menu.specs if spec.path == path), None)
    if spec is not None and any(option.kind is OptionKind.FILE for option in spec.options):
        for word in given:
            file = os.path.expanduser(word.text)
            if os.path.isfile(file):  # unlike Path.is_file, takes any name
                return _without(line, word), (_offered(Path(file)),)
        if missing := next(filter(_is_path, given), None):
            return _without(line, missing), (_missing(missing.text),)
    return line, ()


def _is_path(word: Word) -> bool:
    """Whether somebody meant a file: nothing else that such commands take has a dot or a slash in it."""
    return not word.text.startswith("-") and bool({".", "/", os.sep} & set(word.text))


def _without(line: str, word: Word) -> str:
    return (line[: 1 + word.start] + line[1 + word.end :]).rstrip()


def _missing(name: str) -> Attachment:
    is_folder = os.path.isdir(os.path.expanduser(name))  # unlike Path.is_dir, takes any name

    async def fetch(_limit: int) -> bytes:
        if is_folder:
            raise UserError("file-is-folder", name=name)
        raise UserError("file-not-there", name=name, folder=str(Path.cwd()))

    return Attachment(kind=AttachmentKind.OTHER, name=PurePath(name).name, note="file", fetch=fetch)


def _offered(path: Path) -> Attachment:
    async def fetch(limit: int) -> bytes:
        try:
            data = await asyncio.to_thread(_read, path, limit + 1)
        except OSError:
            raise UserError("file-not-fetched") from None
        if len(data) > limit:
            raise UserError("file-too-large", limit=f"{limit >> 20} MB")
        return data

    return Attachment(kind=AttachmentKind.OTHER, name=path.name, note="file", fetch=fetch)


def _read(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        return file.read(most)

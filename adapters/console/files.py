"""Files of ours, saved where the person at the terminal finds them. Knows no message and no screen."""

from __future__ import annotations

import itertools
from pathlib import Path, PurePath

from bot.chat import OutFile


def save_file(file: OutFile, folder: Path) -> Path:
    """Write a file under its name, with a number behind it where that is taken: nothing is ever overwritten.

    Raises:
        OSError: it cannot be written there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = PurePath(PurePath(file.name).name)  # whatever it says, it stays in the folder
    for number in itertools.count(1):
        path = folder / (f"{name.stem}-{number}{name.suffix}" if number > 1 else name)
        if not path.exists():
            with path.open("xb") as out:
                out.write(file.content)
            return path
    raise AssertionError

"""Which command a typed line begins with. Knows no screen."""

from __future__ import annotations

from collections.abc import Sequence

from bot.chat import CommandMenu, Word


def split_path(words: Sequence[Word], menu: CommandMenu) -> tuple[tuple[str, ...], Sequence[Word]]:
    """The words that name a command or a group of them, and what is given to it."""
    path: tuple[str, ...] = ()
    for count, word in enumerate(words):
        named = menu.names.find_word(word.text, path, menu.specs)
        if named is None:
            return path, words[count:]
        path = (*path, named)
    return path, ()

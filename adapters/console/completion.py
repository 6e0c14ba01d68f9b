"""What the Tab key offers for a line that begins with a slash."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from bot.chat import Author, ChannelRef, CommandMenu, CommandSpec, OptionKind, OptionSpec, ValueQuery


class CommandCompleter(Completer):
    """Completes the words of a command, its flags and their values."""

    def __init__(self, menu: CommandMenu, channel: ChannelRef, author: Author) -> None:
        self._menu, self._channel, self._author = menu, channel, author

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Nothing: the prompt asks in the asynchronous way."""
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Offers for the word before the cursor."""
        line = document.text_before_cursor
        if not line.startswith("/"):
            return
        *before, typed = line[1:].split(" ")
        path, given = self._split_path([word for word in before if word])
        if not given:
            for offer in self._next_words(path, typed):
                yield offer
        spec = next((spec for spec in self._menu.specs if spec.path == path), None)
        option = _option_at(spec, given, typed) if spec else None
        if spec and option:
            for value in await self._values(spec, option, typed):
                yield Completion(_quoted(value, option), start_position=-len(typed))
        if spec and typed.startswith("-"):
            for flagged in spec.options:
                if flagged.flag and flagged.flag.startswith(typed) and flagged.flag not in given:
                    yield Completion(flagged.flag, start_position=-len(typed), display_meta=flagged.name)

    def _split_path(self, words: Sequence[str]) -> tuple[tuple[str, ...], Sequence[str]]:
        """The words that name a command or a group of them, and what is given to it."""
        length = 0
        while length < len(words) and any(_begins(spec, words[: length + 1]) for spec in self._menu.specs):
            length += 1
        return tuple(word.lower() for word in words[:length]), words[length:]

    def _next_words(self, path: tuple[str, ...], typed: str) -> Iterator[Completion]:
        depth = len(path)
        known = {spec.path[depth]: None for spec in self._menu.specs if len(spec.path) > depth and _begins(spec, path)}
        for word in known:
            if word.startswith(typed.lower()):
                about = self._menu.translate("-".join(("command", *path, word)), self._author.locale)
                yield Completion(word, start_position=-len(typed), display_meta=about)

    async def _values(self, spec: CommandSpec, option: OptionSpec, typed: str) -> Sequence[str]:
        if option.choices:
            return [choice for choice in option.choices if choice.startswith(typed)]
        if option.completes:
            return await self._menu.complete(
                ValueQuery(channel=self._channel, author=self._author, path=spec.path, option=option.name, typed=typed)
            )
        return ()


def _begins(spec: CommandSpec, words: Sequence[str]) -> bool:
    return spec.path[: len(words)] == tuple(word.lower() for word in words)


def _option_at(spec: CommandSpec, given: Sequence[str], typed: str) -> OptionSpec | None:
    """The option whose value comes next: that of the flag before it, or the first positional not given yet."""
    by_flag = {option.flag: option for option in spec.options if option.flag and option.kind is not OptionKind.SWITCH}
    if given and given[-1] in by_flag:
        return by_flag[given[-1]]
    if typed.startswith("-"):
        return None
    positionals = [option for option in spec.options if option.flag is None]
    taken = sum(not _is_flag(word) and before not in by_flag for before, word in zip(("", *given), given, strict=False))
    if positionals and positionals[-1].rest:
        taken = min(taken, len(positionals) - 1)
    return positionals[taken] if taken < len(positionals) else None


def _is_flag(word: str) -> bool:
    return word.startswith("-")


def _quoted(value: str, option: OptionSpec) -> str:
    return f'"{value}"' if " " in value and not option.rest else value

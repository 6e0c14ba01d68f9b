"""What the Tab key offers for a line that begins with a slash."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from adapters.console.words import split_path
from bot.chat import (
    SLASHES,
    Author,
    ChannelRef,
    CommandMenu,
    CommandNames,
    CommandSpec,
    OptionKind,
    OptionSpec,
    ValueQuery,
    Word,
    cut_words,
    words_after,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Standing:
    """What a line says so far, and the option whose value comes next, which began at `since` if it has begun."""

    given: Mapping[str, str]
    option: OptionSpec | None
    since: int | None = None


class CommandCompleter(Completer):
    """Completes the words of a command, its flags and their values, in English and in the language of the author."""

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
        if not line.startswith(SLASHES):
            return
        before, typed = _cut_last_word(line[1:])
        all_words = cut_words(before)
        path, words = split_path(all_words, self._menu)
        if not words:
            is_english = all(word.text.lower() == name for word, name in zip(all_words, path, strict=True))
            for offer in self._next_words(path, typed, english_first=is_english):
                yield offer
        spec = next((spec for spec in self._menu.specs if spec.path == path), None)
        if spec is None:
            return
        standing = _read(spec, words, self._menu.names)
        if typed.startswith("-"):
            for offer in self._flags(spec, standing, typed):
                yield offer
        elif standing.option:
            begun = typed if standing.since is None else before[standing.since :] + typed
            for value in await self._values(spec, standing.option, begun, standing.given):
                yield Completion(_quoted(value, standing.option), start_position=-len(begun))

    def _next_words(self, path: tuple[str, ...], typed: str, *, english_first: bool) -> Iterator[Completion]:
        locale = self._author.locale
        for word in words_after(path, self._menu.specs):
            longer = (*path, word)
            spellings = [*dict.fromkeys((word, self._menu.names.of_command(longer, locale)[0]))]
            spellings = spellings if english_first else spellings[::-1]
            offered = next((spelling for spelling in spellings if spelling.startswith(typed.lower())), None)
            if offered:
                about = self._menu.translate("-".join(("command", *longer)), locale)
                yield Completion(offered, -len(typed), display=" ".join(spellings), display_meta=about)

    def _flags(self, spec: CommandSpec, standing: _Standing, typed: str) -> Iterator[Completion]:
        """Flags that are not given yet, their long forms when two dashes are typed."""
        locale = self._author.locale
        for option in spec.typed:
            names = dict.fromkeys((option.name, *self._menu.names.of_option(option.name, locale)[:1]))
            flags = (
                *((option.flag,) if option.flag else ()),
                *(f"--{name}" for name in names if typed.startswith("--")),
            )
            offered = next((flag for flag in flags if flag.startswith(typed.lower())), None)
            if offered and option.name not in standing.given:
                about = self._menu.translate(option.description, locale)
                yield Completion(offered, start_position=-len(typed), display_meta=about)

    async def _values(
        self, spec: CommandSpec, option: OptionSpec, typed: str, given: Mapping[str, str]
    ) -> Sequence[str]:
        if option.choices:
            return [*self._choices(option, typed.lower())]
        if not option.completes:
            return ()
        query = ValueQuery(
            channel=self._channel,
            author=self._author,
            path=spec.path,
            option=option.name,
            typed=typed,
            given={name: value for name, value in given.items() if name != option.name},
        )
        return await self._menu.complete(query)

    def _choices(self, option: OptionSpec, typed: str) -> Iterator[str]:
        """Values of a closed set in the language of the author, or in English where that is being typed."""
        for choice in option.choices:
            spellings = (self._menu.names.of_choice(choice, self._author.locale)[0], choice)
            yield from [spelling for spelling in spellings if spelling.startswith(typed)][:1]


def _cut_last_word(line: str) -> tuple[str, str]:
    """What stands before the word at the cursor, and as much of that word as is typed."""
    start = max(line.rfind(space) for space in " \u3000") + 1
    return line[:start], line[start:]


def _read(spec: CommandSpec, words: Sequence[Word], names: CommandNames) -> _Standing:
    """The options that words give. A flag takes the word after it; an option for the rest takes all up to a flag, or up
    to what the command itself takes next.
    """
    given: dict[str, str] = {}
    positionals = [option for option in spec.typed if option.flag is None]
    taking: OptionSpec | None = None
    since: int | None = None
    for word in words:
        flagged = None if word.is_quoted else names.find_flag(word.text, spec.typed)
        if flagged:
            is_switch = flagged.kind is OptionKind.SWITCH
            given |= {flagged.name: "true"} if is_switch else {}
            taking, since = None if is_switch else flagged, None
            positionals = [option for option in positionals if option is not flagged]
            continue
        if taking and since is not None and names.begins(word.text, next(iter(positionals), None)):
            taking, since = None, None
        option = taking or (positionals.pop(0) if positionals else None)
        if option is None:
            continue
        given[option.name] = word.text if since is None else f"{given[option.name]} {word.text}"
        goes_on = option.rest and not word.is_quoted
        taking, since = (option, word.start if since is None else since) if goes_on else (None, None)
    return _Standing(given=given, option=taking or next(iter(positionals), None), since=since)


def _quoted(value: str, option: OptionSpec) -> str:
    return f'"{value}"' if " " in value and (option.flag or not option.rest) else value

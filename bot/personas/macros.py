"""Macros in card text, such as `{{user}}`: expanded in one pass, for text that an author wrote and never for a user's.

Knows no clock and no session; what a macro needs is handed in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from random import Random

# Braces may not nest, which keeps the search linear: every body ends at the next brace, whichever it is. So do line
# ends before {{trim}}: only their first one starts a search. Only a remark, as it goes whole, and what is chosen from
# may have macros in them, by one level; where such a one has no end, its search stops before the next one.
_MACRO = re.compile(
    r"(?:(?<!\n)\n*+)?(?P<trim>\{\{\s*+trim\s*+\}\})\n*|\{\{([^{}]*)\}\}|<(char|bot|user)>"
    r"|(?P<remark>\{\{\s*+(?://|comment\s*+:)(?:[^{}]|\{\{[^{}]*+\}\})*+\}\})"
    r"|\{\{(?P<choice>\s*+(?:random|pick)\s*+:(?:[^{}]|\{\{[^{}]*+\}\})*+)\}\}",
    re.IGNORECASE,
)
_COMMA = re.compile(r"\{\{[^{}]*+\}\}|(?<!\\)(,)")
_COLONS = re.compile(r"\{\{[^{}]*+\}\}|(::)")
"""What parts options, and macros in one, within which nothing does."""
_DIE = re.compile(r"d?([1-9][0-9]{0,8})", re.IGNORECASE)

MAX_INSERTED_CHARS = 200_000
"""How much the macros of one text may insert; those beyond stay as they are written. Ours to choose, so that a card
that names its description a thousand times fills no memory."""


class Where(StrEnum):
    """What an expanded text is for."""

    PREFIX = "prefix"
    """A prompt's beginning. It must be the same from turn to turn, so what passes is named and not told there."""
    TAIL = "tail"
    """What is written anew for each turn, or said and kept."""
    SHOWN = "shown"
    """What people read: as in the TAIL, and with what a card comments to them alone."""
    SCAN = "scan"
    """Looked through for the keys of a lorebook, and read by nobody."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """What passes: `now` in the time zone of the session, `idle` since the last message before this one."""

    now: datetime
    idle: timedelta | None = None
    last_message: str = ""


def _no_field(_name: str) -> str | None:
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class MacroValues:
    """What the macros of one text stand for."""

    char: str
    user: str
    original: str
    rng: Random
    where: Where
    moment: Moment | None
    field: Callable[[str], str | None]
    group: str
    chinese: bool
    text: str
    """All of what is expanded, by which a pick stays the same."""


Macro = Callable[[MacroValues, str], str | None]
"""`macro(values, argument)`: what stands in its place, or `None` to leave it in the text as it was written."""


def expand(
    text: str,
    *,
    char: str,
    user: str,
    original: str = "",
    rng: Random | None = None,
    where: Where = Where.TAIL,
    moment: Moment | None = None,
    field: Callable[[str], str | None] = _no_field,
    group: str = "",
    language: str = "en",
) -> str:
    """Expand the macros of `text`: their names in any case, unknown ones left alone, inserted values never read (P20).

    `char` is the persona's spoken name; `user` whom the text calls so, which in a group's PREFIX is no single person;
    `original` the text that a card's `system_prompt` or `post_history_instructions` replaces; `group` the names of
    all personas here; `field` tells the card's `description`, `personality`, `scenario`, `example_messages`, and the
    user's `persona` (who they say they are), each expanded by the caller. Without `moment` nothing tells the time.
    Without `rng`, and always in a PREFIX, the random macros depend on the text alone. `language` ("zh" or another) is
    that of dates.
    """
    values = MacroValues(
        char=char,
        user=user,
        original=original,
        rng=rng if rng and where is not Where.PREFIX else Random(text),  # noqa: S311 - no secret
        where=where,
        moment=moment,
        field=field,
        group=group or char,
        chinese=language.lower().startswith("zh"),
        text=text,
    )
    room = MAX_INSERTED_CHARS

    def replace(match: re.Match[str]) -> str:
        nonlocal room
        if match["choice"]:  # its macros are the author's words like all else: those of the chosen option are expanded
            return _MACRO.sub(replace, _expand_body(match["choice"], values) or "")
        result = _expand_one(match, values)
        if result is None or len(result) > room:
            return match[0]
        room -= len(result)
        return result

    return _MACRO.sub(replace, text)


def passing_macros(text: str) -> tuple[str, ...]:
    """The macros of a text that a PREFIX only names, in lower case, each once: a prompt can tell them in its tail.
    What a remark holds is none.
    """
    return tuple(dict.fromkeys(name for name in map(str.lower, _bodies(text)) if name in PASSING))


def _bodies(text: str) -> Iterator[str]:
    """What stands in the macros of a text, and in those that they choose from."""
    for found in _MACRO.finditer(text):
        yield (found[2] or "").strip()
        yield from _bodies(found["choice"] or "")


def name_of_passing(macro: str, *, language: str = "en") -> str:
    """What a PREFIX says in place of a macro for what passes."""
    return PASSING[macro][language.lower().startswith("zh")]


def _expand_one(match: re.Match[str], values: MacroValues) -> str | None:
    if match["trim"] or match["remark"]:
        return ""
    return _expand_body(match[2] or match[3] or "", values)


def _expand_body(body: str, values: MacroValues) -> str | None:
    name, argument = _split_body(body)
    macro = MACROS.get(name.lower())
    return macro(values, argument) if macro else None


def _split_body(body: str) -> tuple[str, str]:
    """Name and argument of `name`, `name:argument`, `name argument` or `//argument`."""
    body = body.strip()
    if body.startswith("//"):
        return "//", body[2:]
    name, *argument = re.split(r"[:\s]", body, maxsplit=1)
    return name, "".join(argument)


def _plain(value: Callable[[MacroValues], str | None]) -> Macro:
    """A macro without an argument: `{{user guide}}` is no macro."""
    return lambda values, argument: None if argument else value(values)


def _field(name: str) -> Macro:
    return _plain(lambda values: values.field(name))


def _passing(name: str, tell: Callable[[Moment, bool], str]) -> Macro:
    """A macro for what is another thing with every turn."""

    def macro(values: MacroValues, argument: str) -> str | None:
        if argument:
            return None
        if values.where is Where.PREFIX:
            return PASSING[name][values.chinese]
        return tell(values.moment, values.chinese) if values.moment else None

    return macro


def _options(argument: str) -> list[str]:
    """What may be chosen of `a,b` (a comma inside an option is written `\\,`) or of `:a::b`."""
    listed = argument.removeprefix(":")
    by_colons = _parted(listed, _COLONS)
    return by_colons if len(by_colons) > 1 else [option.replace(r"\,", ",") for option in _parted(listed, _COMMA)]


def _parted(text: str, mark: re.Pattern[str]) -> list[str]:
    cuts = [found.span() for found in mark.finditer(text) if found[1]]
    starts, ends = (0, *(end for _, end in cuts)), (*(start for start, _ in cuts), len(text))
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _random(values: MacroValues, argument: str) -> str | None:
    return values.rng.choice(_options(argument)).strip() if argument else None


def _pick(values: MacroValues, argument: str) -> str | None:
    """A choice that the same text always makes, whatever else is random."""
    rng = Random(f"{argument}\0{values.text}")  # noqa: S311 - no secret
    return rng.choice(_options(argument)).strip() if argument else None


def _roll(values: MacroValues, argument: str) -> str | None:
    """A number from one to the sides of a die, written `6` or `d6`."""
    die = _DIE.fullmatch(argument.strip())
    return str(values.rng.randint(1, int(die[1]))) if die else None


def _hidden_key(values: MacroValues, argument: str) -> str:
    """Words by which an entry of a lorebook brings others in, and that the model does not see."""
    return f"\n{argument.strip()}\n" if values.where is Where.SCAN else ""


def _date(moment: Moment, chinese: bool) -> str:
    now = moment.now
    return f"{now.year}年{now.month}月{now.day}日" if chinese else f"{now:%B} {now.day}, {now.year}"


def _weekday(moment: Moment, chinese: bool) -> str:
    return f"星期{'一二三四五六日'[moment.now.weekday()]}" if chinese else f"{moment.now:%A}"


def _idle(moment: Moment, chinese: bool) -> str:
    """The time without a message, in its largest unit."""
    seconds = max(0, int((moment.idle or timedelta()).total_seconds()))  # clocks of servers differ
    for size, unit, word in ((86_400, "day", "天"), (3_600, "hour", "小时"), (60, "minute", "分钟")):
        if number := seconds // size:
            return f"{number}{word}" if chinese else f"{number} {unit}{'s' if number > 1 else ''}"
    return "刚刚" if chinese else "a moment"


def _comment(values: MacroValues, argument: str) -> str:
    """A word to people that no prompt holds."""
    return argument.strip() if values.where is Where.SHOWN else ""


PASSING: Mapping[str, tuple[str, str]] = {
    # What a PREFIX says instead, in English and Chinese.
    "time": ("the current time", "当前时间"),
    "date": ("today's date", "今天的日期"),
    "weekday": ("the day of the week", "今天是星期几"),
    "isotime": ("the current time", "当前时间"),
    "isodate": ("today's date", "今天的日期"),
    "idle_duration": ("the time since the last message", "距上一条消息的时间"),
    "lastmessage": ("the last message", "上一条消息"),
}

MACROS: Mapping[str, Macro] = {
    "char": _plain(lambda values: values.char),
    "bot": _plain(lambda values: values.char),
    "user": _plain(lambda values: values.user),
    "group": _plain(lambda values: values.group),
    "original": _plain(lambda values: values.original),
    "description": _field("description"),
    "personality": _field("personality"),
    "scenario": _field("scenario"),
    "mesexamples": _field("example_messages"),
    "persona": _field("persona"),
    "random": _random,
    "pick": _pick,
    "roll": _roll,
    "reverse": lambda _, argument: argument[::-1],
    "time": _passing("time", lambda moment, _: f"{moment.now:%H:%M}"),
    "date": _passing("date", _date),
    "weekday": _passing("weekday", _weekday),
    "isotime": _passing("isotime", lambda moment, _: f"{moment.now:%H:%M}"),
    "isodate": _passing("isodate", lambda moment, _: f"{moment.now:%Y-%m-%d}"),
    "idle_duration": _passing("idle_duration", _idle),
    "lastmessage": _passing("lastmessage", lambda moment, _: moment.last_message),
    "newline": _plain(lambda _: "\n"),
    "noop": _plain(lambda _: ""),
    "hidden_key": _hidden_key,
    "comment": _comment,
    "//": lambda _, __: "",
}

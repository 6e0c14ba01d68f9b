"""The kinds of values that settings have, as an operator writes them. Knows no setting."""

from __future__ import annotations

import os.path
import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.config import JsonDict
from pydantic_settings import NoDecode

PLACE: JsonDict = {"per_place": True}
"""Marks a key that `/session set` may change for a session, a channel or a place."""


_COMMA = re.compile("[,，、]")
"""Between the entries of a list; the wide ones are what a Chinese keyboard types."""


def _split_list(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return [str(value)]  # one bare number is JSON, too
    if isinstance(value, list | tuple):
        return [str(item) if isinstance(item, int) else item for item in value]
    if not isinstance(value, str):
        return value
    bare = value.strip().removeprefix("[").removesuffix("]")
    return [name for item in _COMMA.split(bare) if (name := item.strip().strip("\"'"))]


def _known_zone(value: object) -> object:
    try:
        ZoneInfo(str(value))
    except (KeyError, ValueError, OSError) as error:
        raise ValueError("no time zone has that name; use one such as Europe/Berlin or Asia/Shanghai") from error
    return value


def _three_letters(code: str) -> str:
    if not re.fullmatch("[A-Za-z]{3}", code):
        raise ValueError("a currency has three letters (ISO 4217), such as USD or CNY")
    return code.upper()


def _bare_number(value: object) -> object:
    if isinstance(value, str) and value.strip().removeprefix("-").replace(".", "", 1).isdecimal():
        return float(value)
    return value


def _at_home(path: Path) -> Path:
    return Path(os.path.expanduser(path))  # unlike Path.expanduser, takes somebody without a home


NameList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split_list)]
"""Comma separated in the environment: `discord:123, telegram:456`; a JSON list means the same."""

TimeZone = Annotated[str, BeforeValidator(_known_zone)]

Currency = Annotated[str, AfterValidator(_three_letters)]
"""The code of a currency."""

MOST = 1_000_000_000
"""The largest count of anything, ours to choose: beyond every use, and neither a date nor a number of the database
overflows by it. As seconds it is 31 years.
"""

Seconds = Annotated[timedelta, BeforeValidator(_bare_number), Field(ge=timedelta(0), le=timedelta(days=10_000))]
"""A plain number counts seconds; ISO 8601 (`PT15M`) is read as well."""

LocalPath = Annotated[Path, AfterValidator(_at_home)]
"""A path as it is typed; `~` is the home of whoever runs the bot, which no shell has put in."""


class Group(BaseModel):
    """Settings of one noun, `NOUN__NAME` in the environment; a name that is none of them is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

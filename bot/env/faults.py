"""What validation found wrong with single values, in an operator's words; never the value, which may be secret."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from bot.env.names import known_names
from bot.settings import McpSettings, ModelSettings, ProviderSettings


def sentences(details: Sequence[ErrorDetails]) -> list[str]:
    """One sentence per setting; what each alternative of a setting has to say is told together."""
    said: dict[str, list[str]] = {}
    for detail in details:
        name = "__".join(part for part in map(str, detail["loc"]) if not _ALTERNATIVE.match(part)).upper()
        said.setdefault(name, []).append(_fault(name, detail))
    return [f"{name} {either(faults)}" for name, faults in said.items()]


_ALTERNATIVE = re.compile(r"(constrained-)?int$|literal\[")
"""How pydantic names the alternatives of a setting that takes a number or a word."""


def either(faults: Sequence[str]) -> str:
    """What all alternatives of a setting want, in one: "must be a whole number, or auto"."""
    first, *others = dict.fromkeys(faults)
    return ", or ".join((first, *(other.removeprefix("must be ") for other in others)))


def _fault(name: str, detail: ErrorDetails) -> str:
    if detail["type"] == "extra_forbidden":
        if name in OF_THE_PROCESS:
            return (
                "is no setting: libraries read it from the environment of the process, which .env does not reach; take "
                f"it out of there and export it before the start (export {name}=...; in compose.yaml: environment:)"
            )
        near = difflib.get_close_matches(name, [*known_names(), *_names_beside(detail["loc"])], n=1)
        return "is no setting; " + (f"did you mean {near[0]}?" if near else ".env.example lists them all")
    if detail["type"] in ("model_type", "dict_type"):
        return f"is a table: write it as JSON, or its parts as {name}__NAME=value"
    return in_words(detail)


OF_THE_PROCESS = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "LANG")
"""What people know from other programs, and what is read here as well, only not from .env."""


def in_words(detail: ErrorDetails) -> str:
    """What is wrong with a value, to stand after the setting's name."""
    kind, limits = detail["type"], detail.get("ctx", {})
    if wording := _WORDS.get(kind):
        return wording.format_map({name: _limit(limit) for name, limit in limits.items()})
    if kind == "value_error":
        return "is refused: " + detail["msg"].removeprefix("Value error, ")
    return detail["msg"].removeprefix("Input ")


def _limit(limit: object) -> str:
    text = str(limit)
    if text == "datetime.timedelta(0)":
        return "0 seconds"
    if days := _DAYS.fullmatch(text):
        return f"{days[1]} days"
    return f"{limit:g}" if isinstance(limit, float) else text.replace("'", "")


_DAYS = re.compile(r"datetime\.timedelta\(days=(\d+)\)")

_SECONDS = "must be a number of seconds, 0 or more, or a duration such as PT15M"

_WORDS: Mapping[str, str] = {
    "bool_parsing": "must be on or off",
    "bool_type": "must be on or off",
    "enum": "must be {expected}",
    "finite_number": "must be a finite number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be {ge} or more",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number of fewer digits",
    "int_type": "must be a whole number",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be {le} or less",
    "literal_error": "must be {expected}",
    "path_type": "must be a path, and has no parts",
    "string_too_long": "must have {max_length} characters or fewer",
    "string_type": "must be a text, and has no parts",
    "time_delta_parsing": _SECONDS,
    "time_delta_type": _SECONDS,
    "tuple_type": "must be a list: write its entries with commas between",
}
"""By pydantic's names of faults; the limits that it tells are put in."""


def _names_beside(loc: tuple[int | str, ...]) -> Iterator[str]:
    """What could have been meant inside a table with names of the operator's choice."""
    entries: dict[int | str, type[BaseModel]] = {
        "providers": ProviderSettings,
        "models": ModelSettings,
        "mcp": McpSettings,
    }
    if entry := entries.get(loc[0]):
        yield from ("__".join((*map(str, loc[:-1]), field)).upper() for field in entry.model_fields)

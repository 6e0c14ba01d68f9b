"""A persona card, in the words of Character Card V3 spelled out, and the forgiving reader of every older wording.

Knows no file, no folder and no prompt: `bot.personas.formats` makes the mapping that `read_card` takes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo

from bot.errors import FamiliarError

NEWEST_SPEC_VERSION = 3.0
"""Character Card V3; a higher number is read all the same, with a notice."""

MAX_WARNINGS = 50
"""Warnings kept for one card; ours to choose, so that a file of junk floods nobody."""

REPLACEMENT = "\ufffd"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_BIDI_CONTROL = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class CardError(FamiliarError):
    """A file is no card that could be used. Cards come from operators and from users, so either may hear this."""

    def __init__(self, problem: str, remedy: str) -> None:
        self.problem, self.remedy = problem, remedy
        super().__init__(f"{problem} {remedy}")


@dataclass(frozen=True, kw_only=True, slots=True)
class CardWarning:
    """Something in a card that was repaired, ignored or only kept; `field` is the card's own word for it."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def _warn(info: ValidationInfo, message: str) -> None:
    if isinstance(info.context, list) and len(info.context) < MAX_WARNINGS:
        info.context.append(CardWarning(field=str(info.field_name), message=message))


def _to_text(value: object, info: ValidationInfo) -> str:
    match value:
        case None:
            return ""
        case str():
            text = value
        case int() | float():
            text = str(value)
            _warn(info, f"is a number or a truth value, read as the text “{text}”; put it in quotes.")
        case [*lines] if all(isinstance(line, str) for line in lines):
            text = "\n".join(map(str, lines))
            _warn(info, "is a list, read as one text with a line for each entry.")
        case _:
            _warn(info, f"should be a text, not {type(value).__name__}; ignored.")
            return ""
    return _mended(text, info)


def _mended(text: str, info: ValidationInfo) -> str:
    """Without what databases and terminals choke on: NUL, lone surrogates, Windows line ends, outer white space."""
    text = _LONE_SURROGATE.sub(REPLACEMENT, text).replace("\0", "").replace("\r\n", "\n").strip()
    if REPLACEMENT in text:
        _warn(info, "has damaged characters (shown as \ufffd); save the file as UTF-8.")
    return text


def _to_line(value: object, info: ValidationInfo) -> str:
    """A text on one line that cannot turn round the text after it."""
    return " ".join(_BIDI_CONTROL.sub("", _to_text(value, info)).split())


def _to_texts(value: object, info: ValidationInfo) -> tuple[str, ...]:
    """A list of texts. A lone text is a list of one, never a list of its letters (P05)."""
    match value:
        case None:
            return ()
        case str():
            _warn(info, "should be a list; read as a list of one.")
            entries: list[object] = [value]
        case list() | tuple():
            entries = list(value)
        case _:
            _warn(info, f"should be a list, not {type(value).__name__}; ignored.")
            return ()
    return tuple(text for text in (_to_text(entry, info) for entry in entries) if text)


def _to_tags(value: object, info: ValidationInfo) -> tuple[str, ...]:
    return _to_texts(re.split("[,，]", value) if isinstance(value, str) else value, info)


def _to_mapping(value: object, info: ValidationInfo) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {str(key): entry for key, entry in value.items()}
    if value is not None:
        _warn(info, f"should be a mapping, not {type(value).__name__}; ignored.")
    return {}


Text = Annotated[str, BeforeValidator(_to_text)]
Line = Annotated[str, BeforeValidator(_to_line)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_to_texts)]
Tags = Annotated[tuple[str, ...], BeforeValidator(_to_tags)]
OpenMapping = Annotated[Mapping[str, Any], BeforeValidator(_to_mapping)]


class PersonaCard(BaseModel):
    """Who the bot is. What each field is for stands in the Character Card V3 specification under its short name.

    A card is text for a prompt and nothing else: no field of it grants rights, tools or a model (P24).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[Line, Field(min_length=1)]
    nickname: Line = ""
    description: Text = ""
    personality: Text = ""
    scenario: Text = ""
    first_message: Text = ""
    example_messages: Text = ""
    """Blocks that begin with `<START>`, each of `{{user}}:` and `{{char}}:` lines."""
    system_prompt: Text = ""
    """Opens the card. The operator's rules always follow the card, unless `{{original}}` gives them a place here."""
    post_history_instructions: Text = ""
    alternate_greetings: Texts = ()
    group_only_greetings: Texts = ()
    creator: Line = ""
    creator_notes: Text = ""
    """For people; like `creator` and `character_version` never part of a prompt."""
    character_version: Line = ""
    tags: Tags = ()
    extensions: OpenMapping = Field(default_factory=dict)
    unknown: OpenMapping = Field(default_factory=dict)
    """Fields of the file that nothing here reads, kept as they came so that an export does not lose them."""

    @property
    def spoken_name(self) -> str:
        """What the persona is called in a chat and by `{{char}}`."""
        return self.nickname or self.name


def read_card(data: Mapping[Any, Any], *, fallback_name: str = "") -> tuple[PersonaCard, tuple[CardWarning, ...]]:
    """Read a card in any wording: Character Card V1, V2, V3, our own, or the older Pygmalion and Oobabooga keys.

    What can be repaired is repaired and told as a warning. `fallback_name` (a file or folder name) serves a card whose
    own name is blank (P07).

    Raises:
        CardError: the mapping describes no persona, or there is no name for it.
    """
    warnings = list(_spec_warnings(data))
    fields, unknown = _by_field(_without_envelope(data))
    _demand_a_description(data, fields)
    if not _said(fields.get("name")) and fallback_name:
        fields["name"] = fallback_name
        warnings.append(CardWarning(field="name", message=f"is blank; called “{fallback_name}” instead."))
    unused = (key for key in unknown if key not in KEPT_SILENTLY)
    warnings += [_notice(key) for key in islice(unused, MAX_WARNINGS)]
    card = _validated({"name": "", **fields, "unknown": unknown}, warnings)
    return card, tuple(warnings)


def _spec_warnings(data: Mapping[Any, Any]) -> list[CardWarning]:
    try:
        version = float(data.get("spec_version", 0))
    except (TypeError, ValueError):
        return []  # Version 3 of the specification: an odd value is never a reason to refuse.
    if version <= NEWEST_SPEC_VERSION:
        return []
    message = f"{version:g} is newer than {NEWEST_SPEC_VERSION:g}; read as far as it is understood."
    return [CardWarning(field="spec_version", message=message)]


def _without_envelope(data: Mapping[Any, Any]) -> dict[str, object]:
    """One flat mapping. Where V2 and V3 files repeat fields outside of `data`, `data` wins."""
    inner = data.get("data")
    outside = {str(key): value for key, value in data.items() if key not in ("spec", "spec_version")}
    if not isinstance(inner, Mapping):
        return outside
    del outside["data"]
    return {**outside, **{str(key): value for key, value in inner.items()}}


def _by_field(flat: Mapping[str, object]) -> tuple[dict[str, object], dict[str, object]]:
    """Split into our fields, each from the first wording that says something, and the rest. A null is an absence."""
    fields: dict[str, object] = {}
    rest = {key: value for key, value in flat.items() if value is not None}
    for field in CARD_FIELDS:
        values = [rest.pop(word) for word in (field, *OTHER_WORDS.get(field, ())) if word in rest]
        if values:
            fields[field] = next(filter(_said, values), values[0])
    return fields, rest


def _said(value: object) -> bool:
    return bool(value.strip() if isinstance(value, str) else value)


def _demand_a_description(data: Mapping[Any, Any], fields: Mapping[str, object]) -> None:
    if str(data.get("spec", "")).startswith("chara_card") or any(_said(fields.get(field)) for field in DESCRIBING):
        return
    raise CardError(
        "Nothing in this file describes a persona.",
        f"A card needs a name and at least one of: {', '.join(DESCRIBING)}.",
    )


def _notice(key: str) -> CardWarning:
    nearest = difflib.get_close_matches(key[:100], CARD_FIELDS, n=1, cutoff=0.8)
    question = f" Did you mean “{nearest[0]}”?" if nearest else ""
    return CardWarning(field=key, message=f"is not used, only kept for export.{question}")


def _validated(fields: dict[str, object], warnings: list[CardWarning]) -> PersonaCard:
    try:
        return PersonaCard.model_validate(fields, context=warnings)
    except ValidationError as error:  # every field but the name can be repaired
        raise CardError("The card has no name.", "Add a line such as “name: Luna”.") from error


CARD_FIELDS = tuple(field for field in PersonaCard.model_fields if field != "unknown")

OTHER_WORDS: Mapping[str, tuple[str, ...]] = {
    # Ours on the left; Character Card short names first, then Pygmalion's and Oobabooga's (P10).
    "name": ("char_name",),
    "description": ("char_persona", "context"),
    "scenario": ("world_scenario",),
    "first_message": ("first_mes", "char_greeting", "greeting"),
    "example_messages": ("mes_example", "example_dialogue"),
    "creator_notes": ("creatorcomment",),
}

DESCRIBING = ("description", "personality", "scenario", "first_message", "system_prompt")

KEPT_SILENTLY = frozenset(
    {
        # Specified, and of no use to a prompt.
        *("assets", "creation_date", "creator_notes_multilingual", "modification_date", "source"),
        # Written by every common editor.
        *("avatar", "chat", "create_date", "fav", "metadata", "talkativeness"),
    }
)

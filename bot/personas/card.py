"""A persona card, in the words of Character Card V3 spelled out, and the forgiving reader of every older wording.

Knows no file, no folder and no prompt: `bot.personas.formats` makes the mapping that `read_card` takes.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bot.errors import FamiliarError
from bot.personas.fields import (
    MAX_WARNINGS,
    Book,
    CardWarning,
    Line,
    OpenMapping,
    OpenMappings,
    Seconds,
    Tags,
    Text,
    Texts,
    Translations,
    as_line,
    storable,
)
from bot.sentences import Sentence, sentence

__all__ = ["CARD_FIELDS", "MAX_WARNINGS", "CardError", "CardWarning", "DepthPrompt", "PersonaCard", "read_card"]

NEWEST_SPEC_VERSION = 3.0
"""Character Card V3; a higher number is read all the same, with a notice."""

DEFAULT_DEPTH = 4
DEFAULT_TALKATIVENESS = 0.5
"""Both SillyTavern's, where most cards are made."""

MAX_NUMBER = 10**6
"""No number of a card means more; also keeps out the infinities and what is no number."""


class CardError(FamiliarError):
    """A file is no card that could be used. Cards come from operators and from users, so either may hear this; problem
    and remedy are texts of the catalogue, and the facts fill both.
    """

    def __init__(self, problem: str, remedy: str, /, **facts: str | int | float | Sentence) -> None:
        self.problem, self.remedy = sentence(problem, **facts), sentence(remedy, **facts)
        super().__init__(problem, remedy)

    def __str__(self) -> str:
        return f"{self.problem} {self.remedy}"


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
    creator_notes_multilingual: Translations = Field(default_factory=dict)
    """`creator_notes` by language (ISO 639-1); those without a language count as English if it has none here."""
    source: Texts = ()
    """Where the card came from, by id or address; exports may only add to it."""
    creation_date: Seconds = 0
    modification_date: Seconds = 0
    character_book: Book = None
    """The card's lorebook as it came; `bot.personas.lorebook` reads it."""
    assets: OpenMappings = ()
    """What the card says about its pictures and other files. `ccdefault:` is the picture the card came with, and
    `embeded://` (the specification's spelling) a file that came along; no other address is ever fetched.
    """
    extensions: OpenMapping = Field(default_factory=dict)
    unknown: OpenMapping = Field(default_factory=dict)
    """Fields of the file that nothing here reads, kept as they came so that an export does not lose them."""

    @property
    def spoken_name(self) -> str:
        """What the persona is called in a chat and by `{{char}}`."""
        return self.nickname or self.name

    def notes_in(self, language: str) -> str:
        """The creator's notes in a language (ISO 639-1), else the ones without a language."""
        return self.creator_notes_multilingual.get(language, self.creator_notes)

    @property
    def depth_prompt(self) -> DepthPrompt | None:
        """The note that SillyTavern keeps under `extensions.depth_prompt`; junk in it gives the defaults (P06)."""
        found = self.extensions.get("depth_prompt")
        text = found.get("prompt") if isinstance(found, Mapping) else None
        if not isinstance(found, Mapping) or not isinstance(text, str) or not text.strip():
            return None
        role = found.get("role")
        return DepthPrompt(
            text=text.strip(),
            depth=max(0, int(_number(found.get("depth"), DEFAULT_DEPTH))),
            role=role if role in ("user", "assistant") else "system",
        )

    @property
    def talkativeness(self) -> float:
        """How readily the persona speaks unasked among others, 0 to 1; junk counts as the default (P06)."""
        return min(1.0, max(0.0, _number(self.extensions.get("talkativeness"), DEFAULT_TALKATIVENESS)))


@dataclass(frozen=True, kw_only=True, slots=True)
class DepthPrompt:
    """A text that stands `depth` messages before the end of the history; 0 is after the newest."""

    text: str
    depth: int
    role: Literal["system", "user", "assistant"]


def _number(value: object, default: float) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) else default
    except (ValueError, OverflowError):
        return default
    return number if abs(number) < MAX_NUMBER else default


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
    if not _names(fields.get("name")) and fallback_name:
        fields["name"] = fallback_name
        warnings.append(CardWarning(field="name", message=sentence("card-name-blank", name=fallback_name)))
    unused = (key for key in unknown if key not in KEPT_SILENTLY)
    warnings += [_notice(key) for key in islice(unused, MAX_WARNINGS)]
    card = _validated({"name": "", **fields, "unknown": unknown}, warnings)
    return card, (*warnings, *_lacks(card))


def _spec_warnings(data: Mapping[Any, Any]) -> list[CardWarning]:
    try:
        version = float(data.get("spec_version", 0))
    except (TypeError, ValueError):
        return []  # Version 3 of the specification: an odd value is never a reason to refuse.
    if version <= NEWEST_SPEC_VERSION:
        return []
    newer = sentence("card-version-newer", version=f"{version:g}", newest=f"{NEWEST_SPEC_VERSION:g}")
    return [CardWarning(field="spec_version", message=newer)]


def _without_envelope(data: Mapping[Any, Any]) -> dict[str, object]:
    """One flat mapping. Where V2 and V3 files repeat fields outside of `data`, `data` wins."""
    inner = data.get("data")
    outside = {storable(str(key)): value for key, value in data.items() if key not in ("spec", "spec_version")}
    if not isinstance(inner, Mapping):
        return outside
    del outside["data"]
    return {**outside, **{storable(str(key)): value for key, value in inner.items() if value is not None}}


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


def _names(value: object) -> bool:
    return bool(as_line(value)) if isinstance(value, str) else _said(value)


def _demand_a_description(data: Mapping[Any, Any], fields: Mapping[str, object]) -> None:
    if str(data.get("spec", "")).startswith("chara_card") or any(_said(fields.get(field)) for field in DESCRIBING):
        return
    if isinstance(data.get("entries"), list | Mapping) or data.get("spec") == "lorebook_v3":
        raise CardError("card-is-book", "card-is-book-remedy")
    raise CardError("card-of-nobody", "card-of-nobody-remedy", fields=", ".join(DESCRIBING))


def _notice(key: str) -> CardWarning:
    nearest = difflib.get_close_matches(key[:100], CARD_FIELDS, n=1, cutoff=0.8)
    message = sentence("card-field-unused-near", near=nearest[0]) if nearest else sentence("card-field-unused")
    return CardWarning(field=key, message=message)


def _validated(fields: dict[str, object], warnings: list[CardWarning]) -> PersonaCard:
    try:
        return PersonaCard.model_validate(fields, context=warnings)
    except ValidationError as error:  # every field but the name can be repaired
        raise CardError("card-nameless", "card-nameless-remedy") from error


def _lacks(card: PersonaCard) -> Iterator[CardWarning]:
    """What a card was made to have around it in SillyTavern, and has not here."""
    for key in SCRIPTS:
        if card.extensions.get(key):
            yield CardWarning(field=key, message=sentence("card-scripts"))
    world = card.extensions.get("world")
    if isinstance(world, str) and card.character_book is None and (name := as_line(world)):
        yield CardWarning(field="world", message=sentence("card-book-elsewhere", name=name[:MAX_SHOWN]))


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

SCRIPTS = ("regex_scripts", "TavernHelper_scripts", "tavern_helper")
"""Extensions by which cards bring code along: kept for export, and never run."""
MAX_SHOWN = 100
"""Characters of a name in a warning."""

KEPT_SILENTLY = frozenset(
    {
        # Written by every common editor.
        *("avatar", "chat", "create_date", "fav", "metadata", "talkativeness"),
    }
)

"""What a place may change for itself, and how each such key is read. `bot.overrides` lays the changes over it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.fields import FieldInfo

from bot.settings.kinds import MOST, PLACE, NameList, TimeZone
from bot.settings.moderation import Moderation
from bot.settings.pruning import ContextPruning
from bot.settings.summary import Summary


class Activation(StrEnum):
    """When the bot speaks in a group besides being mentioned, replied to or named."""

    MENTION = "mention"
    ALWAYS = "always"
    KEYWORD = "keyword"
    RANDOM = "random"


class PlaceSettings(BaseModel):
    """The part of the settings that a place may change: values here are the defaults for everywhere."""

    model: str = Field("", description="provider/model; empty = the embedded model", json_schema_extra=PLACE)
    persona: str = Field("", description="card name; none = no persona, SYSTEM_PROMPT alone", json_schema_extra=PLACE)
    thinking: bool = Field(False, description="reasoning on or off", json_schema_extra=PLACE)
    fallbacks: NameList = Field(
        (), description="models that answer, in this order, while the server of MODEL does not", json_schema_extra=PLACE
    )
    system_prompt: str = Field("", description="rules placed after the card, or alone", json_schema_extra=PLACE)
    context_tokens: int = Field(
        16_000, ge=0, le=MOST, description="cap on the window; 0 = no cap", json_schema_extra=PLACE
    )
    max_output_tokens: int | None = Field(
        None, ge=16, le=MOST, description="reply reserve; empty = min(1024, window/8)", json_schema_extra=PLACE
    )
    history_limit: int = Field(
        0, ge=0, le=MOST, description="messages loaded; 0 = all after the watermark", json_schema_extra=PLACE
    )
    tool_groups: NameList = Field((), description="groups of tools that are on; * = all", json_schema_extra=PLACE)
    summary: Summary = Summary()
    context_pruning: ContextPruning = ContextPruning()
    moderation: Moderation = Moderation()
    cast: NameList = Field(
        (),
        description="cards that speak beside PERSONA, each with words that call it: mira, rex: dog hound",
        json_schema_extra=PLACE,
    )
    cast_cascade: int = Field(
        2,
        ge=0,
        le=10,
        description="how often personas answer one another before a human speaks",
        json_schema_extra=PLACE,
    )
    persona_switch: Literal["separate", "shared", "carry"] = Field(
        "separate",
        description="separate, shared = one conversation for all, carry = facts come along",
        json_schema_extra=PLACE,
    )
    activation: Activation = Field(Activation.MENTION, description="when it speaks in groups", json_schema_extra=PLACE)
    activation_keywords: NameList = Field((), description="for ACTIVATION=keyword", json_schema_extra=PLACE)
    activation_probability: float = Field(0.05, ge=0, le=1, description="for random", json_schema_extra=PLACE)
    burst_ms: int = Field(
        1500, ge=0, le=86_400_000, description="how long fragments may restart a turn", json_schema_extra=PLACE
    )
    timezone: TimeZone = Field("UTC", description="IANA name", json_schema_extra=PLACE)
    language: str = Field("auto", description="of system replies: auto, en, zh, ...", json_schema_extra=PLACE)
    spoken_answers: bool = Field(
        False, description="also speak answers, by VOICE__SPEECH_MODEL", json_schema_extra=PLACE
    )
    notices: bool = Field(True, description="compaction notices", json_schema_extra=PLACE)
    proactive: bool = Field(False, description="speak first about due follow-ups", json_schema_extra=PLACE)
    max_reply_messages: int = Field(
        5, ge=1, le=MOST, description="parts of one answer, rest as a file", json_schema_extra=PLACE
    )


class PlaceKey(BaseModel):
    """One key of `/session set`: its lower-case name, its path in `PlaceSettings`, how to read its value."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    name: str
    path: tuple[str, ...]
    field: FieldInfo

    def parse(self, text: object) -> Any:
        """The typed value of a text such as "on" or "0.7".

        Raises:
            pydantic.ValidationError: the text is no such value.
        """
        kind: Any = self.field.annotation
        for constraint in self.field.metadata:
            kind = Annotated[kind, constraint]
        adapter: TypeAdapter[Any] = TypeAdapter(kind)
        return adapter.validate_python(text)

    @property
    def choices(self) -> tuple[str, ...]:
        """The closed set of values, when there is one."""
        kind = self.field.annotation
        if kind is bool:
            return ("on", "off")
        if get_origin(kind) is Literal:
            return tuple(str(value) for value in get_args(kind))
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            return tuple(kind)
        return ()


@cache
def place_keys() -> Mapping[str, PlaceKey]:
    """Every per-place key by name: `model`, `summary__idle_seconds`, ..."""
    return {key.name: key for key in _walk_place_keys(PlaceSettings, ())}


def _walk_place_keys(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[PlaceKey]:
    for name, field in model.model_fields.items():
        here = (*path, name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _walk_place_keys(field.annotation, here)
        elif field.json_schema_extra == PLACE:
            yield PlaceKey(name="__".join(here), path=here, field=field)

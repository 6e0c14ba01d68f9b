"""Where settings come from: the environment and a `.env` file. Knows how to read them, not what they mean."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from pydantic import ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from bot.env.file import ENCODING
from bot.settings import Settings


class _AsMeant(EnvSettingsSource):
    """Blanks around a value mean nothing: a secret that a file was made of often ends in a line break. A table that is
    no JSON is passed on as it is, so that its fault is told by name and beside all others.
    """

    def _load_env_vars(self) -> Mapping[str, str | None]:
        bare = {name: value and value.strip() for name, value in super()._load_env_vars().items()}
        return {name: value for name, value in bare.items() if value or not self.env_ignore_empty}

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        try:
            return json.loads(value)
        except ValueError:
            return value


class _Environment(_AsMeant):
    pass


class _EnvFile(_AsMeant, DotEnvSettingsSource):
    pass


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """Settings as far as they can be read. `unsound` names, as `a__b`, what was refused and has its default instead."""

    settings: Settings
    unsound: frozenset[str] = frozenset()

    def is_sound(self, name: str) -> bool:
        """Whether nothing was refused of a setting: of what it stands in, of itself, or of its parts."""
        return not any(f"{name}__".startswith(f"{one}__") or one.startswith(f"{name}__") for one in self.unsound)


class Faulty(Exception):
    """Some values are refused; `reading` is what is left."""

    def __init__(self, details: Sequence[ErrorDetails], reading: Reading) -> None:
        self.details, self.reading = details, reading
        super().__init__()


class FromEnvironment(Settings, BaseSettings):
    """Settings that are read when made. Raises `Faulty`."""

    model_config = SettingsConfigDict(env_nested_delimiter="__", env_ignore_empty=True)

    @model_validator(mode="wrap")
    @classmethod
    def _tell_faults_beside_the_rest(cls, values: dict[str, Any], validate: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return validate(values)
        except ValidationError as error:
            details = _details(error)
            raise Faulty(details, _read_rest(values, details, validate)) from None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        assert isinstance(dotenv_settings, DotEnvSettingsSource)
        return (
            init_settings,
            _Environment(settings_cls),
            _EnvFile(settings_cls, env_file=dotenv_settings.env_file, env_file_encoding=ENCODING),
        )


S = TypeVar("S", bound=Settings)


def _read_rest(
    values: Mapping[str, Any], details: Sequence[ErrorDetails], validate: Callable[[Mapping[str, Any]], S]
) -> Reading:
    """Leave out what is refused, and what is refused then because it needed that."""
    unsound = set[str]()
    while True:
        for detail in details:
            values = _without(values, detail["loc"])
            unsound.add("__".join(map(str, detail["loc"])))
        try:
            return Reading(settings=validate(values), unsound=frozenset(unsound))
        except ValidationError as error:
            details = _details(error)


def _without(values: Mapping[str, Any], place: Sequence[int | str]) -> dict[str, Any]:
    """The values without the one at a place; the table that it stands in stays."""
    head, rest = str(place[0]), place[1:]
    inner = values.get(head)
    if rest and isinstance(inner, Mapping) and rest[0] in inner:
        return {**values, head: _without(inner, rest)}
    return {name: value for name, value in values.items() if name != head}


def _details(error: ValidationError) -> Sequence[ErrorDetails]:
    return error.errors(include_url=False, include_input=False)

"""Where settings come from: the environment and a `.env` file. Knows how to read them, not what they mean."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Self

from pydantic import ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, DotEnvSettingsSource, EnvSettingsSource, PydanticBaseSettingsSource

from bot.env.file import ENCODING
from bot.settings import Settings


class _LeavesJsonToValidation:
    """A table that is no JSON is passed on as it is, so that its fault is told by name and beside all others."""

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        try:
            return json.loads(value)
        except ValueError:
            return value


class _Environment(_LeavesJsonToValidation, EnvSettingsSource):
    pass


class _EnvFile(_LeavesJsonToValidation, DotEnvSettingsSource):
    pass


class Faulty(Exception):
    """Some settings are unsound; `rest` has their defaults in their place."""

    def __init__(self, details: Sequence[ErrorDetails], unsound: set[str], rest: Settings) -> None:
        self.details, self.unsound, self.rest = details, unsound, rest
        super().__init__()


class FromEnvironment(Settings):
    """Settings that are read when made. Raises `Faulty`."""

    @model_validator(mode="wrap")
    @classmethod
    def _tell_faults_beside_the_rest(cls, values: dict[str, Any], validate: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return validate(values)
        except ValidationError as error:
            details = error.errors(include_url=False, include_context=False, include_input=False)
            unsound = {str(detail["loc"][0]) for detail in details} | (values.keys() - cls.model_fields)
            rest = {name: value for name, value in values.items() if name not in unsound}
            raise Faulty(details, unsound, validate(rest)) from None

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

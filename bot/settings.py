"""Every setting, typed, with its default and unit; read from the environment and `.env`, nested with `__`.

Knows nothing of who uses a setting. `bot.overrides` lays what was changed for a place over `PlaceSettings`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, TypeAdapter, model_validator
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

PLACE: JsonDict = {"per_place": True}
"""Marks a key that `/session set` may change for a session, a channel or a place."""

MIN_BUDGET_TOKENS = 1024
"""Below this much room for a prompt the start refuses the settings (SETTINGS.md, `RESERVE_RATIO`)."""


def _split_list(value: object) -> object:
    if not isinstance(value, str):
        return value
    bare = value.strip().removeprefix("[").removesuffix("]")
    return [name for item in bare.split(",") if (name := item.strip().strip("\"'"))]


def _known_zone(value: object) -> object:
    try:
        ZoneInfo(str(value))
    except (KeyError, ValueError, OSError) as error:
        raise ValueError("no time zone has that name; use one such as Europe/Berlin or Asia/Shanghai") from error
    return value


def _bare_number(value: object) -> object:
    return float(value) if isinstance(value, str) and value.strip().replace(".", "", 1).isdecimal() else value


NameList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split_list)]
"""Comma separated in the environment: `discord:123, telegram:456`; a JSON list means the same."""

TimeZone = Annotated[str, BeforeValidator(_known_zone)]

Seconds = Annotated[timedelta, BeforeValidator(_bare_number), Field(ge=timedelta(0))]
"""A plain number counts seconds; ISO 8601 (`PT15M`) is read as well."""


class Activation(StrEnum):
    """When the bot speaks in a group besides being mentioned, replied to or named."""

    MENTION = "mention"
    ALWAYS = "always"
    KEYWORD = "keyword"
    RANDOM = "random"


class _Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Trigger(_Group):
    """The soft limit: when a compaction is requested in the background."""

    type: Literal["auto", "token_ratio", "remaining_tokens", "tokens", "messages_to_refine", "off"] = Field(
        "auto", description="auto = derived from prices, at most 0.7", json_schema_extra=PLACE
    )
    value: float | None = Field(
        None, description="the limit of that type", ge=0, allow_inf_nan=False, json_schema_extra=PLACE
    )

    @model_validator(mode="after")
    def _value_fits_type(self) -> Trigger:
        if self.type in ("auto", "off"):
            return self
        if self.value is None:
            raise ValueError(f"type {self.type} needs SUMMARY__TRIGGER__VALUE")
        if self.type == "token_ratio" and self.value > 1:
            raise ValueError("a token_ratio lies between 0 and 1")
        if self.type != "token_ratio" and (self.value < 1 or self.value != int(self.value)):
            raise ValueError(f"type {self.type} needs a positive whole number")
        return self


class Summary(_Group):
    """When and how old messages move into memory."""

    trigger: Trigger = Trigger()
    hard_ratio: float = Field(0.9, gt=0, le=1, description="above this fill, compact first", json_schema_extra=PLACE)
    threshold: int = Field(0, ge=0, description="messages after the watermark; 0 = off", json_schema_extra=PLACE)
    keep_recent: int = Field(20, ge=1, description="messages kept verbatim", json_schema_extra=PLACE)
    keep_tokens: int = Field(2048, ge=0, description="tokens kept verbatim", json_schema_extra=PLACE)
    idle_seconds: int = Field(240, ge=0, description="since the last human message; 0 = off", json_schema_extra=PLACE)
    model_mode: Literal["global", "session", "custom"] = "global"
    model: str | None = Field(None, description="provider/model, for mode custom")
    parameters: dict[str, Any] = Field({}, description='JSON merged into the request, {"temperature":0.3}')
    max_tokens: int = Field(2000, ge=64, description="output limit of the summary call")
    token_ratio: float = Field(0.05, gt=0, le=1, description="size cap of memory, of the window")
    prompt: str | None = Field(None, description="instruction when there is no memory yet")
    update_prompt: str | None = Field(None, description="instruction when there is some")
    reuse_prefix: Literal["auto", "on", "off"] = "auto"


class SoftTrim(_Group):
    """Shortening of old tool results."""

    max_chars: int = Field(4000, ge=1)
    head_chars: int = Field(1500, ge=0)
    tail_chars: int = Field(1500, ge=0)


class HardClear(_Group):
    """Removal of old tool results."""

    enabled: bool = True
    placeholder: str = "[Old tool result content cleared]"


class ContextPruning(_Group):
    """Position-based trimming of old tool results."""

    enabled: bool = Field(False, json_schema_extra=PLACE)
    keep_last_assistants: int = Field(3, ge=0)
    soft_trim_ratio: float = Field(0.3, ge=0, le=1)
    hard_clear_ratio: float = Field(0.5, ge=0, le=1)
    min_prunable_tool_chars: int = Field(50_000, ge=0)
    soft_trim: SoftTrim = SoftTrim()
    hard_clear: HardClear = HardClear()


class PlaceSettings(BaseModel):
    """The part of the settings that a place may change: values here are the defaults for everywhere."""

    model: str = Field("", description="provider/model; empty = the embedded model", json_schema_extra=PLACE)
    persona: str = Field("", description="card name; none = no persona, SYSTEM_PROMPT alone", json_schema_extra=PLACE)
    thinking: bool = Field(False, description="reasoning on or off", json_schema_extra=PLACE)
    system_prompt: str = Field("", description="rules placed after the card, or alone", json_schema_extra=PLACE)
    context_tokens: int = Field(16_000, ge=0, description="cap on the window; 0 = no cap", json_schema_extra=PLACE)
    max_output_tokens: int | None = Field(
        None, ge=16, description="reply reserve; empty = min(1024, window/8)", json_schema_extra=PLACE
    )
    history_limit: int = Field(
        0, ge=0, description="messages loaded; 0 = all after the watermark", json_schema_extra=PLACE
    )
    tool_groups: NameList = Field((), description="no effect yet: tool groups; * = all", json_schema_extra=PLACE)
    summary: Summary = Summary()
    context_pruning: ContextPruning = ContextPruning()
    persona_switch: Literal["separate", "shared", "carry"] = Field(
        "separate", description="no effect yet, always separate", json_schema_extra=PLACE
    )
    activation: Activation = Field(Activation.MENTION, description="when it speaks in groups", json_schema_extra=PLACE)
    activation_keywords: NameList = Field((), description="for ACTIVATION=keyword", json_schema_extra=PLACE)
    activation_probability: float = Field(0.05, ge=0, le=1, description="for random", json_schema_extra=PLACE)
    burst_ms: int = Field(1500, ge=0, description="how long fragments may restart a turn", json_schema_extra=PLACE)
    timezone: TimeZone = Field("UTC", description="IANA name", json_schema_extra=PLACE)
    language: str = Field("auto", description="of system replies: auto, en, zh, ...", json_schema_extra=PLACE)
    notices: bool = Field(True, description="compaction notices", json_schema_extra=PLACE)
    proactive: bool = Field(False, description="speak first about due follow-ups", json_schema_extra=PLACE)
    max_reply_messages: int = Field(5, ge=1, description="parts of one answer, rest as a file", json_schema_extra=PLACE)


class DiscordSettings(_Group):
    """How to reach Discord; no token = the adapter is not started."""

    token: SecretStr | None = Field(None, description="bot token from the developer portal")
    api_base: str | None = Field(None, description="REST proxy instead of Discord's own")
    gateway_url: str | None = Field(None, description="gateway instead of Discord's own")


class WebhookSettings(_Group):
    """Telegram pushes updates here instead of being polled."""

    url: str | None = Field(None, description="public https address, path included")
    listen: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8080, ge=0, le=65535)
    path: str | None = Field(None, description="path we listen on, when a proxy strips a prefix")
    secret_token: SecretStr | None = Field(None, description="empty = made at each start")


class TelegramSettings(_Group):
    """How to reach Telegram; no token = the adapter is not started."""

    token: SecretStr | None = Field(None, description="bot token from BotFather")
    base_url: str | None = Field(None, description="self-hosted Bot API server, ends in /bot")
    base_file_url: str | None = Field(None, description="its file address, ends in /file/bot")
    webhook: WebhookSettings = WebhookSettings()


class ProviderSettings(_Group):
    """One OpenAI-compatible server, by a name of your choice."""

    api_key: SecretStr | None = None
    base_url: str | None = Field(None, description="empty = the well-known address of that name")
    context_window: int | None = Field(None, ge=1024, description="tokens, for all models of this server")
    max_output_tokens: int | None = Field(None, ge=16)
    vision: bool | None = Field(None, description="whether its models take images")
    tools: bool | None = Field(None, description="whether its models call tools")
    first_token_timeout: Seconds = Field(timedelta(seconds=120), description="seconds")
    total_timeout: Seconds = Field(timedelta(seconds=600), description="seconds")


class ModelSettings(_Group):
    """What the operator states about one model, over what is known of its family."""

    context_window: int | None = Field(None, ge=1024)
    max_output_tokens: int | None = Field(None, ge=16)
    vision: bool | None = None
    thinking: bool | None = None
    tools: bool | None = None


class AccessSettings(_Group):
    """Who may talk to the bot. Keys are `platform:id`; empty allow lists allow everybody; deny wins."""

    allow_users: NameList = ()
    deny_users: NameList = ()
    allow_roles: NameList = ()
    deny_roles: NameList = ()
    allow_channels: NameList = Field((), description="platform:channel id; threads follow their channel")
    deny_channels: NameList = ()
    allow_places: NameList = Field((), description="guilds and Telegram chats")
    deny_places: NameList = ()
    admins: NameList = Field((), description="users who may change everything everywhere")
    open_commands: bool = Field(False, description="everybody may change persona and model in groups")


class QuotaSettings(_Group):
    """How often one person may be answered."""

    messages_per_minute: Annotated[int, Field(ge=0)] | Literal["auto"] = Field(
        "auto", description="per person; 0 = no limit; auto = 20 unless the model runs on this machine"
    )


class BotsSettings(_Group):
    """How to treat other bots (D07)."""

    answer: bool = Field(False, description="answer other bots at all")
    max_turns: int = Field(3, ge=1, description="answers to bots in a row before a human speaks")


class Settings(PlaceSettings, BaseSettings):
    """The whole configuration. Made by `load_settings`, which reports all problems at once."""

    model_config = SettingsConfigDict(
        env_nested_delimiter="__", extra="forbid", frozen=True, env_ignore_empty=True, validate_default=True
    )

    discord: DiscordSettings = DiscordSettings()
    telegram: TelegramSettings = TelegramSettings()
    providers: dict[str, ProviderSettings] = Field({}, description="by name: PROVIDERS__OPENAI__API_KEY=...")
    models: dict[str, ModelSettings] = Field({}, description="JSON by model, over the catalogue")
    profiles: dict[str, dict[str, Any]] = Field(
        {}, description="per-place keys for a platform: PROFILES__DISCORD__PERSONA=..."
    )
    database_url: str = Field("", description="empty = SQLite file familiar.db in DATA_DIR")
    data_dir: Path = Path("data")
    log_format: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    debug_logging: bool = Field(False, description="token counts and decisions, without message text")
    reserve_ratio: float = Field(0.05, ge=0, lt=1, description="safety margin of the window")
    trim_threshold_ratio: float = Field(1.0, gt=0, le=1, description="part of the window that a prompt may fill")
    memory_token_budget: int = Field(4096, ge=0, description="no effect yet: injected volatile sections together")
    section_timeout_ms: int = Field(10_000, ge=0, description="one section's build; 0 = no limit")
    max_tool_steps: int = Field(30, ge=1, description="tool rounds per turn")
    tool_result_max_ratio: float = Field(0.15, gt=0, le=1, description="no effect yet: part of the window")
    answer_within: Seconds = Field(timedelta(minutes=15), description="seconds; older messages stay unanswered")
    on_adapter_failure: Literal["degrade", "exit"] = Field(
        "degrade", description="when one platform refuses us: go on with the others, or stop"
    )
    stop_grace: Seconds = Field(timedelta(seconds=7), description="seconds that running answers get at a stop")
    extensions: NameList = Field((), description="no effect yet: Python modules with TOOLS, SECTIONS, HOOKS, COMMANDS")
    overheard_chars: int = Field(
        2000, ge=100, description="characters kept of one message that was not addressed to the bot"
    )
    access: AccessSettings = AccessSettings()
    quota: QuotaSettings = QuotaSettings()
    bots: BotsSettings = BotsSettings()

    @property
    def sqlite_url(self) -> str:
        """The database address with its default filled in."""
        return self.database_url or f"sqlite:///{self.data_dir / 'familiar.db'}"


def output_reserve(window: int, configured: int | None) -> int:
    """Tokens kept free for the answer: `MAX_OUTPUT_TOKENS`, by default min(1024, window/8)."""
    return configured if configured is not None else min(1024, window // 8)


def prompt_budget(settings: Settings, window: int, reserve: int) -> int:
    """Tokens that a prompt may fill: window x TRIM_THRESHOLD_RATIO - reserve - max(512, window x RESERVE_RATIO)."""
    return int(window * settings.trim_threshold_ratio) - reserve - max(512, int(window * settings.reserve_ratio))


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

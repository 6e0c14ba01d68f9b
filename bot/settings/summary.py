"""When old messages move into memory, and how. Knows nothing of who moves them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from bot.settings.kinds import MOST, PLACE, Group


class Trigger(Group):
    """The soft limit: when a compaction is requested in the background."""

    type: Literal["auto", "token_ratio", "remaining_tokens", "tokens", "messages_to_refine", "off"] = Field(
        "auto", description="auto = derived from prices, at most 0.7", json_schema_extra=PLACE
    )
    value: float | None = Field(
        None,
        description="the limit of that type; by tokens, 1500 (5 % of a small window) beyond what is kept as well",
        ge=0,
        allow_inf_nan=False,
        json_schema_extra=PLACE,
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


class Summary(Group):
    """When and how old messages move into memory."""

    trigger: Trigger = Trigger()
    hard_ratio: float = Field(0.9, gt=0, le=1, description="above this fill, compact first", json_schema_extra=PLACE)
    threshold: int = Field(
        0, ge=0, le=MOST, description="messages after the watermark; 0 = off", json_schema_extra=PLACE
    )
    keep_recent: int = Field(20, ge=1, le=MOST, description="messages kept verbatim", json_schema_extra=PLACE)
    keep_tokens: int = Field(2048, ge=0, le=MOST, description="tokens kept verbatim", json_schema_extra=PLACE)
    idle_seconds: int = Field(
        240, ge=0, le=MOST, description="since the last human message; 0 = off", json_schema_extra=PLACE
    )
    model_mode: Literal["global", "session", "custom"] = "global"
    model: str | None = Field(None, description="provider/model, for mode custom")
    parameters: dict[str, Any] = Field({}, description='JSON merged into the request, {"temperature":0.3}')
    max_tokens: int = Field(2000, ge=64, description="output limit of the summary call")
    token_ratio: float = Field(0.05, gt=0, le=1, description="size cap of memory, of the window")
    prompt: str | None = Field(None, description="instruction when there is no memory yet")
    update_prompt: str | None = Field(None, description="instruction when there is some")
    reuse_prefix: Literal["auto", "on", "off"] = "auto"

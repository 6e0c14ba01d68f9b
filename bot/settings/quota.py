"""How much may be asked of models: how often, how many tokens, how much money; by person, by place, and in all."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bot.settings.kinds import Group, NameList


class Budget(Group):
    """What may be spent in a day and in a month; 0 = no limit."""

    tokens_per_day: int = Field(0, ge=0, description="read and written; days and months go by TIMEZONE")
    tokens_per_month: int = Field(0, ge=0)
    money_per_day: float = Field(0, ge=0, allow_inf_nan=False, description="in the currency of the prices")
    money_per_month: float = Field(0, ge=0, allow_inf_nan=False)


class QuotaSettings(Group):
    """The limits. What is beyond one costs no model call; whoever asks is told once."""

    messages_per_minute: Annotated[int, Field(ge=0)] | Literal["auto"] = Field(
        "auto", description="answers per person; 0 = no limit; auto = 20 unless all its models run on this machine"
    )
    place_messages_per_minute: int = Field(0, ge=0, description="answers in one place; 0 = no limit")
    total_messages_per_minute: int = Field(0, ge=0, description="answers everywhere; 0 = no limit")
    person: Budget = Budget()
    place: Budget = Budget()
    total: Budget = Budget()
    warn_at: float = Field(0.8, gt=0, le=1, description="part of a limit from which its users are told once; 1 = never")
    exempt_users: NameList = Field((), description="platform:id; for them the limits per person and place do not count")
    exempt_roles: NameList = Field((), description="discord:role id; likewise")

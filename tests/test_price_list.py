"""Where our tables of models are behind the public price list: what `make prices` tells."""

from __future__ import annotations

from datetime import date, time
from types import SimpleNamespace
from typing import Any

import pytest

from bench.price_list import Listed, behind, listed_models

GPT_4O = Listed(name="openai/gpt-4o", window=128_000, read=2.5, cached=1.25, written=10)


def prices(read: float, cached: float | None = None, written: float = 10) -> Any:
    return SimpleNamespace(input_mtok=read, cache_read_mtok=cached, output_mtok=written)


def listed(name: str, price: Any, *, vendor: str = "openai", deprecated: bool = False) -> Any:
    model = SimpleNamespace(id=name, context_window=8_192, prices=price, deprecated=deprecated)
    return SimpleNamespace(id=vendor, models=[model])


def when(**constraint: Any) -> Any:
    return SimpleNamespace(**constraint)


def test_tables_that_state_what_is_listed_are_not_behind() -> None:
    assert [*behind(GPT_4O)] == []


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"window": 100_000}, "window"),
        ({"cached": 2.0}, "cached part"),
        ({"read": 5.0, "cached": 2.5}, "input"),
        ({"written": 20.0}, "output"),
    ],
)
def test_what_promises_more_than_there_is_is_behind(changed: dict[str, Any], what: str) -> None:
    facts = {name: getattr(GPT_4O, name) for name in GPT_4O.__slots__}
    assert what in [one.what for one in behind(Listed(**{**facts, **changed}))]


@pytest.mark.parametrize(
    "changed", [{"window": 200_000}, {"cached": 0.1}, {"read": 1.0, "cached": 0.5}, {"window": None}]
)
def test_what_promises_less_is_not(changed: dict[str, Any]) -> None:
    facts = {name: getattr(GPT_4O, name) for name in GPT_4O.__slots__}
    assert [*behind(Listed(**{**facts, **changed}))] == []


def test_of_prices_that_change_those_of_today_count_at_their_dearest_hour() -> None:
    changing = [
        SimpleNamespace(constraint=None, prices=prices(9)),
        SimpleNamespace(constraint=when(start_date=date(2020, 1, 1)), prices=prices(2, cached=1)),
        SimpleNamespace(constraint=when(start_date=date(9999, 1, 1)), prices=prices(50)),
        SimpleNamespace(constraint=when(start_time=time(1), end_time=time(4)), prices=prices(4, cached=2)),
    ]
    (model,) = listed_models([listed("some-model", changing)])
    assert (model.read, model.cached, model.written) == (4, 2, 10)


def test_prices_in_tiers_are_those_of_a_short_prompt() -> None:
    (model,) = listed_models([listed("some-model", prices(SimpleNamespace(base=3, tiers=[])))])  # type: ignore[arg-type]
    assert (model.name, model.read, model.cached) == ("openai/some-model", 3, None)


@pytest.mark.parametrize(
    "provider",
    [
        listed("gpt-4o", prices(1), vendor="reseller"),
        listed("gpt-4o-realtime", prices(1)),
        listed("gpt-4", prices(1), deprecated=True),
        listed("text-embedding-3", prices(1, written=0)),
    ],
)
def test_only_models_that_people_talk_to_at_their_own_vendors_count(provider: Any) -> None:
    assert [*listed_models([provider])] == []

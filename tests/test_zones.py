"""Time zones as people name them."""

from __future__ import annotations

import pytest

from bot.commands.zones import IN_CHINESE, find_zone, zones


@pytest.mark.parametrize(
    ("city", "zone"),
    [("上海", "Asia/Shanghai"), (" 北京 ", "Asia/Shanghai"), ("台北", "Asia/Taipei"), ("香港", "Asia/Hong_Kong")],
)
def test_chinese_names_of_cities_are_known(city: str, zone: str) -> None:
    assert find_zone(city) == zone


def test_every_city_that_has_a_chinese_name_has_a_zone() -> None:
    assert {*IN_CHINESE.values()} <= {*zones()}

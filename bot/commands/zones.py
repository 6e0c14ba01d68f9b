"""Time zones as people name them."""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones

from bot.errors import UserError
from bot.spelling import near_names

_CITIES = {
    "Asia/Shanghai": "上海 北京 天津 重庆 重慶 广州 廣州 深圳 杭州 南京 成都 武汉 武漢 西安 中国 中國",
    "Asia/Hong_Kong": "香港",
    "Asia/Macau": "澳门 澳門",
    "Asia/Taipei": "台北 臺北 高雄 台湾 臺灣",
    "Asia/Singapore": "新加坡",
    "Asia/Kuala_Lumpur": "吉隆坡",
    "Asia/Urumqi": "乌鲁木齐 烏魯木齊",
    "Asia/Tokyo": "东京 東京",
    "Asia/Seoul": "首尔 首爾",
    "Asia/Bangkok": "曼谷",
    "Australia/Sydney": "悉尼 雪梨",
    "Australia/Melbourne": "墨尔本 墨爾本",
    "Pacific/Auckland": "奥克兰 奧克蘭",
    "Europe/London": "伦敦 倫敦",
    "Europe/Paris": "巴黎",
    "Europe/Berlin": "柏林",
    "America/New_York": "纽约 紐約",
    "America/Toronto": "多伦多 多倫多",
    "America/Vancouver": "温哥华 溫哥華",
    "America/Los_Angeles": "洛杉矶 洛杉磯 旧金山 舊金山",
}
IN_CHINESE = {city: zone for zone, cities in _CITIES.items() for city in cities.split()}
"""Zones by cities, and a few countries, in both ways of writing Chinese; ours to choose: a list of all of them is
some megabytes large.
"""


def find_zone(typed: str) -> str:
    """The IANA name that is meant, in any case and with spaces for underscores; a city alone will do where there is one
    of that name.

    Raises:
        UserError: there is none, or more than one (S15).
    """
    wanted = "_".join(typed.split()).casefold()
    if wanted in IN_CHINESE:
        return IN_CHINESE[wanted]
    found = next((zone for zone in zones() if wanted == zone.casefold()), None)
    cities = [zone for zone in zones() if zone.casefold().endswith(f"/{wanted}")]
    if found is None and len(cities) == 1:
        return cities[0]
    if found is None:
        near = near_names(typed, zones())
        raise UserError("session-value-zone", value=typed, near=", ".join(near) or "Europe/Berlin, Asia/Shanghai")
    return found


@cache
def zones() -> tuple[str, ...]:
    """Every time zone; looking through the files takes up to 20 ms, and they stay the same as long as we run."""
    return tuple(sorted(available_timezones()))

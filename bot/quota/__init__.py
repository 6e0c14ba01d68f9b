"""How much may be asked of models: answers a minute, tokens and money a day and a month; of whom, and what is left.

Three scopes share the rules: a person, a place, everything. Knows no platform and no model. Limits by day
and month have a module of their own, `bot.quota.purse`, which is imported where there are any.
"""

from bot.quota.limits import NANOS, Limit, Period, Whose, limits_of, told_amount, told_until
from bot.quota.queue import Queue
from bot.quota.quota import AUTO_PER_MINUTE, Quota
from bot.quota.rate import WINDOW_SECONDS, Admission, Rate
from bot.quota.ruling import OverBudget, Ruling

__all__ = [
    "AUTO_PER_MINUTE",
    "NANOS",
    "WINDOW_SECONDS",
    "Admission",
    "Limit",
    "OverBudget",
    "Period",
    "Queue",
    "Quota",
    "Rate",
    "Ruling",
    "Whose",
    "limits_of",
    "told_amount",
    "told_until",
]

"""Telegram by the Bot API. The library takes memory: only `bot.app` imports this, and only with a token."""

from __future__ import annotations

from bot.sparing import barred, put_off

SELDOM = (
    "httpx",  # its own way to the server, where ours is aiohttp; brings a command line with click and rich
    "telegram._business",
    "telegram._chatbackground",
    "telegram._chatboost",
    "telegram._chatfullinfo",
    "telegram._chatjoin",
    "telegram._checklists",
    "telegram._gifts",
    "telegram._games",
    "telegram._inline.chosen",
    "telegram._inline.input",
    "telegram._inline.inlinequery",
    "telegram._inline.prepared",
    "telegram._inputchecklist",
    "telegram._keyboardbuttonrequest",
    "telegram._managedbot",
    "telegram._menubutton",
    "telegram._messagereaction",
    "telegram._ownedgift",
    "telegram._paidmedia",
    "telegram._passport",
    "telegram._payment.precheck",
    "telegram._payment.ship",
    "telegram._payment.stars",
    "telegram._preparedkeyboard",
    "telegram._reaction",
    "telegram._sentguest",
    "telegram._shared",
    "telegram._storyarea",
    "telegram._uniquegift",
    "telegram._videochat",
    "telegram._webapp",
)
"""How the names of modules begin that a chat hardly ever needs: payments, gifts, inline queries and the like."""

with barred("cryptography"), put_off(*SELDOM):  # the first would read passports, which nobody shows us
    import telegram  # noqa: F401

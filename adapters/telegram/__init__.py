"""Telegram by the Bot API. The library takes memory: only `bot.app` imports this, and only with a token."""

from __future__ import annotations

from bot.sparing import barred, put_off

UNWANTED = ("click", "cryptography", "pygments", "rich")
"""What the library and its HTTP client load wherever it is installed: to read passports that nobody shows us, and for a
command line of their own.
"""

SELDOM = (
    "httpx",  # its own way to the server; ours is aiohttp
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

with barred(*UNWANTED), put_off(*SELDOM):
    import telegram  # noqa: F401

"""Telegram by the Bot API. Nothing is imported here: the library costs 10 MB, and only `bot.app` may want it."""

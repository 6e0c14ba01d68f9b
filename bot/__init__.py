"""Familiar's core: everything that is not one chat platform. `bot.app` puts it together."""

"""The terminal as a chat platform: one private chat with the person at the keyboard, or with a pipe."""

from adapters.console.adapter import ConsoleAdapter

__all__ = ["ConsoleAdapter"]

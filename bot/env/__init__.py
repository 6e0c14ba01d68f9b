"""Reads the settings from the environment and `.env`, tells every problem at once, and writes `.env.example`.

Knows the words of an operator; what the settings mean is in `bot.settings`.
"""

from bot.env.example import env_example
from bot.env.file import repeated_names
from bot.env.load import SettingsError, load_settings, secrets_of, without_effect
from bot.env.names import flatten, known_names, near_misses
from bot.env.problems import Check
from bot.env.sources import Reading

__all__ = [
    "Check",
    "Reading",
    "SettingsError",
    "env_example",
    "flatten",
    "known_names",
    "load_settings",
    "near_misses",
    "repeated_names",
    "secrets_of",
    "without_effect",
]

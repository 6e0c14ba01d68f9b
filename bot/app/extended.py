"""What is wrong with the extensions that the settings name, as far as it can be told before any of them runs."""

from __future__ import annotations

from collections.abc import Sequence

from bot.env import Reading, SettingsError


def extension_problems(reading: Reading) -> Sequence[str]:
    """One sentence for each fault; what only its `extend` can tell stops the start later."""
    if not reading.settings.extensions:
        return ()
    from bot.extensions import find_modules, literal_problems  # the whole bot is behind it

    try:
        return literal_problems(find_modules(reading.settings.extensions))
    except SettingsError as error:
        return error.problems

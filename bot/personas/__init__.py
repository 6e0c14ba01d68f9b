"""Who the bot can be: cards and their files, the library of them, and the macros in their text."""

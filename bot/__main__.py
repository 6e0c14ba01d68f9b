"""`python -m bot` is `familiar`."""

from bot.cli import main

main()

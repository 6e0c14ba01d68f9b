"""`python -m bot` is `familiar`."""

import sys


def main() -> None:
    """Run the command line; an interruption while its modules are still being read takes a second, too (S18)."""
    try:
        from bot.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()

"""`python -m bot` is `familiar`."""

import sys

try:
    from bot.cli import main

    main()
except KeyboardInterrupt:  # while the modules are still being read, which takes a second (S18)
    sys.exit(130)

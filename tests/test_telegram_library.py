"""What importing the Telegram adapter loads, and what it leaves for others to load."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import bot, adapters.telegram.adapter
print(*sorted({"telegram", "cryptography", "rich", "pygments"} & sys.modules.keys()))
import rich.text, pygments
"""


def test_the_adapter_neither_loads_what_it_has_no_use_for_nor_bars_others_from_it() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "telegram\n", "")

"""What importing the Telegram adapter loads, and what it leaves for others to load."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import adapters.telegram.adapter
assert "telegram" in sys.modules
assert "cryptography" not in sys.modules, "loaded"
try:
    import cryptography
except ImportError as error:
    assert "halted" not in str(error), "barred"
"""


def test_the_adapter_neither_loads_cryptography_nor_bars_others_from_it() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")

"""An ordinary user for tests of what may not be read or written, since root may do everything."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65_534


@contextmanager
def ordinary_user() -> Iterator[Path]:
    """Within the block this process has no special rights; yields a folder of its own that it can reach."""
    folder, is_root = Path(tempfile.mkdtemp()), os.geteuid() == 0
    if is_root:
        os.chown(folder, NOBODY, -1)
        os.seteuid(NOBODY)
    try:
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o700)
        shutil.rmtree(folder)

"""One process at a time serves a database; looking at it needs no lock."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.store.database import DatabaseUnusable
from bot.store.lock import AlreadyServed, held_alone, holder_of
from tests.unprivileged import ordinary_user

HOLD = """
import sys
from bot.store.lock import held_alone
with held_alone(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_second_process_is_refused_with_the_first_ones_number_until_that_has_ended(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new' / 'familiar.db'}"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", HOLD, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert holder_of(url) == other.pid
        with (
            pytest.raises(AlreadyServed, match=rf"process {other.pid}\. Stop that one first, .* DATA_DIR"),
            held_alone(url),
        ):
            pass
        other.kill()
    assert holder_of(url) is None
    with held_alone(url):
        assert holder_of(url) == os.getpid()
    assert not (tmp_path / "new" / "familiar.db").exists(), "the database itself is not touched"


def test_other_databases_and_those_in_memory_are_free(tmp_path: Path) -> None:
    with held_alone(f"sqlite:///{tmp_path / 'a.db'}"), held_alone(f"sqlite:///{tmp_path / 'b.db'}"):
        pass
    with held_alone("sqlite://"), held_alone("sqlite://"):
        assert holder_of("sqlite://") is None


def test_who_holds_a_database_that_is_not_there_is_nobody_and_leaves_nothing(tmp_path: Path) -> None:
    assert holder_of(f"sqlite:///{tmp_path / 'none' / 'familiar.db'}") is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_takes_no_file_is_told_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(DatabaseUnusable, match="DATA_DIR"),
        held_alone(f"sqlite:///{tmp_path / 'file' / 'familiar.db'}"),
    ):
        pass


def test_who_cannot_see_the_lock_is_told_of_nobody() -> None:
    with ordinary_user() as folder:
        url = f"sqlite:///{folder / 'familiar.db'}"
        with held_alone(url):
            assert holder_of(url) == os.getpid()
        (folder / "familiar.db.lock").chmod(0)
        assert holder_of(url) is None
        folder.chmod(0)
        assert holder_of(url) is None
        folder.chmod(0o700)

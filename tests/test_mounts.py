"""Where SQLite must not lie, by samples of the kernel's table of mounts, and whether a place can be written."""

from __future__ import annotations

import sqlite3
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from bot.chat import Severity
from bot.cli.storage import storage_findings
from bot.settings import Settings
from bot.store import schema, trial
from bot.store.database import DatabaseUnusable, write_once
from bot.store.mounts import SHARED, kind_in_table, shared_file_system
from tests.unprivileged import ordinary_user

LINUX = """\
/dev/sda1 / ext4 rw,relatime 0 0
proc /proc proc rw 0 0
nas:/export /srv nfs4 rw,vers=4.2 0 0
//nas/share /srv/smb\\040share cifs rw 0 0
/dev/sdb1 /srv/local ext4 rw 0 0
nas:/old /mnt nfs rw 0 0
/dev/sdc1 /mnt xfs rw 0 0
sshfs /home/me/far fuse.sshfs rw 0 0
nonsense
"""
DOCKER_DESKTOP = """\
overlay / overlay rw 0 0
/dev/vda1 /data ext4 rw 0 0
/run/host_mark/Users /app fakeowner rw 0 0
virtiofs0 /shared virtiofs rw 0 0
grpcfuse /older fuse.grpcfuse rw 0 0
"""
WSL = """\
/dev/sdc / ext4 rw 0 0
C:\\134 /mnt/c 9p rw,aname=drvfs;path=C:\\ 0 0
"""


@pytest.mark.parametrize(
    ("table", "path", "kind"),
    [
        (LINUX, "/var/lib/familiar", "ext4"),
        (LINUX, "/srv/familiar", "nfs4"),
        (LINUX, "/srvfamiliar", "ext4"),
        (LINUX, "/srv/smb share/data", "cifs"),
        (LINUX, "/srv/local/data", "ext4"),
        (LINUX, "/mnt/data", "xfs"),
        (LINUX, "/home/me/far", "fuse.sshfs"),
        (DOCKER_DESKTOP, "/data", "ext4"),
        (DOCKER_DESKTOP, "/app/data", "fakeowner"),
        (DOCKER_DESKTOP, "/shared/data", "virtiofs"),
        (DOCKER_DESKTOP, "/older", "fuse.grpcfuse"),
        (WSL, "/mnt/c/Users/me/data", "9p"),
        (WSL, "/home/me/data", "ext4"),
        ("", "/data", None),
    ],
)
def test_S03_the_kind_of_file_system_is_read_from_the_table_of_mounts(table: str, path: str, kind: str | None) -> None:
    assert kind_in_table(PurePosixPath(path), table) == kind


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "fuse.sshfs", "fakeowner"])
def test_S03_network_and_virtual_kinds_are_known(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kind in SHARED
    table = tmp_path / "mounts"
    table.write_text(f"root / ext4 rw 0 0\nfar {tmp_path} {kind} rw 0 0\n", encoding="utf-8")
    monkeypatch.setattr("bot.store.mounts.MOUNT_TABLE", table)
    assert shared_file_system(tmp_path / "data" / "familiar.db") == kind
    assert shared_file_system(tmp_path.parent) is None


def test_S03_where_there_is_no_table_nothing_is_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.store.mounts.MOUNT_TABLE", tmp_path / "none")
    assert shared_file_system(tmp_path) is None


def test_a_trial_leaves_nothing_and_changes_nothing(tmp_path: Path) -> None:
    assert trial.try_writing(f"sqlite:///{tmp_path / 'new' / 'deep' / 'familiar.db'}") == "wal"
    assert list(tmp_path.iterdir()) == []
    database = tmp_path / "familiar.db"
    schema.upgrade(f"sqlite:///{database}")
    before = database.read_bytes()
    assert trial.try_writing(f"sqlite:///{database}") == "wal"
    assert [path.name for path in tmp_path.iterdir()] == ["familiar.db"]
    assert database.read_bytes() == before
    assert trial.try_writing("sqlite://") == "memory"


def test_a_folder_that_cannot_be_written_is_told() -> None:
    with ordinary_user() as folder:
        for data in (folder, folder / "data"):
            folder.chmod(0o500)
            with pytest.raises(DatabaseUnusable, match=rf"the folder {data} cannot be written to: .*DATA_DIR"):
                trial.try_writing(f"sqlite:///{data / 'familiar.db'}")
        folder.chmod(0o700)


def test_a_database_file_that_cannot_be_written_is_told() -> None:
    with ordinary_user() as folder:
        database = folder / "familiar.db"
        sqlite3.connect(database).execute("CREATE TABLE t (x)").connection.close()
        database.chmod(0o400)
        url, told = f"sqlite:///{database}", r"familiar\.db cannot be written to: .*chmod u\+w"
        with pytest.raises(DatabaseUnusable, match=told):
            trial.try_writing(url)
        with pytest.raises(DatabaseUnusable, match=told):
            write_once(url, lambda tx: tx.exec_driver_sql("INSERT INTO t VALUES (1)"))


def test_a_damaged_database_is_told_to_be_that(tmp_path: Path) -> None:
    (tmp_path / "familiar.db").write_bytes(b"no database " * 1000)
    with pytest.raises(DatabaseUnusable, match=r"familiar\.db is damaged: .*Restore a backup"):
        trial.try_writing(f"sqlite:///{tmp_path / 'familiar.db'}")


def test_a_file_where_the_folder_should_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DatabaseUnusable, match="Not a directory"):
        trial.try_writing(f"sqlite:///{tmp_path / 'file' / 'familiar.db'}")


def test_S02_the_doctor_says_that_the_write_ahead_log_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class RefusesWal(sqlite3.Connection):
        def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
            return super().execute(sql.replace("journal_mode=WAL", "journal_mode=DELETE"), *args)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **given: connect(*args, factory=RefusesWal, **given))
    findings = [*storage_findings(Settings(data_dir=tmp_path))]
    (refused,) = [finding for finding in findings if "write-ahead log" in finding.message]
    assert refused.severity is Severity.WARNING
    assert "local disk" in refused.remedy


def test_S03_the_doctor_warns_of_a_shared_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "mounts"
    table.write_text(f"far {tmp_path} virtiofs rw 0 0\n", encoding="utf-8")
    monkeypatch.setattr("bot.store.mounts.MOUNT_TABLE", table)
    *_, told = storage_findings(Settings(data_dir=tmp_path / "data"))
    assert told.severity is Severity.WARNING
    assert "virtiofs" in told.message
    assert "named volume" in told.remedy


def test_the_doctor_tells_what_everybody_on_the_machine_can_read() -> None:
    with TemporaryDirectory(dir="/tmp") as folder:  # pytest's own lets nobody else in
        data = Path(folder) / "data"
        settings = Settings(data_dir=data)
        data.mkdir(mode=0o755)
        for name in ("familiar.db", "chat.log", "chat.history"):
            (data / name).touch(mode=0o644)
        (data / "chat.history").chmod(0o640)
        assert not any(finding.subject == "data" for finding in storage_findings(settings))
        Path(folder).chmod(0o755)
        (told,) = (finding for finding in storage_findings(settings) if finding.subject == "data")
        assert told.remedy == f"Run: chmod o= {data}/familiar.db {data}/chat.log"
        data.chmod(0o700)
        assert not any(finding.subject == "data" for finding in storage_findings(settings))

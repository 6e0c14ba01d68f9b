"""What the doctor says about the data folder: who serves it, whether it can be written, and what it lies on."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bot.chat import Finding, Severity
from bot.cli.chat import LOG_FILE
from bot.settings import Settings
from bot.store import schema
from bot.store.database import DatabaseUnusable
from bot.store.lock import holder_of
from bot.store.mounts import shared_below
from bot.store.schema import SchemaState
from bot.store.trial import demand_whole, free_bytes, stored_files, try_writing

LOCAL_DISK = (
    "Set DATA_DIR to a folder on a local disk; in a container use a named volume, as compose.yaml does, "
    "and no folder of another machine"
)


LEAST_FREE_BYTES = 100_000_000
"""Ours to choose: a busy group writes some MB a day, and cleaning the file up takes its size once more."""


def storage_findings(settings: Settings) -> Iterator[Finding]:
    """Findings about the database, the worst first; what is in it does not matter while it cannot be written."""
    url = settings.sqlite_url
    if process := holder_of(url):
        yield Finding(severity=Severity.OK, subject="process", message=f"Familiar runs on this data, as {process}")
    try:
        mode = try_writing(url)
        state = schema.check(url)
        demand_whole(url)
    except DatabaseUnusable as error:
        yield Finding(severity=Severity.FAULT, subject="database", message=str(error))
        return
    yield _schema_finding(state)
    if mode not in ("wal", "memory"):
        yield Finding(
            severity=Severity.WARNING,
            subject="database",
            message=f"its folder refuses the write-ahead log ({mode} is used), so that readers wait for writers",
            remedy=LOCAL_DISK,
        )
    if problem := shared_storage(settings):
        yield Finding(severity=Severity.WARNING, subject="database", message=problem, remedy=LOCAL_DISK)
    if exposed := [*_read_by_others(settings)]:
        names = " ".join(shlex.quote(str(path)) for path in exposed)
        yield Finding(
            severity=Severity.WARNING,
            subject="data",
            message=f"everybody on this machine can read what people said ({names})",
            remedy=f"Run: chmod o= {names}",
        )
    if (free := free_bytes(url)) is not None and free < LEAST_FREE_BYTES:
        yield Finding(
            severity=Severity.WARNING,
            subject="database",
            message=f"its disk is nearly full: {free / 1e6:.0f} MB are free, and once none are nothing is answered",
            remedy="Free some space there, or set DATA_DIR to a folder on a larger disk",
        )


def _read_by_others(settings: Settings) -> Iterator[Path]:
    """What was made before only its owner could read it, as far as the folders above let others come there."""
    for path in (
        *stored_files(settings.sqlite_url),
        settings.typed_lines,
        settings.data_dir / LOG_FILE,
        settings.exports,
    ):
        with suppress(OSError):
            is_open = os.name == "posix" and path.stat().st_mode & stat.S_IROTH
            if is_open and all(folder.stat().st_mode & stat.S_IXOTH for folder in path.absolute().parents):
                yield path


def shared_storage(settings: Settings) -> str | None:
    """What is wrong with the file system below the database, if it is one over a network or from a host (S03)."""
    kind = shared_below(settings.sqlite_url)
    return f"it lies on a shared file system ({kind}), where SQLite's locks fail and data is lost" if kind else None


def _schema_finding(state: SchemaState) -> Finding:
    severity, message, remedy = _SCHEMAS[state]
    return Finding(severity=severity, subject="database", message=message, remedy=remedy)


_SCHEMAS = {
    SchemaState.CURRENT: (Severity.OK, "up to date, and can be written", ""),
    SchemaState.EMPTY: (Severity.OK, "can be written; the first start makes its tables", ""),
    SchemaState.OLDER: (Severity.OK, "of an older version; the next start brings it up to date", ""),
    SchemaState.UNVERSIONED: (
        Severity.WARNING,
        "its tables have no version; a start takes them over only if they are exactly ours",
        "Run: familiar db upgrade, which tells whether they are",
    ),
    SchemaState.FOREIGN: (Severity.FAULT, "made by a newer version", "Update Familiar, or restore a backup"),
}

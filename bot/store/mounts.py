"""What kind of file system a path lies on: over networks and from virtual machines SQLite's locks do not hold (S03)."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path, PurePosixPath

from sqlalchemy.engine import make_url

from bot.store.database import database_file

MOUNT_TABLE = Path("/proc/mounts")

SHARED = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "glusterfs", "gfs2", "ocfs2", "davfs"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.ceph", "fuse.davfs2"),
        # From a virtual machine's host, as Docker Desktop and WSL mount folders:
        *("9p", "virtiofs", "drvfs", "vboxsf", "prl_fs", "vmhgfs", "fuse.vmhgfs-fuse", "fuse.grpcfuse", "fuse.osxfs"),
        *("grpcfuse", "osxfs", "fakeowner"),
    }
)
"""Types as the kernel names them."""


def shared_below(url: str) -> str | None:
    """The type of the shared file system that a database lies on, if it lies on one."""
    database = database_file(make_url(url))
    return shared_file_system(database) if database else None


def shared_file_system(path: Path) -> str | None:
    """The type of the file system below `path` if it is one that SQLite cannot rely on; `None` where nobody knows."""
    table = ""
    with suppress(OSError):  # only Linux has one
        table = MOUNT_TABLE.read_text(encoding="utf-8", errors="replace")
    kind = kind_in_table(PurePosixPath(path.resolve()), table)
    return kind if kind in SHARED else None


def kind_in_table(path: PurePosixPath, table: str) -> str | None:
    """The type of the mount that holds an absolute path: the longest mount point wins, then the latest."""
    best, kind = -1, None
    for line in table.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = PurePosixPath(_ESCAPED.sub(lambda found: chr(int(found[1], 8)), fields[1]))
        if path.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), fields[2]
    return kind


_ESCAPED = re.compile(r"\\([0-7]{3})")
"""How the table writes blanks and backslashes (proc_pid_mounts(5), getmntent(3))."""

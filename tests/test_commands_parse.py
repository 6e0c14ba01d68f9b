"""The text form of commands: which command a line names, and what its options are."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat import CommandNames, CommandSpec, OptionKind, OptionSpec, cut_words
from bot.chat.words import QUOTES
from bot.commands import COMMANDS
from bot.commands.parse import Parsed, check_options, find_spec, read_options
from bot.errors import UserError
from bot.locale import Catalogue

SPECS = [command.spec for command in COMMANDS]
CATALOGUE = Catalogue()
NAMES = CommandNames(translate=CATALOGUE.text, locales=CATALOGUE.locales)
SPEC_OF = {spec.name: spec for spec in SPECS}


@pytest.mark.parametrize(
    ("line", "name", "rest"),
    [
        ("persona use luna", "persona use", "luna"),
        ("persona.use luna", "persona use", "luna"),
        ("persona_use luna", "persona use", "luna"),
        ("PERSONA Use Luna", "persona use", "Luna"),
        ("persona\nuse\tluna", "persona use", "luna"),
        ("  persona   use   luna  moon ", "persona use", "luna  moon"),
        ("persona", "persona list", ""),
        ("persona luna", "persona list", "luna"),
        ("persona list luna", "persona list", "luna"),
        ("persona list use", "persona list", "use"),
        ('persona "use"', "persona list", '"use"'),
        ("persona -p 2", "persona list", "-p 2"),
        ("persona 苏东坡", "persona list", "苏东坡"),
        ("session", "session show", ""),
        ("session.set timezone UTC", "session set", "timezone UTC"),
        ("session_set -t on", "session set", "-t on"),
        ("session set timezone Asia/Shanghai", "session set", "timezone Asia/Shanghai"),
        ("reset", "reset", ""),
        ("help persona use", "help", "persona use"),
    ],
)
def test_a_line_names_a_command_in_every_spelling(line: str, name: str, rest: str) -> None:
    parsed = find_spec(line, SPECS, NAMES)
    assert parsed is not None
    assert (parsed.spec.name, parsed.rest) == (name, rest)


@pytest.mark.parametrize("line", ["", " ", "...", "nonsense", "personas", "persona_luna", "resets", '"reset"', "重来"])
def test_other_lines_name_no_command(line: str) -> None:
    assert find_spec(line, SPECS, NAMES) is None


SET = SPEC_OF["session set"]


@pytest.mark.parametrize(
    ("rest", "options"),
    [
        ("", {}),
        ("timezone Europe/Berlin", {"key": "timezone", "value": "Europe/Berlin"}),
        ("system_prompt Be  brief, please.", {"key": "system_prompt", "value": "Be  brief, please."}),
        ("system_prompt Be brief --for place", {"key": "system_prompt", "value": "Be brief", "for": "place"}),
        ("--for place system_prompt Be brief", {"key": "system_prompt", "value": "Be brief", "for": "place"}),
        ("system_prompt 说中文，-不要英文", {"key": "system_prompt", "value": "说中文，-不要英文"}),
        ('system_prompt "say -m and --for"', {"key": "system_prompt", "value": "say -m and --for"}),
        ("system_prompt “说 -m”", {"key": "system_prompt", "value": "说 -m"}),
        ("system_prompt use --help and -x", {"key": "system_prompt", "value": "use --help and -x"}),
        ("context_tokens -5", {"key": "context_tokens", "value": "-5"}),
        ("-5", {"key": "-5"}),
        (
            '-m openai/gpt-5 -p luna -t ON -n "late night"',
            {"model": "openai/gpt-5", "persona": "luna", "thinking": "on", "name": "late night"},
        ),
        ("-n late night -t off", {"name": "late night", "thinking": "off"}),
        ("-n 深夜 聊天", {"name": "深夜 聊天"}),
        ("--name late night", {"name": "late night"}),
        ("--model a/b --persona luna", {"model": "a/b", "persona": "luna"}),
        ("timezone UTC —for place", {"key": "timezone", "value": "UTC", "for": "place"}),
        ("–t on —p bryony", {"thinking": "on", "persona": "bryony"}),
        ("timezone UTC -f channel", {"key": "timezone", "value": "UTC", "for": "channel"}),
        ("--key timezone --value UTC", {"key": "timezone", "value": "UTC"}),
        ("--key timezone UTC", {"key": "timezone", "value": "UTC"}),
        ("--key=timezone --value=UTC --for=place", {"key": "timezone", "value": "UTC", "for": "place"}),
        ('-m=openai/gpt-5 --name="late night"', {"model": "openai/gpt-5", "name": "late night"}),
        ("-M a/b -T On", {"model": "a/b", "thinking": "on"}),
        ("--设置项 timezone --值 UTC --范围 place", {"key": "timezone", "value": "UTC", "for": "place"}),
        ("system_prompt Reply with --x=1 or a=b.", {"key": "system_prompt", "value": "Reply with --x=1 or a=b."}),
        ("-n 'late night' -t on", {"name": "late night", "thinking": "on"}),
        ("-n ‘late night’ -t on", {"name": "late night", "thinking": "on"}),
        ("-n „späte Nacht“ -t on", {"name": "späte Nacht", "thinking": "on"}),
        ("-n 「深夜 聊天」 -t on", {"name": "深夜 聊天", "thinking": "on"}),
        ("-n 'Ann's place' -t on", {"name": "Ann's place", "thinking": "on"}),
        ("-n Ann's place -t on", {"name": "Ann's place", "thinking": "on"}),
        ("-n 'tis late -t on", {"name": "'tis late", "thinking": "on"}),
        ("-n night timezone UTC", {"name": "night", "key": "timezone", "value": "UTC"}),
        ("-n late night summary.idle_seconds 9", {"name": "late night", "key": "summary.idle_seconds", "value": "9"}),
        ("-n language -t on", {"name": "language", "thinking": "on"}),
        ('system_prompt "Come in," she says.', {"key": "system_prompt", "value": '"Come in," she says.'}),
        ("-n ''", {}),
        ('-n ""', {}),
        ("-t on -t off", {"thinking": "off"}),
    ],
)
def test_options_are_read_from_a_line(rest: str, options: dict[str, str]) -> None:
    assert read_options(Parsed(spec=SET, rest=rest), NAMES) == options


@pytest.mark.parametrize(
    ("name", "rest", "problem"),
    [
        ("session set", "-x", "command-flag-unknown"),
        ("session set", "--nme late", "command-flag-meant"),
        ("session set", "--名 late", "command-flag-meant"),
        ("session set", "-m", "command-flag-needs-value"),
        ("session set", "-m -p luna", "command-flag-needs-value"),
        ("session set", "-t maybe", "command-option-choice"),
        ("session set", "timezone UTC --for everyone", "command-option-choice"),
        ("session set", '-n "late night -t on', "command-quote-open"),
        ("memory add", "fact He likes rum -w “Bob", "command-quote-open"),
        ("session reset", "timezone activation", "command-left-over"),
        ("reset", "now", "command-left-over"),
        ("persona list", "-p two", "command-option-number"),
        ("persona list", "-p -1", "command-option-number"),
        ("persona list", "-p", "command-flag-needs-value"),
        ("persona use", "", "command-option-missing"),
        ("persona use", '""', "command-option-missing"),
        ("reset", "-m", "command-flag-none"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_reason(name: str, rest: str, problem: str) -> None:
    with pytest.raises(UserError) as refusal:
        read_options(Parsed(spec=SPEC_OF[name], rest=rest), NAMES)
    assert refusal.value.message_id == problem


@pytest.mark.parametrize(
    ("name", "rest", "options"),
    [
        ("memory add", "fact --who Bob He likes rum", {"kind": "fact", "who": "Bob", "text": "He likes rum"}),
        ("memory add", "fact He likes rum --who Bob Ray", {"kind": "fact", "who": "Bob Ray", "text": "He likes rum"}),
        ("memory add", '-w "Bob Ray" fact He likes rum', {"kind": "fact", "who": "Bob Ray", "text": "He likes rum"}),
        ("memory add", "-w Bob Ray fact He likes rum", {"kind": "fact", "who": "Bob Ray", "text": "He likes rum"}),
        ("memory add", "-w Bob Ray 事实 He likes rum", {"kind": "fact", "who": "Bob Ray", "text": "He likes rum"}),
        ("persona edit", "-p Mira scenario A harbour", {"persona": "Mira", "field": "scenario", "value": "A harbour"}),
        ("persona edit", "scenario -p Mira A harbour", {"persona": "Mira", "field": "scenario", "value": "A harbour"}),
        ("persona edit", "-p Mira the Brave tags", {"persona": "Mira the Brave", "field": "tags"}),
        ("persona edit", "-p Mira the Brave", {"persona": "Mira the Brave"}),
        ("persona revert", "-p Mira the Brave 3", {"persona": "Mira the Brave", "version": "3"}),
    ],
)
def test_an_option_before_a_text_leaves_the_text_alone(name: str, rest: str, options: dict[str, str]) -> None:
    assert read_options(Parsed(spec=SPEC_OF[name], rest=rest), NAMES) == options


def test_switches_take_no_value() -> None:
    assert read_options(Parsed(spec=SPEC_OF["session reset"], rest="-m timezone -p"), NAMES) == {
        "model": "true",
        "persona": "true",
        "key": "timezone",
    }


@pytest.mark.parametrize(
    ("given", "checked"),
    [
        ({"model": "True", "persona": "false", "thinking": ""}, {"model": "true"}),
        ({"for": "PLACE", "left over from an older menu": "x"}, {"for": "place"}),
        ({"key": "  timezone  "}, {"key": "timezone"}),
    ],
)
def test_menus_and_lines_are_checked_alike(given: dict[str, str], checked: dict[str, str]) -> None:
    assert check_options(SPEC_OF["session reset"], given, NAMES) == checked


LINE = CommandSpec(
    path=("x",),
    options=(
        OptionSpec(name="a"),
        OptionSpec(name="b", rest=True),
        OptionSpec(name="s", kind=OptionKind.SWITCH, flag="-s"),
    ),
)


@given(st.text())
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    find_spec(text, SPECS, NAMES)
    with suppress(UserError):
        assert read_options(Parsed(spec=LINE, rest=text), NAMES).keys() <= {"a", "b", "s"}


UNQUOTED = r"[^\s\"'“‘„«「『\-–—]+"


@given(st.from_regex(f"{UNQUOTED}( {UNQUOTED})*", fullmatch=True))
def test_the_rest_of_a_line_is_kept_as_it_was_written(words: str) -> None:
    assert read_options(Parsed(spec=LINE, rest=f"first {words}"), NAMES) == {"a": "first", "b": words.strip()}


@given(st.text(st.sampled_from("ab \t\"'“”‘’„«»「」-–—=")))
def test_the_words_of_a_line_are_all_that_stands_in_it(line: str) -> None:
    words = cut_words(line)
    assert [word.start for word in words] == sorted({word.start for word in words})
    between = [line[one.end : other.start] for one, other in pairwise(words)]
    assert not "".join(between).strip()
    for word in words:
        whole = line[word.start : word.end]
        assert whole in (word.text, f"{word.text}=") or (word.is_quoted and whole[1:-1] == word.text)


@pytest.mark.parametrize("pair", QUOTES)
def test_what_stands_in_quotes_of_any_kind_is_one_word(pair: str) -> None:
    (word,) = cut_words(f"{pair[0]}late -t night{pair[1]}")
    assert (word.text, word.is_quoted) == ("late -t night", True)

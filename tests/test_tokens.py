"""Token counts: equal to tiktoken's, offline, on any text; the estimate without vocabulary; the factor per model."""

from __future__ import annotations

import gzip
import hashlib
import random
import shutil
import string
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import structlog
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tiktoken_ext import openai_public

from bot.llm.catalogue import ModelCatalogue, token_factor
from bot.prompt.o200k import FOLDER, RANKS_FILE, RANKS_SHA256, Vocabulary
from bot.prompt.tokens import BULK_CHARS, SMALLEST_LESSON, ModelTokens, TokenCounter, rough_count

TIKTOKEN_CACHE_NAME = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""Where tiktoken looks for o200k_base: the SHA-1 of the address it would download from."""

FAMILY = "👨‍👩‍👧‍👦"

WRITTEN = [
    "Good evening, keeper! Don't you think it's WAY too windy for a walk tonight? I'd rather stay in.",
    "The recipe says 250g flour, 3 eggs, 1/2 l milk;\nbake at 180°C for 35-40 min.\r\n\r\n  - rest it\n\tand serve",
    "今天又下雨了，还要加班到十点半。你那边怎么样？咖啡给你留着，路上小心！",
    "昨日は海まで歩きました。カモメがたくさんいて、写真を三十枚くらい撮ってしまった。",
    "어제는 바다까지 걸어갔어요. 갈매기가 정말 많았습니다.",
    "Вчера мы дошли до моря, и чаек там было больше, чем людей.",
    "مرحبا، كيف كان يومك؟ أتمنى أن يكون البحر هادئا.",
    "สวัสดีตอนเย็น วันนี้ลมแรงมาก",
    "Ça m'a coûté 12,50 € — naïve façade, Straße, Łódź, İstanbul, ǅungla",
    f"ok {FAMILY} 👍🏽 🇩🇪🇯🇵 ❤️‍🔥 ¯\\_(ツ)_/¯ (╯°□°)╯︵ ┻━┻",
    "  leading, trailing and \t mixed \u3000 spaces \n \n  \n",
    'def answer(x: int) -> str:\n    """Doc."""\n    return f"{x!r:>10}" if x >= 0x2A else None  # ok?\n\n\n',
    '{"id": 9007199254740993, "ok": true, "tags": ["a", "b"], "url": "https://example.org/a?b=c&d=%20e#f"}',
    "ＦＵＬＬ　ＷＩＤＴＨ １２３ ﬁ ½ Ⅷ ²",
]

ODD = [
    "z̷̢̛a̵͔̕l̶̰͝g̸̣̈o̴͕̎ and \u200bzero\u200dwidth\ufeff",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ............................ ============================",
    "'s 'S 'll'LL you're YOU'RE it'ſ",
]

SPECIAL = ["<|endoftext|>", "<|im_start|>system", "<|fim_prefix|>", "<|endofprompt|>", "a<|endoftext|>b\n<|im_end|>"]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tiktoken.Encoding]:
    """tiktoken's own encoding, made by its own loader from our file."""
    folder = tmp_path_factory.mktemp("tiktoken")
    (folder / TIKTOKEN_CACHE_NAME).write_bytes(gzip.decompress((FOLDER / RANKS_FILE).read_bytes()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        yield tiktoken.Encoding(**openai_public.o200k_base())


def real_count(reference: tiktoken.Encoding, text: str) -> int:
    return len(reference.encode_ordinary(text))


def test_the_vendored_ranks_are_the_published_file_and_so_is_the_pattern(reference: tiktoken.Encoding) -> None:
    assert hashlib.sha256(gzip.decompress((FOLDER / RANKS_FILE).read_bytes())).hexdigest() == RANKS_SHA256
    assert RANKS_SHA256 == "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
    vocabulary = Vocabulary()
    assert vocabulary.pattern == reference._pat_str
    assert vocabulary.ranks() == reference._mergeable_ranks


@pytest.mark.parametrize("text", WRITTEN + ODD)
def test_counts_equal_tiktoken(counter: TokenCounter, reference: tiktoken.Encoding, text: str) -> None:
    assert counter.count(text) == real_count(reference, text)


def test_counts_equal_tiktoken_for_every_character_there_is(
    counter: TokenCounter, reference: tiktoken.Encoding
) -> None:
    assigned = [*range(0xD800), *range(0xE000, 0x34000), *range(0xE0000, 0xE0200)]
    characters = [chr(code) for code in assigned]
    texts = ["1a ".join(characters[start : start + 512]) for start in range(0, len(characters), 512)]
    assert [counter.count(text) for text in texts] == [real_count(reference, text) for text in texts]


@given(text=st.text(max_size=60) | st.text(alphabet="aA'sS 1\n\t.é漢<|>", max_size=60))
def test_counts_equal_tiktoken_on_arbitrary_text(
    counter: TokenCounter, reference: tiktoken.Encoding, text: str
) -> None:
    assert counter.count(text) == real_count(reference, text)


@pytest.mark.parametrize("text", SPECIAL)
def test_M13_special_tokens_count_as_plain_text(counter: TokenCounter, reference: tiktoken.Encoding, text: str) -> None:
    assert counter.count(text) == real_count(reference, text) > 1


def test_M13_lone_surrogates_count_as_what_the_wire_would_carry(
    counter: TokenCounter, reference: tiktoken.Encoding
) -> None:
    assert counter.count("a\ud83d b") == real_count(reference, "a\ufffd b")


@pytest.mark.parametrize(
    ("model", "factor", "lines"),
    [
        ("lab/qwen2.5:1.5b", 1.1, 0),
        ("lab/alias-fast", 1.35, 1),
        ("azure/gpt4-128k", 1.35, 1),
        ("", 1.35, 1),
        ("openai/o1", 1.0, 0),
        ("lab/llama-3.1-8b", 1.35, 0),
    ],
)
def test_M14_a_model_with_an_unknown_name_is_counted_by_a_default_with_one_line_in_the_log(
    model: str, factor: float, lines: int
) -> None:
    catalogue = ModelCatalogue()
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            catalogue.limits(model)
            assert ModelTokens(token_factor).factor(model) == factor
    assert [(entry["event"], entry["model"]) for entry in logs] == [("model.unknown", model)] * lines


@pytest.mark.parametrize("damage", ["missing", "truncated", "other bytes", "other ranks"])
def test_M15_a_damaged_vocabulary_is_told_once_and_counting_goes_on(tmp_path: Path, damage: str) -> None:
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    ranks = tmp_path / RANKS_FILE
    match damage:
        case "missing":
            ranks.unlink()
        case "truncated":
            ranks.write_bytes(ranks.read_bytes()[:100_000])
        case "other bytes":
            ranks.write_bytes(b"<html>captive portal</html>")
        case "other ranks":
            ranks.write_bytes(gzip.compress(b"IQ== 0\nIg== 1\n"))
    counter = TokenCounter(tmp_path)
    with structlog.testing.capture_logs() as logs:
        assert [counter.count("今天下雨 <|endoftext|>") for _ in range(3)] == [
            rough_count("今天下雨 <|endoftext|>")
        ] * 3
    assert [entry["event"] for entry in logs] == ["tokens.estimated"]


@pytest.mark.parametrize(
    "text",
    ["漢" * 10_000, FAMILY * 2_000, *WRITTEN, *SPECIAL, "x", "漢", " ", "\n" * 100],
    ids=lambda text: f"{text[:8]!r} {len(text)}",
)
def test_M16_the_estimate_is_never_more_than_a_tenth_under_the_real_count(
    reference: tiktoken.Encoding, text: str
) -> None:
    assert real_count(reference, text) * 0.9 <= rough_count(text) <= len(text.encode())


@given(
    text=st.text(alphabet=string.printable, min_size=200, max_size=300)
    | st.text(alphabet=st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=200, max_size=300)
)
def test_M16_the_estimate_holds_for_random_ascii_and_random_chinese(reference: tiktoken.Encoding, text: str) -> None:
    assert real_count(reference, text) * 0.9 <= rough_count(text) <= len(text.encode())
    assert rough_count(text) >= sum(character >= "\u4e00" for character in text)


@pytest.mark.parametrize("character", ["a", "A", "漢", " ", "\n", ".", "0", "👍", "é"])
@pytest.mark.parametrize("length", [10_000, 1_000_000])
def test_M16_a_long_run_of_one_character_is_counted_in_one_go(
    counter: TokenCounter, reference: tiktoken.Encoding, character: str, length: int
) -> None:
    counted = counter.count(character * length)  # a plain merge would take hours
    expected = real_count(reference, character * 10_000) * length / 10_000
    assert counted == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("length", [BULK_CHARS - 1, 1_000_000])
def test_M16_a_million_letters_without_spaces_are_counted(
    counter: TokenCounter, reference: tiktoken.Encoding, length: int
) -> None:
    letters = "".join(random.Random(length).choices(string.ascii_lowercase, k=length))
    counted = counter.count(letters)
    assert counted == pytest.approx(real_count(reference, letters), rel=0.005)


def test_bulk_text_counts_the_same_up_to_one_token_per_block(
    counter: TokenCounter, reference: tiktoken.Encoding
) -> None:
    text = "\n".join(WRITTEN + ODD)
    text *= BULK_CHARS // len(text) + 1
    assert counter.count(text) == pytest.approx(real_count(reference, text), abs=10)


def test_ordinary_text_leaves_tiktoken_unloaded(counter: TokenCounter) -> None:
    program = (
        "import sys; from bot.prompt.tokens import TokenCounter; print(TokenCounter().count('Hello, keeper!')); "
        "sys.exit('tiktoken' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) == counter.count("Hello, keeper!")


def test_threads_that_count_while_it_loads_all_get_the_count() -> None:
    counter = TokenCounter()
    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(counter.count, ["Hello, keeper!"] * 8)) == {4}


def test_the_factor_rises_quickly_and_falls_slowly() -> None:
    tokens = ModelTokens(lambda _: 1.12)
    tokens.learn("m", 1000, 2000)
    risen = tokens.factor("m")
    assert risen == pytest.approx(1.56)
    tokens.learn("m", 1000, 1000)
    assert 1.5 < tokens.factor("m") < risen
    assert tokens.factor("other") == 1.12


def test_the_factor_reaches_what_the_server_counts() -> None:
    tokens = ModelTokens(lambda _: 1.12)
    for _ in range(200):
        tokens.learn("m", 1000, 810)
    assert tokens.factor("m") == pytest.approx(0.81, rel=0.01)


@given(lessons=st.lists(st.tuples(st.integers(0, 10**6), st.integers(-1, 10**7)), max_size=30))
def test_no_usage_however_odd_moves_the_factor_out_of_bounds(lessons: list[tuple[int, int]]) -> None:
    tokens = ModelTokens(lambda _: 1.12)
    for counted, actual in lessons:
        tokens.learn("m", counted, actual)
    assert 0.25 <= tokens.factor("m") <= 4


def test_a_short_request_teaches_nothing() -> None:
    tokens = ModelTokens(lambda _: 1.12)
    tokens.learn("m", SMALLEST_LESSON - 1, 900)
    assert tokens.factor("m") == 1.12

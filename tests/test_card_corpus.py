"""Every nasty card, one by one: read as it was meant, or refused in words, and never a fault of ours."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from bot.personas.card import CardError
from bot.personas.formats import read_file
from bot.personas.lorebook import read_book
from tests.nasty_cards import CORPUS, Nasty, Reads, Refused


def nasty(row: str) -> pytest.MarkDecorator:
    """Run a test with every nasty card of a row of the case list."""
    cards = [pytest.param(card, id=card.oddity) for card in CORPUS if card.row == row]
    return pytest.mark.parametrize("card", cards)


def judge(card: Nasty) -> None:
    """See that the file becomes what the corpus says."""
    data = card.make()
    match card.outcome:
        case Reads(card=wanted, container=container, warned=warned):
            found = read_file(data, fallback_name="file")
            assert found.card == wanted
            assert found.container == container
            assert tuple(warning.field for warning in found.warnings) == warned
            ids = [str(entry.id) for entry in read_book(wanted.character_book)[0].entries]
            assert len(set(ids)) == len(ids)
        case Refused(words=words):
            with pytest.raises(CardError) as caught:
                read_file(data, fallback_name="file")
            assert words in str(caught.value)
            assert caught.value.remedy


@nasty("P01")
def test_P01_a_card_is_found_in_text_chunks_of_every_kind(card: Nasty) -> None:
    judge(card)


@nasty("P02")
def test_P02_the_newest_wording_in_a_picture_wins_and_damage_falls_back(card: Nasty) -> None:
    judge(card)


@nasty("P03")
def test_P03_a_card_is_found_anywhere_in_a_picture(card: Nasty) -> None:
    judge(card)


@nasty("P04")
def test_P04_what_is_null_is_absent(card: Nasty) -> None:
    judge(card)


@nasty("P05")
def test_P05_greetings_of_a_wrong_type_stay_whole(card: Nasty) -> None:
    judge(card)


@nasty("P06")
def test_P06_values_of_odd_types_refuse_nothing(card: Nasty) -> None:
    judge(card)


@nasty("P07")
def test_P07_a_blank_name_is_replaced(card: Nasty) -> None:
    judge(card)


@nasty("P08")
def test_P08_json_of_every_version_is_the_same_card(card: Nasty) -> None:
    judge(card)


@nasty("P09")
def test_P09_a_comment_in_a_picture_is_read_or_clearly_refused(card: Nasty) -> None:
    judge(card)


@nasty("P10")
def test_P10_the_wording_of_older_programs_is_read(card: Nasty) -> None:
    judge(card)


@nasty("P11")
def test_P11_a_lorebook_is_found_wherever_tools_put_it(card: Nasty) -> None:
    judge(card)


@nasty("P12")
def test_P12_an_archive_is_read_behind_known_prefixes_only(card: Nasty) -> None:
    judge(card)


@nasty("P13")
def test_P13_an_archive_is_read_by_its_directory(card: Nasty) -> None:
    judge(card)


@nasty("P14")
def test_P14_files_are_found_by_every_spelling_and_never_fetched(card: Nasty) -> None:
    judge(card)


@nasty("P15")
def test_P15_a_path_that_leads_out_is_left_out(card: Nasty) -> None:
    judge(card)


@nasty("P22")
def test_P22_a_newer_version_is_read_with_a_notice(card: Nasty) -> None:
    judge(card)


@nasty("P23")
def test_P23_quirks_of_card_writers_decode_to_the_same_card(card: Nasty) -> None:
    judge(card)


@nasty("P25")
def test_P25_a_chunk_is_chosen_by_its_keyword(card: Nasty) -> None:
    judge(card)


@nasty("P26")
def test_P26_an_archive_with_its_card_elsewhere_or_too_large_is_told(card: Nasty) -> None:
    judge(card)


@nasty("X09")
def test_X09_a_link_or_an_impossible_name_in_an_archive_is_left_out(card: Nasty) -> None:
    judge(card)


@nasty("X12")
def test_X12_a_file_that_would_run_code_or_cost_much_is_refused(card: Nasty) -> None:
    judge(card)


@nasty("P16")
def test_P16_a_bomb_is_refused_fast_and_without_memory(card: Nasty) -> None:
    data = card.make()
    assert isinstance(card.outcome, Refused)
    tracemalloc.start()
    started = time.process_time()
    try:
        with pytest.raises(CardError, match=card.outcome.words):
            read_file(data)
        spent, (_, peak) = time.process_time() - started, tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert spent < 2
    assert peak < 100 * 2**20


def test_the_corpus_is_large_and_every_card_of_it_is_judged() -> None:
    tested = {name[5:8] for name in globals() if name.startswith("test_")}
    assert len(CORPUS) >= 60
    assert len({(card.row, card.oddity) for card in CORPUS}) == len(CORPUS)
    assert {card.row for card in CORPUS} <= tested

"""What is kept of imported cards, and for how long."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from bot.personas.card import PersonaCard
from bot.personas.proposals import MAX_LENGTH, NO_PROPOSALS, Proposals, proposals_of
from bot.store import persona_sizes, personas
from bot.store.database import Database, Tx
from bot.store.personas import DRAFT_LIFE, FILE_OF_REMOVED_LIFE, KEPT_VERSIONS, WAITING_DRAFTS, NewPersona, new_id
from bot.testing import NOW

MOMENT = timedelta(seconds=1)
ALICE = "fake:alice"


def new(name: str = "Mira", place_key: str | None = "fake:1") -> NewPersona:
    card = PersonaCard(name=name, description="Somebody.")
    return NewPersona(
        card=card, place_key=place_key, container="json", sha256=name, data=b"{}", picture=None, brought_by=ALICE
    )


def confirmed(tx: Tx, name: str = "Mira") -> str:
    persona_id = personas.keep_draft(tx, new(name), NOW)
    personas.confirm(tx, persona_id, NO_PROPOSALS, by=ALICE, now=NOW)
    return persona_id


async def test_a_draft_waits_a_day_and_no_longer(db: Database) -> None:
    persona_id = await db.run(personas.keep_draft, new(), NOW)
    assert await db.run(personas.card_statuses) == {}
    await db.run(personas.keep_draft, new("Sol"), NOW + DRAFT_LIFE)
    assert await db.run(personas.find_draft, persona_id, ALICE)
    await db.run(personas.keep_draft, new("Vera"), NOW + DRAFT_LIFE + MOMENT)
    assert await db.run(personas.find_draft, persona_id, ALICE) is None
    newest = await db.run(personas.find_draft, None, ALICE)
    assert newest
    assert newest.card.name == "Vera"
    assert not await db.run(personas.confirm, persona_id, NO_PROPOSALS, by=ALICE, now=NOW)


async def test_a_card_that_speaks_is_no_draft_to_be_dropped(db: Database) -> None:
    persona_id = await db.run(confirmed)
    await db.run(personas.drop_draft, persona_id)
    assert [version.number for version in await db.run(personas.list_versions, persona_id)] == [1]


async def test_the_file_of_a_removed_card_goes_after_a_while_and_its_words_stay(db: Database) -> None:
    persona_id = await db.run(confirmed)
    await db.run(personas.retire, persona_id, by=ALICE, now=NOW)
    await db.run(personas.keep_draft, new("Sol"), NOW + FILE_OF_REMOVED_LIFE)
    assert await db.run(persona_sizes.count_files, "fake:1") == (2, 4)
    assert await db.run(personas.read_original, persona_id)
    await db.run(personas.keep_draft, new("Vera"), NOW + FILE_OF_REMOVED_LIFE + MOMENT)
    assert await db.run(personas.read_original, persona_id) is None
    await db.run(personas.restore, persona_id)
    assert (await db.run(personas.read_cards, [persona_id]))[persona_id].name == "Mira"


async def test_of_many_versions_the_first_and_the_newest_are_kept(db: Database) -> None:
    def edit(tx: Tx, persona_id: str) -> None:
        for number in range(KEPT_VERSIONS + 5):
            card = PersonaCard(name=f"Mira {number}", description="Somebody.")
            personas.change_card(tx, persona_id, card, change="name", by=ALICE, now=NOW)

    persona_id = await db.run(confirmed)
    await db.run(edit, persona_id)
    kept = [version.number for version in await db.run(personas.list_versions, persona_id)]
    assert kept == [*range(KEPT_VERSIONS + 6, 6, -1), 1]
    assert await db.run(personas.name_of, persona_id) == f"Mira {KEPT_VERSIONS + 4}"


def test_ids_sort_by_time_and_none_is_given_twice() -> None:
    ids = [new_id(NOW + timedelta(milliseconds=number)) for number in range(50)]
    assert ids == sorted(ids)
    assert len({new_id(NOW) for _ in range(1_000)}) == 1_000
    assert all(len(persona_id) == 28 and persona_id == persona_id.lower() for persona_id in ids)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=MAX_LENGTH * 2),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(own=st.dictionaries(st.sampled_from(["model", "tool_groups", "x"]), JSON) | JSON)
def test_whatever_a_card_asks_for_comes_as_names_that_can_be_shown(own: object) -> None:
    asked = proposals_of(PersonaCard(name="Mira", extensions={"familiar": own}))
    for name in (asked.model, *asked.tool_groups):
        assert isinstance(name, str)
        assert len(name) <= MAX_LENGTH
        assert name.isprintable()
    assert bool(asked) == (asked != Proposals())


async def test_a_file_that_is_its_own_picture_is_kept_once(db: Database) -> None:
    for picture, size in ((b"PNG", 3), (b"other", 3 + 5), (None, 3)):
        brought = replace(new(place_key=f"fake:{size}{picture!r}"), data=b"PNG", picture=picture)
        persona_id = await db.run(personas.keep_draft, brought, NOW)
        original = await db.run(personas.read_original, persona_id)
        assert original
        assert original.picture == picture
        assert await db.run(persona_sizes.count_files, brought.place_key or "") == (1, size)


async def test_one_person_s_cards_wait_for_a_yes_up_to_a_number_the_newest_ones(db: Database) -> None:
    def bring(tx: Tx) -> list[str]:
        kept = [confirmed(tx)]
        return kept + [
            personas.keep_draft(tx, new(f"D{number}", f"fake:{number}"), NOW + number * MOMENT)
            for number in range(WAITING_DRAFTS + 2)
        ]

    live, first, second, *others = await db.run(bring)
    assert [await db.run(personas.find_draft, gone, ALICE) for gone in (first, second)] == [None, None]
    assert all([await db.run(personas.find_draft, one, ALICE) for one in others])
    assert [*await db.run(personas.card_statuses)] == [live]
    assert await db.read(persona_sizes.count_files_of, ALICE) == (WAITING_DRAFTS + 1, 2 * (WAITING_DRAFTS + 1))

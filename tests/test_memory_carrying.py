"""What a persona learns of another one's memory where it takes over: nothing, some of it, or all."""

from __future__ import annotations

from bot.memory.items import ItemKind
from bot.store import conversations, sessions
from bot.store.database import Database
from bot.store.memories import read_memory, retire_item, set_pinned
from bot.testing import NOW
from tests.folding import ALICE, Fold, add
from tests.stories import Story


def texts(story: Story, conversation: int) -> list[str]:
    return [item.new.text for item in read_memory(story.tx, conversation).items]


def switch(story: Story, persona: str, how: conversations.Switch) -> int:
    story.session = sessions.open_session(story.tx, story.channel, NOW)
    story.persona = persona
    story.conversation = conversations.ensure_conversation(story.tx, story.session, persona, NOW, how)
    return story.conversation


async def test_separate_personas_know_nothing_of_each_other(db: Database) -> None:
    def happens(story: Story) -> None:
        add("Alice lives in Oslo")(story)
        assert texts(story, switch(story, "other", "separate")) == []

    await Fold(db).tell(happens)


async def test_shared_personas_are_in_one_conversation(db: Database) -> None:
    def happens(story: Story) -> None:
        first = story.conversation
        add("Alice lives in Oslo")(story)
        story.answer("hello", story.say("hi", addressed=True))
        assert switch(story, "other", "shared") == first
        assert conversations.conversation_by_id(story.tx, first).persona_id == "other"
        assert texts(story, first) == ["Alice lives in Oslo"]
        assert story.read() == ["hi", "hello"]

    await Fold(db).tell(happens)


async def test_carried_facts_and_agreements_come_along_with_their_sources_there_and_back(db: Database) -> None:
    def happens(story: Story) -> None:
        said = story.say("I live in Oslo")
        first = story.conversation
        oslo = add("Alice lives in Oslo", said)(story)
        pinned = add("Meet at noon", said, kind=ItemKind.CONSENSUS, people=(ALICE,), pinned=True)(story)
        add("The fair", said, kind=ItemKind.EVENT)(story)
        second = switch(story, "other", "carry")
        assert second != first
        carried = read_memory(story.tx, second).items
        originals = read_memory(story.tx, first).by_id()
        assert [item.new for item in carried] == [originals[oslo].new, originals[pinned].new]

        retire_item(story.tx, second, carried[0].id, ALICE, NOW)
        add("Alice lives in Bergen", said)(story)
        assert switch(story, "mira", "carry") == first
        assert texts(story, first) == ["Meet at noon", "The fair", "Alice lives in Bergen"]
        assert switch(story, "other", "carry") == second
        assert texts(story, second) == ["Meet at noon", "Alice lives in Bergen"]

    await Fold(db).tell(happens)


async def test_a_pinned_item_stays_though_another_persona_forgot_it(db: Database) -> None:
    def happens(story: Story) -> None:
        first = story.conversation
        item = add("Alice lives in Oslo")(story)
        second = switch(story, "other", "carry")
        set_pinned(story.tx, first, item, pinned=True)
        (copy,) = read_memory(story.tx, second).items
        retire_item(story.tx, second, copy.id, ALICE, NOW)
        switch(story, "mira", "carry")
        assert texts(story, first) == ["Alice lives in Oslo"]

    await Fold(db).tell(happens)

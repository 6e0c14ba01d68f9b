"""Lore in the prompt, through the real pipeline: what stands where, for whom, and what a conversation remembers of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.llm.model import Role
from bot.personas.library import PersonaLibrary
from bot.store import lorebooks
from bot.store.lorebooks import BookKey, BookKind
from tests.conftest import MakeApp
from tests.lore import entry, silly
from tests.talking import ALICE, BOB, DM, GROUP, Chat, open_chat

CARD = {"name": "Mira", "description": "Mira keeps a lighthouse.", "scenario": "A storm."}


async def open_with(
    make_app: MakeApp, folder: Path, *entries: dict[str, Any], card: dict[str, Any] | None = None, **settings: Any
) -> Chat:
    """A chat with a persona whose card has a book of these entries."""
    mira = folder / "cards" / "mira"
    mira.mkdir(parents=True)
    data = {**CARD, **(card or {}), "character_book": {"entries": list(entries)}}
    (mira / "card.json").write_text(json.dumps({"spec": "chara_card_v3", "data": data}), encoding="utf-8")
    settings.setdefault("access", {"admins": ["fake:alice"]})
    return await open_chat(make_app, library=PersonaLibrary([mira.parent]), **settings)


async def keep(chat: Chat, kind: BookKind, owner: str, *entries: dict[str, Any]) -> None:
    await chat.app.core.db.run(lorebooks.add_entries, BookKey(kind, owner), entries)


def system(chat: Chat) -> str:
    first = chat.model.requests[-1].messages[0]
    return first.text if first.role is Role.SYSTEM else ""


def last(chat: Chat) -> str:
    return chat.last_prompt[-1][1]


async def test_what_is_mentioned_stands_before_the_last_message_and_is_not_stored(
    make_app: MakeApp, tmp_path: Path
) -> None:
    chat = await open_with(make_app, tmp_path, entry("wyrm", content="The wyrm sleeps."))
    await chat.say("tell me of the wyrm")
    assert last(chat).startswith("[Notes for your next answer, said by nobody here:\n\nThe wyrm sleeps.\n\n")
    assert last(chat).endswith("\n\ntell me of the wyrm")
    assert "wyrm" not in system(chat)
    for text in ("and then?", "and?", "so?", "hm"):
        await chat.say(text)
    assert "The wyrm sleeps." not in str(chat.last_prompt)
    assert ("user", "tell me of the wyrm") in chat.last_prompt


async def test_lore_is_written_listed_tested_changed_and_removed(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    assert "There is no lore here" in await chat.ask("/lore")
    told = await chat.ask('/lore add "dragon, wyrm" The dragon sleeps under the hill')
    assert told.startswith("Added as entry 1 (Yours).")
    await chat.say("where is the WYRM?")
    assert "The dragon sleeps under the hill" in last(chat)
    assert "wyrm" in await chat.ask("/lore")
    told = await chat.ask("/lore test the dragon!")
    assert "1 entry would join in" in told
    assert "“dragon” is mentioned" in told
    await chat.ask("/lore edit 1 --keys cat It purrs")
    assert "No entry" in await chat.ask("/lore test the dragon!")
    assert "It purrs" in await chat.ask("/lore read 1")
    assert "dragon" not in await chat.ask("/lore remove 1")
    assert "There is no lore here" in await chat.ask("/lore")

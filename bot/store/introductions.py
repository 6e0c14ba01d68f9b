"""Introductions: in which places the bot has told what it is. Once told, it is never told there again."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.sqlite import insert

from bot.store.database import Tx
from bot.store.tables import conversations, introductions, messages


def introduce_once(tx: Tx, place_key: str, now: datetime) -> bool:
    """Note that a place is being told; false when it has been already."""
    told = insert(introductions).values(place_key=place_key, said_at=now).on_conflict_do_nothing()
    return tx.execute(told).rowcount > 0


def put_greeting(tx: Tx, reply_id: int, text: str, tokens: int, now: datetime) -> None:
    """The words of a greeting that is about to be said, so that the first answer knows them. Its message says more than
    they do; it counts as edited, so that quotes of it are taken from here.
    """
    said = {"text": text, "tokens": tokens, "edited_at": now}
    tx.execute(update(messages).where(messages.c.id == reply_id).values(said))


def take_back_introduction(tx: Tx, place_key: str, conversation_id: int) -> None:
    """Nobody could read it: the next first contact tells it."""
    tx.execute(delete(introductions).where(introductions.c.place_key == place_key))
    tx.execute(update(conversations).where(conversations.c.id == conversation_id).values(greeted=False))


def move_introduction(tx: Tx, old_key: str, new_key: str) -> None:
    """A place has another key from now on, and knows what it knew (T23)."""
    said_at = tx.execute(select(introductions.c.said_at).where(introductions.c.place_key == old_key)).scalar()
    if said_at is not None:
        introduce_once(tx, new_key, said_at)
        tx.execute(delete(introductions).where(introductions.c.place_key == old_key))

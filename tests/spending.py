"""People who spend what they may: a chat with limits, and what is counted of it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, select

from bot.chat import Author
from bot.llm.model import Usage
from bot.store.ledger_tables import budgets, reservations
from bot.testing import Reply, ScriptedModel
from tests.conftest import MakeApp
from tests.talking import ALICE, Chat, open_chat

RESERVE = 100
"""Tokens kept for an answer."""
PRICED = {"test": {"base_url": "https://models.example/v1", "input_price": 1_000, "output_price": 1_000}}
"""A thousand dollars for a million tokens: an answer costs a dollar."""
USED = Usage(input_tokens=900, output_tokens=100)


def quota(**limits: Any) -> dict[str, Any]:
    """Settings with limits and none per minute."""
    return {"messages_per_minute": 0, **limits}


async def open_limited(make_app: MakeApp, model: ScriptedModel | None = None, **settings: Any) -> Chat:
    """A chat whose every answer costs a thousand tokens, unless the model is another."""
    model = model or ScriptedModel([Reply(text="ok", usage=USED)])
    settings = {"persona": "none", "max_output_tokens": RESERVE, "tools": (), **settings}
    return await open_chat(make_app, model=model, **settings)


async def settle(chat: Chat) -> None:
    """Wait until all calls are counted: writes go in order."""
    await chat.settled()
    await chat.app.core.db.run(lambda _tx: None)


async def ask(chat: Chat, count: int, *, author: Author = ALICE, **more: Any) -> list[list[str]]:
    """Ask so often, one after the other."""
    told = []
    for number in range(count):
        told.append(await chat.say(f"question {number}", author=author, **more))
        await settle(chat)
    return told


async def spent(chat: Chat) -> dict[tuple[str, str, str], int]:
    """What is counted, by scope, period and unit."""
    rows = await chat.app.core.db.read(lambda tx: tx.execute(select(budgets)).all())
    return {(row.scope, row.period, row.unit): row.spent for row in rows}


async def reserved(chat: Chat) -> int:
    """How many calls hold something."""
    count = select(func.count()).select_from(reservations)
    return int(await chat.app.core.db.read(lambda tx: tx.execute(count).scalar_one()))

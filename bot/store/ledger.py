"""The ledger of model calls, what endpoints refused, and small facts about ourselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import String, bindparam, delete, func, insert, select

from bot.llm.model import Usage
from bot.llm.quirks import LearnedQuirk, Quirk
from bot.prompt.usage import PromptUsage
from bot.store.database import Tx
from bot.store.ledger_tables import model_calls
from bot.store.people_tables import people
from bot.store.tables import conversations, learned_quirks, messages, remembered, sessions


@dataclass(frozen=True, kw_only=True, slots=True)
class CallRecord:
    """One model call as the ledger keeps it."""

    purpose: str
    model: str
    outcome: str
    session_id: int | None = None
    conversation_id: int | None = None
    persona_id: str | None = None
    author_key: str | None = None
    usage: Usage | None = None
    is_estimated: bool = False
    """Whether its server has not said what it uses. The row has no input tokens then, so that it can be told apart."""
    prompt_usage: PromptUsage | None = None
    """What the request filled of the window."""
    estimated_tokens: int = 0
    first_token_ms: int = 0
    total_ms: int = 0


_SPREAD = ("usage", "is_estimated", "prompt_usage", "session_id", "conversation_id", "author_key")
_AUTHOR = bindparam("author", type_=String)
_KNOWN = (
    select(people.c.key).where(people.c.key == _AUTHOR).scalar_subquery(),
    select(messages.c.author_key).where(messages.c.author_key == _AUTHOR).limit(1).scalar_subquery(),
)
# Made once: building a statement costs more than running it.
_INSERT_CALL = insert(model_calls).values(
    session_id=select(sessions.c.id).where(sessions.c.id == bindparam("session")).scalar_subquery(),
    conversation_id=select(conversations.c.id).where(conversations.c.id == bindparam("conversation")).scalar_subquery(),
    author_key=func.coalesce(*_KNOWN),
)


def record_call(tx: Tx, call: CallRecord, now: datetime) -> None:
    """Add a call to the ledger: without whom it was for, where it comes after they were forgotten."""
    values = {name: getattr(call, name) for name in call.__slots__ if name not in _SPREAD}
    values |= {"session": call.session_id, "conversation": call.conversation_id, "author": call.author_key}
    usage = asdict(call.usage) if call.usage is not None else {}
    if call.is_estimated:
        usage = {name: usage[name] for name in ("output_tokens", "cost", "currency")}
    filled = call.prompt_usage
    prompt = {
        "prompt_usage": filled.as_json() if filled else None,
        "prefix_break": filled.prefix_break.value if filled and filled.prefix_break else None,
    }
    tx.execute(_INSERT_CALL, {**values, **usage, **prompt, "at": now})


def record_calls(tx: Tx, calls: Iterable[CallRecord], now: datetime) -> None:
    """Add calls to the ledger, in their order."""
    for call in calls:
        record_call(tx, call, now)


def load_quirks(tx: Tx) -> list[LearnedQuirk]:
    """Everything that endpoints refused so far; quirks of another version of ours are passed over."""
    rows = tx.execute(select(learned_quirks.c.endpoint, learned_quirks.c.model, learned_quirks.c.name)).all()
    known = {quirk.value for quirk in Quirk}
    return [LearnedQuirk(endpoint=row[0], model=row[1], quirk=Quirk(row[2])) for row in rows if row[2] in known]


def save_quirk(tx: Tx, learned: LearnedQuirk, now: datetime) -> None:
    """Keep what an endpoint refused."""
    row = {"endpoint": learned.endpoint, "model": learned.model, "name": learned.quirk.value}
    drop_quirks(tx, **row)
    tx.execute(insert(learned_quirks).values(**row, value="", learned_at=now))


def drop_quirks(tx: Tx, endpoint: str, model: str, name: str | None = None) -> None:
    """Forget what was learned about a model behind an endpoint: all of it, or one quirk."""
    where = [learned_quirks.c.endpoint == endpoint, learned_quirks.c.model == model]
    where += [learned_quirks.c.name == name] if name is not None else []
    tx.execute(delete(learned_quirks).where(*where))


def recall(tx: Tx, name: str) -> str | None:
    """A remembered fact about ourselves."""
    return tx.execute(select(remembered.c.value).where(remembered.c.name == name)).scalar()


def recall_all(tx: Tx, prefix: str) -> dict[str, str]:
    """Every remembered fact whose name begins so, by the rest of its name."""
    begun = remembered.c.name.startswith(prefix, autoescape=True)
    rows = tx.execute(select(remembered.c.name, remembered.c.value).where(begun).order_by(remembered.c.name)).all()
    return {name.removeprefix(prefix): value for name, value in rows}


def forget_all(tx: Tx, prefix: str) -> None:
    """Forget every fact whose name begins so."""
    tx.execute(delete(remembered).where(remembered.c.name.startswith(prefix, autoescape=True)))


def remember(tx: Tx, name: str, value: str) -> None:
    """Keep a fact about ourselves, replacing the former one."""
    tx.execute(delete(remembered).where(remembered.c.name == name))
    tx.execute(insert(remembered).values(name=name, value=value))

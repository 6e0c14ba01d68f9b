"""What this process keeps in mind for some seconds to know people again whose messages proxy bots post anew (D08).

Of what is said in privacy these are hashes under a key of this run, so that the words themselves are nowhere.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import deque
from dataclasses import dataclass
from datetime import datetime

from bot.chat import Inbound, InboundKind
from bot.store import messages, reposts
from bot.store.database import Tx
from bot.store.messages import Known, NewMessage
from bot.store.reposts import REPOST_WITHIN, Original, Repost
from bot.store.sessions import SessionRow

KEPT = 32
"""Messages kept in mind at once, the newest ones; the hashes of a long one take about 60 kB."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Said:
    session_key: str
    message_id: str
    author_key: str
    sent_at: datetime
    hashes: frozenset[bytes]
    """Of all that a proxy bot may make of the words."""


class RecentReposts:
    """Recent messages that were or may be posted again. Its methods are called in write transactions, one at a time."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(16)
        self._said: deque[_Said] = deque(maxlen=KEPT)
        self._undecided: deque[Repost] = deque(maxlen=KEPT)

    def note_private(self, inbound: Inbound) -> None:
        """Somebody who wants privacy said something where others can read it, and may have it posted again."""
        if inbound.channel.is_dm or inbound.author.is_bot or not inbound.text.strip():
            return
        said = _Said(
            session_key=inbound.channel.session_key,
            message_id=inbound.message_id,
            author_key=inbound.author.key,
            sent_at=inbound.sent_at,
            hashes=frozenset(self._hash(inbound.text[start:end]) for start, end in reposts.spans(inbound.text)),
        )
        self._said.append(said)

    def find_original(self, tx: Tx, session: SessionRow, inbound: Inbound) -> Original | None:
        """The message that an inbound posts again, as far as anybody can tell yet."""
        self._forget_old(inbound.sent_at)
        if not inbound.may_be_repost or inbound.kind is not InboundKind.MESSAGE:
            return None
        found = reposts.find_original(tx, session, inbound)
        if found is not None and found.is_deleted:
            return found
        said = self._said_before(inbound)
        if said is None:
            return found
        unheard = Original(id=None, author_key=said.author_key, is_private=True, is_deleted=False, is_answered=False)
        return reposts.original_by_id(tx, session, said.message_id) or unheard

    def _said_before(self, inbound: Inbound) -> _Said | None:
        key, posted = inbound.channel.session_key, self._hash(inbound.text)
        return next((it for it in reversed(self._said) if it.session_key == key and posted in it.hashes), None)

    def record(
        self, tx: Tx, session: SessionRow, inbound: Inbound, original: Original, new: NewMessage, now: datetime
    ) -> int:
        """Store a message that is, or may be, one posted again: in the first one's row, or until that is deleted in one
        of its own, which has no words if they were said in privacy.
        """
        if original.goes_on:
            return reposts.take_over(tx, session, original, inbound, new)
        if original.is_private:
            message_id = messages.record_blank(tx, session, inbound, is_private=True)
        else:
            message_id = messages.record(tx, session, inbound, new, now)
        self._undecided.append(
            Repost(
                id=message_id,
                original=original,
                name=inbound.author.name,
                face_key=inbound.author.key,
                sent_at=inbound.sent_at,
            )
        )
        return message_id

    def is_replaced(self, tx: Tx, session: SessionRow, known: Known, deleted: Inbound) -> bool:
        """Whether a message that is deleted had been posted again, so that its row goes on as that."""
        self._forget_old(deleted.sent_at)
        found = (repost for repost in reversed(self._undecided) if repost.original.id == known.id)
        repost = next(found, None)
        return repost is not None and reposts.merge(tx, session, repost)

    def forget(self, author_key: str) -> None:
        """Know nothing more of what somebody has said."""
        self._said = deque((it for it in self._said if it.author_key != author_key), maxlen=KEPT)
        others = (it for it in self._undecided if author_key not in (it.original.author_key, it.face_key))
        self._undecided = deque(others, maxlen=KEPT)

    def _forget_old(self, now: datetime) -> None:
        since = now - REPOST_WITHIN
        self._said = deque((it for it in self._said if it.sent_at >= since), maxlen=KEPT)
        recent = (it for it in self._undecided if it.sent_at >= since)
        self._undecided = deque(recent, maxlen=KEPT)

    def _hash(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=12, key=self._key).digest()

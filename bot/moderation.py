"""Refuses what the operator wants neither asked nor answered: by a list of words, and by a moderation endpoint.

An extension like any other (`bot.hooks`), made where something to judge by is configured. Knows no platform.
"""

from __future__ import annotations

import asyncio
import json
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import structlog

from bot.gate import has_word
from bot.hooks import Folding, Hooks, Host, Refusal, Withheld
from bot.llm.model import ModelError, ToolCall
from bot.settings import Moderation
from bot.store.sessions import SessionRow
from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.turn import Turn

log = structlog.get_logger(__name__)

JUDGED_KEPT = 20_000
"""Messages that are known to be judged: some hundred bytes each, and more than all windows of a busy bot hold."""

MOST_TEXTS = 32
"""In one request to the endpoint; ours to choose."""

Wording = Callable[[Turn, str], str]
"""A text of the catalogue in the language of a turn."""


def read_words(given: Moderation) -> tuple[str, ...]:
    """All words that are refused.

    Raises:
        OSError: the file cannot be read.
        UnicodeDecodeError: it is no text.
    """
    text = given.words_file.read_text(encoding="utf-8-sig") if given.words_file is not None else ""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return tuple(filter(None, dict.fromkeys(map(_plain, (*given.words, *lines)))))


def moderation_hooks(given: Moderation, words: Sequence[str], host: Host, wording: Wording) -> Hooks:
    """The hooks that judge, in places where that is on."""
    judge = _Judge(given, words, host)
    moderator = _Moderator(judge, wording)
    return Hooks(
        before_turn=moderator.admit,
        before_tool=moderator.judge_call,
        before_reply=moderator.judge_reply,
        before_folding=moderator.admit_to_notes,
        wants_reply=moderator.wants_reply,
        seconds=0,  # the endpoint has its own time, and what follows where it is late is the operator's to say
    )


class Verdict(Enum):
    """What is to become of a text."""

    ALLOW = "allow"
    REFUSE = "refuse"
    UNKNOWN = "unknown"
    """It could not be judged."""


@dataclass(frozen=True, slots=True)
class _Judge:
    given: Moderation
    words: Sequence[str]
    host: Host

    async def judge(self, session: SessionRow, texts: Sequence[str]) -> list[Verdict]:
        """A verdict on each text. The endpoint reads only what the words let pass, and nothing once it has failed."""
        # In a thread: lists of words may be long, and so may what is said.
        verdicts = await asyncio.to_thread(self._by_words, texts) if self.words else [Verdict.ALLOW] * len(texts)
        left = [at for at, text in enumerate(texts) if text.strip() and verdicts[at] is Verdict.ALLOW]
        if not self.given.model:
            return verdicts
        for start in range(0, len(left), MOST_TEXTS):
            some = left[start : start + MOST_TEXTS]
            flags = await self._ask(session, [texts[at] for at in some])
            if flags is None:
                return [Verdict.UNKNOWN if at in left[start:] else verdict for at, verdict in enumerate(verdicts)]
            for at in (at for at, is_flagged in zip(some, flags, strict=True) if is_flagged):
                verdicts[at] = Verdict.REFUSE
        return verdicts

    @property
    def is_strict(self) -> bool:
        """Whether what could not be judged is refused."""
        return self.given.on_failure == "closed"

    def _by_words(self, texts: Sequence[str]) -> list[Verdict]:
        return [Verdict.REFUSE if self._has_word(_plain(text)) else Verdict.ALLOW for text in texts]

    def _has_word(self, plain: str) -> bool:
        return any(word in plain and has_word(plain, (word,)) for word in self.words)

    async def _ask(self, session: SessionRow, texts: Sequence[str]) -> Sequence[bool] | None:
        seconds = self.given.timeout.total_seconds()
        try:
            return await self.host.moderate(session, texts, model=self.given.model, seconds=seconds)
        except ModelError as error:
            policy = self.given.on_failure
            log.warning("moderation.failed", session=session.channel.session_key, error=str(error), policy=policy)
            return None


@dataclass(frozen=True, slots=True)
class _Moderator:
    judge: _Judge
    wording: Wording
    _judged: dict[tuple[int, int], None] = field(default_factory=dict)
    """Messages that were let pass, by their ids and words; the oldest are forgotten first."""

    async def admit(self, turn: Turn) -> Withheld | Refusal | None:
        """Judge what people said and the model is to read: what this process has not judged yet, and what was edited
        since.
        """
        if not turn.settings.values.moderation.input:
            return None
        heard = turn.history if turn.starter is None else (turn.starter, *turn.history)
        refused, is_unknown = await self._judge(turn.session, heard)
        if is_unknown:
            return Refusal(reason=self.wording(turn, "moderation-no-verdict"))
        return Withheld(messages=refused, reason=self.wording(turn, "moderation-input")) if refused else None

    async def admit_to_notes(self, folding: Folding) -> Withheld | Refusal | None:
        """Judge in the same way what is to be noted, of which no answer may have read all."""
        if not folding.settings.moderation.input:
            return None
        refused, is_unknown = await self._judge(folding.session, folding.rows)
        if is_unknown:
            return Refusal(reason="moderation gave no verdict")
        return Withheld(messages=refused) if refused else None

    async def _judge(self, session: SessionRow, rows: Sequence[WindowRow]) -> tuple[tuple[int, ...], bool]:
        """The ids of what is to be refused, and whether there is more that may not be read for want of a verdict."""
        rows = [row for row in rows if row.kind is MessageKind.SAID and _key(row) not in self._judged]
        verdicts = await self.judge.judge(session, [_words_of(row) for row in rows])
        judged = [*zip(rows, verdicts, strict=True)]
        found = {verdict: [row for row, its in judged if its is verdict] for verdict in Verdict}
        self._note_judged(found[Verdict.ALLOW])
        return tuple(row.id for row in found[Verdict.REFUSE]), self.judge.is_strict and bool(found[Verdict.UNKNOWN])

    def _note_judged(self, rows: Sequence[WindowRow]) -> None:
        self._judged.update((_key(row), None) for row in rows)
        while len(self._judged) > JUDGED_KEPT:
            del self._judged[next(iter(self._judged))]

    async def judge_reply(self, turn: Turn, text: str) -> Refusal | None:
        """Judge an answer, once and whole."""
        return await self._refusal(turn, text, "moderation-output")

    async def wants_reply(self, turn: Turn) -> bool:
        """Whether answers are judged here."""
        return turn.settings.values.moderation.output

    async def judge_call(self, turn: Turn, call: ToolCall) -> Refusal | None:
        """Judge what a model writes into a tool: people read it in reminders and in questions."""
        if not await self.wants_reply(turn):
            return None
        text = "\n".join(_words_in(call.arguments))
        refusal = await self._refusal(turn, text, "moderation-output") if text.strip() else None
        return refusal and Refusal(reason="these words are not allowed here. Do not try to say them in another way.")

    async def _refusal(self, turn: Turn, text: str, why: str) -> Refusal | None:
        (verdict,) = await self.judge.judge(turn.session, [text])
        if verdict is Verdict.REFUSE:
            return Refusal(reason=self.wording(turn, why))
        is_unknown = verdict is Verdict.UNKNOWN and self.judge.is_strict
        return Refusal(reason=self.wording(turn, "moderation-no-verdict")) if is_unknown else None


def _words_of(row: WindowRow) -> str:
    return f"{row.quote}\n{row.text}" if row.quote else row.text


def _key(row: WindowRow) -> tuple[int, int]:
    return row.id, hash(_words_of(row))


def _words_in(arguments: str) -> Iterator[str]:
    """The texts in a call's arguments; broken ones run no tool."""
    try:
        found = [json.loads(arguments.strip() or "null")]
    except (ValueError, RecursionError):
        return
    while found:
        match found.pop():
            case str() as text:
                yield text
            case Mapping() as table:
                found += table.values()
            case list() as values:
                found += values


def _plain(text: str) -> str:
    """A text as words are looked for in it: in one case and one width, without characters that nobody sees, and with
    one space where there are several or a line ends.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(char for char in plain if unicodedata.category(char) != "Cf").split())

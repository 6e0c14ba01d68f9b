"""Random interleavings of everything that can happen, seed by seed. A failure names its seed; run it alone with

pytest tests/scenarios/test_interleavings.py -k "seed17-"
"""

from __future__ import annotations

import asyncio
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.llm.model import ModelRequest, Role
from bot.personas.library import PersonaLibrary
from bot.prompt.sections import CONTINUE_NOTE
from bot.prompt.tokens import TokenCounter
from tests.scenarios.seeded_loop import SeededLoop
from tests.scenarios.story import Said, Story

SEEDS = range(200)

Row = sqlite3.Row


@pytest.fixture(scope="module")
def library() -> PersonaLibrary:
    return PersonaLibrary()


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"seed{seed}-")
def test_S13_S16_D13_T14_no_message_is_lost_doubled_or_left_unanswered(
    seed: int, migrated_database: Path, tmp_path: Path, library: PersonaLibrary, counter: TokenCounter
) -> None:
    database = tmp_path / "story.db"
    shutil.copy(migrated_database, database)
    story = Story(seed, database, library, counter)
    with capture_logs() as logs, asyncio.Runner(loop_factory=lambda: SeededLoop(seed)) as runner:
        runner.run(tell(story))
    assert not [entry for entry in logs if entry["log_level"] == "error"]


async def tell(story: Story) -> None:
    try:
        async with asyncio.timeout(30):
            await story.play()
        check = Invariants(story)
        check.heard()
        check.answered()
        check.shown()
        check.prompts()
        async with asyncio.timeout(30):
            await check.histories()
    except BaseException:
        print("\n".join(story.log))
        raise
    finally:
        await story.close()


class Invariants:
    """What must hold after any story."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.rows = {row["id"]: row for row in story.rows("SELECT * FROM message ORDER BY id")}
        self.sessions = {row["id"]: row["key"] for row in story.rows("SELECT id, key FROM chat_session")}
        self.conversations = {row["id"]: row for row in story.rows("SELECT * FROM conversation")}
        self.by_platform_id = {
            (self.sessions[row["session_id"]], row["platform_message_id"]): row
            for row in self.rows.values()
            if row["platform_message_id"]
        }
        self.bursts: dict[int, list[Row]] = {}
        for row in self.rows.values():
            if row["addressed"] and row["answered_by"]:
                self.bursts.setdefault(row["answered_by"], []).append(row)

    def row_of(self, said: Said) -> Row:
        return self.by_platform_id[said.session, said.inbound.message_id]

    # --- What was heard

    def heard(self) -> None:
        """Every message is there once, in its newest words, at the position of its own id (R1)."""
        for said in self.story.said:
            row = self.row_of(said)
            assert (row["kind"], row["text"], row["position"]) == ("said", said.text, row["id"])
            assert (row["deleted_at"] is not None) == said.deleted
            assert bool(row["addressed"]) == said.addressed
        assert sum(row["kind"] == "said" for row in self.rows.values()) == len(self.story.said)

    # --- What was answered

    def answered(self) -> None:
        """Every addressed message has one answer, which stands where it had read to, and answers one author."""
        closed: Counter[str] = Counter()
        for row in self.rows.values():
            if row["addressed"] and row["standing"] == "live" and not row["deleted_at"]:
                assert row["answered_by"], f"{row['text']} is unanswered"
        for reply_id, burst in self.bursts.items():
            reply = self.rows[reply_id]
            assert reply["kind"] in ("reply", "notice")
            assert reply["state"] in ("sent", "uncertain", "failed")
            assert len({row["author_key"] for row in burst}) == 1
            if reply["standing"] == "live":
                assert reply["position"] == burst[-1]["id"], f"{reply['text']} stands elsewhere"
            if reply["kind"] == "notice" and not self._parts(reply_id) and reply["state"] == "sent":
                closed[self.sessions[reply["session_id"]]] += 1
        for session, count in closed.items():
            assert count <= self._commands(session, "/stop", "/reset"), "a burst was closed that nobody stopped"
        self._every_live_reply_answers_somebody()

    def _every_live_reply_answers_somebody(self) -> None:
        """A message that two turns had answered would leave a reply that answers nobody."""
        orphans: Counter[tuple[str, str]] = Counter()
        for row in self.rows.values():
            if row["kind"] == "reply" and row["standing"] == "live" and row["id"] not in self.bursts:
                kind = "answer" if re.match(r"a\d", row["text"]) else "greeting" if row["text"] else "cut off"
                orphans[kind, self.sessions[row["session_id"]]] += 1
        for (kind, session), count in orphans.items():
            if kind == "answer":
                assert count <= self._commands(session, "/continue"), "a reply answers nobody"
            if kind == "cut off":  # greetings and continuations, which answer nobody either
                assert count <= self.story.restarts, "a reply answers nobody"

    def _parts(self, reply_id: int) -> list[Row]:
        return self.story.rows("SELECT * FROM sent_part WHERE message_id = ?", reply_id)

    def _commands(self, session: str, *commands: str) -> int:
        return sum(self.story.commands[session, command] for command in commands)

    # --- What people saw

    def shown(self) -> None:
        """No answer is seen in two replies, and what is stored as sent is there to be read, once."""
        places: dict[str, set[int]] = {}
        for number, reply in enumerate(self.story.adapter.replies):
            for text in reply.seen:
                for token in re.findall(r"\ba\d+", text):
                    places.setdefault(token, set()).add(number)
        assert all(len(numbers) == 1 for numbers in places.values()), places
        for row in self.rows.values():
            if row["kind"] == "reply" and row["state"] == "sent" and re.match(r"a\d", row["text"]):
                copies = sum(reply.holds(row["text"].strip()) for reply in self.story.adapter.replies)
                # What was taken back is deleted, unless a crash came between.
                wanted = (1,) if row["standing"] == "live" else (0, 1)
                assert copies in wanted, f"{row['text']} is seen {copies} times"
        self._nobody_is_answered_again(places)

    def _nobody_is_answered_again(self, places: dict[str, set[int]]) -> None:
        """However a process ends, what was asked is answered in public once (S16), unless somebody asks for more."""
        answers: Counter[tuple[str, str]] = Counter()
        for number in {number for numbers in places.values() for number in numbers}:
            token = next(token for token, numbers in places.items() if number in numbers)
            if asked := self._asked(self.story.model.requests[int(token[1:])]):
                answers[self.story.said[asked[-1]].session, f"q{asked[-1]}"] += 1
        for (session, token), count in answers.items():
            more = self._commands(session, "/retry", "/continue")
            assert count <= 1 + more, f"{token} was answered {count} times"

    # --- What the model was told

    def prompts(self) -> None:
        """Every request ends with what its asker said, and holds nothing that its conversation did not hear."""
        for number, request in enumerate(self.story.model.requests):
            try:
                self._check_prompt(request)
            except AssertionError as error:
                raise AssertionError(f"request {number}: {error}\n{_told(request)}") from error

    def _check_prompt(self, request: ModelRequest) -> None:
        told, asked = _told(request), self._asked(request)
        spoken = [self.story.said[number] for number in asked]
        if not spoken:  # what was asked is deleted, and somebody wants more of the answer
            assert CONTINUE_NOTE in told
            return
        assert len({said.session for said in spoken}) == 1, "several sessions in one prompt"
        last = next(message for message in reversed(request.messages) if message.role is Role.USER)
        assert last.text == CONTINUE_NOTE or (re.search(r"q\d+e\d+$", last.text) and spoken[-1].addressed)
        for text in ("/stop", "/reset", "/retry", "/undo", "/continue", "/persona"):
            assert text not in told
        for text in self._notices():
            assert text not in told, "a notice in the prompt"
        for token in re.findall(r"\bq\d+e\d+|\ba\d+", told):
            assert self.story.gone.get(token, 10**9) > spoken[-1].at, f"{token} was taken back before"
        candidates = [row for row in self.conversations.values() if self._may_be(row, request, spoken)]
        assert candidates, "no conversation heard all of this"

    def _asked(self, request: ModelRequest) -> list[int]:
        """Numbers of the messages of people in a request, in order."""
        return [int(number) for number in re.findall(r"\bq(\d+)e\d+", _told(request))]

    def _notices(self) -> set[str]:
        return {
            text
            for reply in self.story.adapter.replies
            if not reply.is_announced or not re.search(r"\ba\d", " ".join(reply.seen))
            for text in reply.seen
            if len(text) > 20 and "Lost property" not in text and not self._is_greeting(text)
        }

    def _is_greeting(self, text: str) -> bool:
        return any(row["kind"] == "reply" and row["text"] == text for row in self.rows.values())

    def _may_be(self, conversation: Row, request: ModelRequest, spoken: list[Said]) -> bool:
        persona = self.story.library.get(conversation["persona_id"])
        assert persona is not None
        if not request.messages[0].text.startswith(f"You are {persona.name}."):
            return False
        if self.sessions[conversation["session_id"]] != spoken[0].session:
            return False
        known = {said.number for said in self.story.said if said.conversation == conversation["id"]}
        answered = {
            row["id"]
            for reply_id, burst in self.bursts.items()
            if self.rows[reply_id]["conversation_id"] == conversation["id"]
            for row in burst
        }
        unknown = [said for said in spoken if said.number not in known and not self._is_in_burst(said, spoken[-1])]
        return all(self.row_of(said)["id"] in answered for said in unknown)

    def _is_in_burst(self, said: Said, last: Said) -> bool:
        """Whether a message may belong to the burst that a request answers."""
        rows = [
            row for row in self.rows.values() if row["addressed"] and self.sessions[row["session_id"]] == last.session
        ]
        first = last_id = self.row_of(last)["id"]
        for row in reversed([row for row in rows if row["id"] <= last_id]):
            if row["author_key"] != last.author.key:
                break
            first = row["id"]
        return said.author == last.author and first <= self.row_of(said)["id"] <= last_id

    # --- What is remembered

    async def histories(self) -> None:
        """A last question in every session is told the whole story of its conversation, in order, and no more."""
        story = self.story
        for session in story.undelivered:
            probe = story.probe(session)
            await story.settle()
            request = next(r for r in reversed(story.model.requests) if probe.text in _told(r))
            assert [*_lines(request)] == self._expected(probe)

    def _expected(self, probe: Said) -> list[str]:
        (session,) = self.story.rows("SELECT * FROM chat_session WHERE key = ?", probe.session)
        rows = self.story.rows("SELECT * FROM message WHERE session_id = ?", session["id"])
        current = session["conversation_id"]
        known = {said.inbound.message_id for said in self.story.said if said.conversation == current}
        replies = [row for row in rows if row["kind"] == "reply"]
        mine = {row["id"] for row in rows if row["kind"] in ("reply", "notice") and row["conversation_id"] == current}
        answered = [row["id"] for row in rows if row["addressed"] and row["answered_by"] in mine]
        asked = max(row["id"] for row in rows if row["text"] == probe.text)
        told: list[tuple[int, int, str]] = []
        for row in rows:
            if row["kind"] != "said" or row["deleted_at"] or row["standing"] != "live":
                continue
            if row["platform_message_id"] in known or row["id"] in answered:
                told.append((row["position"], 0, row["text"]))
        for row in replies:
            is_readable = row["standing"] == "live" and row["state"] != "failed" and row["text"].strip()
            if is_readable and row["conversation_id"] == current and row["position"] < asked:
                told.append((row["position"], row["id"], row["text"].strip()))
        return [text for _, _, text in sorted(told)]


def _told(request: ModelRequest) -> str:
    return "\n".join(message.text for message in request.messages if message.role is not Role.SYSTEM)


def _lines(request: ModelRequest) -> Iterator[str]:
    """What was said and answered, without speakers and tool rounds."""
    for message in request.messages:
        if message.role is Role.USER or (message.role is Role.ASSISTANT and not message.tool_calls):
            text: Any = re.search(r"(?:q\d+e\d+)$", message.text)
            yield text.group() if text else message.text.strip()

"""A model for the memory benchmark: replies from a script, and ideal summaries that keep every code they are shown.

It hides how well a real model sums up: what is measured is what the bot around it loses, and what it costs.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator

from bench.bill import CODE, Bill
from bot.llm.model import Completion, Finish, ModelEvent, ModelRequest, Role, TextDelta

GIST_TOKENS, MEMORY_TOKENS, CODE_TOKENS = 260, 800, 16
"""How long the gist is, up to where every summary fills the memory with events, and what a note of a code takes."""
FILLER = "They talked about everyday things, about people they both know, and said that they would go on another day. "
EVENT = "Ann told a long story about somebody she knows, what that person had found and lost, and what she made of it"
LONGEST_MERGED = 290

_LINE = re.compile(r"^(\d+) · (.*)$", re.MULTILINE)
_KEY = re.compile(r"\(([^()\s]+:[^()\s]+)\)")
_RANGE = re.compile(r"^1 to (\d+); ", re.MULTILINE)
_NOTE = re.compile(r"^(\d+)\. (?:\[[^\]]*\] |\d{4}-\d\d-\d\d: )?(.*)$", re.MULTILINE)


class BenchModel:
    """Answers like every model; the bill reads all that is asked."""

    def __init__(self, bill: Bill) -> None:
        self._bill = bill

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """The reply of this turn, or a summary where one is asked for."""
        asked = request.messages[-1].text
        if "<notes>" in asked and request.json_schema and "merged" in request.json_schema["properties"]:
            text = merge(asked)
        elif "gist" in asked or request.json_schema:
            text = sum_up(request, self._bill)
        else:
            self._bill.ask(request)
            text = self._bill.talk.answered[self._bill.turn]
            yield TextDelta(text=text)
            yield Completion(text=text, finish=Finish.STOP)
            return
        self._bill.sum(request, text)
        yield Completion(text=text, finish=Finish.STOP)

    async def close(self) -> None:
        """Nothing to release."""


def sum_up(request: ModelRequest, bill: Bill) -> str:
    """Every code that is in the citable lines and not in the notes, and a new gist."""
    asked = request.messages[-1].text
    behind = "<lines>" in asked
    notes = request.messages[0].text if behind else asked.partition("<transcript>")[0]
    known = set(CODE.findall(notes))
    facts = [
        {"who": who, "category": "other", "text": f"The code for box {box} is {code}.", "lines": [number]}
        for number, who, said in (_behind(request) if behind else _lines(asked))
        for box, code in CODE.findall(said)
        if (box, code) not in known
    ]
    held = max(GIST_TOKENS, bill.asked[-1].memory) + CODE_TOKENS * len(facts)
    events = [{"day": None, "text": text, "lines": [1]} for text in _events(MEMORY_TOKENS - held, bill)]
    return json.dumps({"facts": facts, "events": events, "gist": _filled(FILLER, GIST_TOKENS, bill)})


def _lines(asked: str) -> Iterator[tuple[int, str, str]]:
    """Number, speaker and words of each line of a transcript."""
    for number, said in _LINE.findall(asked.partition("<transcript>")[2]):
        who = _KEY.search(said)
        yield int(number), who[1] if who else "", said


def _behind(request: ModelRequest) -> Iterator[tuple[int, str, str]]:
    """The same, where the messages stand above and the lines only tell which ones, and who is who."""
    lines = request.messages[-1].text.partition("<lines>")[2]
    found, who = _RANGE.search(lines), _KEY.search(lines)
    assert found is not None
    assert who is not None
    said = [message for message in request.messages if message.role is not Role.SYSTEM]
    for number, message in enumerate(said[: int(found[1])], 1):
        yield number, who[1] if message.role is Role.USER else "", message.text


def _events(room: int, bill: Bill) -> list[str]:
    """Stories that fill a room; each is told in one summary only, so that none is taken for a known one."""
    turn = bill.turn
    most = room // bill.count(f"- 2026-03-01: {EVENT} ({turn}-1)\n")
    return [f"{EVENT} ({turn}-{number})" for number in range(1, most + 1)]


def _filled(text: str, tokens: int, bill: Bill) -> str:
    return bill.encoding.decode(bill.encoding.encode_ordinary(text * 40)[:tokens])


def merge(asked: str) -> str:
    """Codes side by side in as few notes as have room for them, and of all stories one."""
    notes = [(int(number), CODE.findall(text)) for number, text in _NOTE.findall(asked)]
    merged = []
    stories = [number for number, codes in notes if not codes]
    if len(stories) > 1:
        merged.append({"items": stories, "text": "Ann told several long stories"})
    held: list[int] = []
    text = ""
    for number, codes in (note for note in notes if note[1]):
        more = ", ".join(f"box {box} is {code}" for box, code in codes)
        if len(text) + len(more) > LONGEST_MERGED:
            merged.append({"items": held, "text": text})
            held, text = [], ""
        held, text = [*held, number], f"{text}, {more}" if text else f"Ann gave codes: {more}"
    if held:
        merged.append({"items": held, "text": text})
    return json.dumps({"merged": [each for each in merged if len(each["items"]) > 1]})

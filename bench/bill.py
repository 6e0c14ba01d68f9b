"""Reads every request of the memory benchmark as a provider would bill it, and checks what the persona still knows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile

import tiktoken

from bench.chatter import Talk
from bot.llm.model import ModelMessage, ModelRequest, Role

OUTPUT_PRICE = 4.0
"""An output token in uncached input tokens; only summaries are counted, replies are the same for every system."""
CODE = re.compile(r"box (\d+) is ([0-9A-F]{6})")


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A request for an answer: its tokens, those of them that the previous request began with, what is in it."""

    turn: int
    tokens: int
    cached: int
    known: int
    planted: int
    verbatim: int
    """Tokens of the newest unbroken run of original messages."""
    memory: int
    """Tokens of what the system message holds beyond that of the first request."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Summed:
    """A request for a summary, or for a shorter memory."""

    turn: int
    tokens: int
    cached: int
    output: int


@dataclass(kw_only=True)
class Bill:
    """The requests of one run in order."""

    encoding: tiktoken.Encoding
    talk: Talk
    turn: int = -1
    asked: list[Asked] = field(default_factory=list)
    summed: list[Summed] = field(default_factory=list)
    _before: list[int] = field(default_factory=list)
    """The previous request for an answer: the provider has it in its cache."""

    _without_memory: int = 0

    def __post_init__(self) -> None:
        self._tokens = lru_cache(4_096)(self.encoding.encode_ordinary)

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return len(self._tokens(text))

    def expire(self) -> None:
        """Let the provider forget what it has cached."""
        self._before = []

    def ask(self, request: ModelRequest) -> None:
        """Note a request for an answer."""
        tokens = self._rendered(request)
        self._without_memory = self._without_memory or self.count(request.messages[0].text)
        planted = [each for each in self.talk.planted if each.turn <= self.turn]
        seen = {found for message in request.messages for found in CODE.findall(message.text)}
        self.asked.append(
            Asked(
                turn=self.turn,
                tokens=len(tokens),
                cached=common_prefix(self._before, tokens),
                known=sum((str(each.box), each.code) in seen for each in planted),
                planted=len(planted),
                verbatim=self._verbatim(request.messages),
                memory=self.count(request.messages[0].text) - self._without_memory,
            )
        )
        self._before = tokens

    def sum(self, request: ModelRequest, reply: str) -> None:
        """Note a request for a summary and what was answered."""
        tokens = self._rendered(request)
        cached = common_prefix(self._before, tokens)
        self.summed.append(
            Summed(turn=self.turn, tokens=len(tokens), cached=cached, output=len(self.encoding.encode_ordinary(reply)))
        )

    def cost(self, cached_price: float) -> float:
        """Millions of uncached input tokens that all of it costs."""
        calls: list[Asked | Summed] = [*self.asked, *self.summed]
        inputs = sum(call.tokens - call.cached + cached_price * call.cached for call in calls)
        return (inputs + OUTPUT_PRICE * sum(call.output for call in self.summed)) / 1e6

    def _rendered(self, request: ModelRequest) -> list[int]:
        """In a neutral way: role, text, end."""
        tokens: list[int] = []
        for message in request.messages:
            tokens += self._tokens(f"<|{message.role}|>\n{message.text}<|end|>\n")
        return tokens

    def _verbatim(self, messages: Sequence[ModelMessage]) -> int:
        talk, turn = self.talk, self.turn
        said = [talk.asked[turn]]
        for before in range(turn - 1, -1, -1):
            said += (talk.answered[before], talk.asked[before])
        history = [message.text for message in messages if message.role is not Role.SYSTEM]
        pairs = zip(said, reversed(history), strict=False)
        return sum(self.count(text) for text, _ in takewhile(lambda pair: pair[1].startswith(pair[0]), pairs))


def common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two requests begin with in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low

"""What the memory benchmark's peers have in common: the talk, stub models that are billed, and the figures of a run.

Runs in the environment of a library, with this checkout on its path; a file beside it tells how the library is asked.
"""

import asyncio
import inspect
import json
import statistics
import sys
import time
from pathlib import Path

from bench.bill import CODE, Bill
from bench.chatter import Planted, Talk, load_encoding
from bot.llm.model import ModelMessage, ModelRequest, Role

WINDOW, TRIGGER_RATIO, KEEP_RATIO = 16_384, 0.7, 0.3
"""Where a library can be told: at which fill it sums up, and how much of the window it keeps then."""
SUMMARY_TOKENS = 800
SETTLED_AFTER = 100
PRICES = (0.1, 0.25, 0.5)
FILLER = "They talked about everyday things and said that they would go on another day. "
ROLES = {"ai": Role.ASSISTANT, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}


class Stage:
    """The talk so far, its two bills (with a cache that never expires, and one that does between sessions), and the CPU
    time of the stub models.
    """

    def __init__(self, talk: Talk, encoding) -> None:
        self.talk, self.encoding = talk, encoding
        self.warm, self.cold = Bill(encoding=encoding, talk=talk), Bill(encoding=encoding, talk=talk)
        self.turn = -1
        self.stub_s = 0.0

    @property
    def trigger(self) -> int:
        """Tokens of messages at which a library sums up."""
        return int(WINDOW * TRIGGER_RATIO) - self.count(self.talk.persona)

    @property
    def keep(self) -> int:
        """Tokens of messages that stay then."""
        return int(WINDOW * KEEP_RATIO)

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self.warm.count(text)

    def answer(self, messages) -> str:
        """The reply of this turn to (role, text) pairs."""
        began = time.process_time()
        request = _request(messages)
        self.warm.ask(request)
        self.cold.ask(request)
        self.stub_s += time.process_time() - began
        return self.talk.answered[self.turn]

    def sum_up(self, messages) -> str:
        """An ideal summary: every code in the messages, padded to its exact length."""
        began = time.process_time()
        request = _request(messages)
        codes = dict(found for message in request.messages for found in CODE.findall(message.text))
        told = " ".join(f"The code for box {box} is {code}." for box, code in codes.items())
        text = self.encoding.decode(self.encoding.encode_ordinary(f"{told} {FILLER * 80}")[:SUMMARY_TOKENS])
        self.warm.sum(request, text)
        self.cold.sum(request, text)
        self.stub_s += time.process_time() - began
        return text

    def begin(self, turn: int, session_turns: int) -> None:
        """The next turn; between sessions the cold cache expires."""
        self.turn = self.warm.turn = self.cold.turn = turn
        self.stub_s = 0.0
        if turn % session_turns == 0:
            self.cold.expire()


def _request(messages) -> ModelRequest:
    said = tuple(ModelMessage(role=ROLES.get(role, Role.USER), text=text) for role, text in messages)
    return ModelRequest(model="stub", messages=said, max_output_tokens=1_000)


async def _play(make_say, talk: Talk, encoding, session_turns: int) -> dict:
    stage, cpu = Stage(talk, encoding), []
    say = make_say(stage)
    for turn, text in enumerate(talk.asked):
        stage.begin(turn, session_turns)
        began = time.process_time()
        done = say(text)
        if inspect.isawaitable(done):
            await done
        cpu.append((time.process_time() - began - stage.stub_s) * 1e3)
    asked, cpu = stage.warm.asked, sorted(cpu)
    return {
        "blocked_turns": len({call.turn for call in stage.warm.summed}),
        "facts_mean": round(statistics.fmean(one.known / one.planted for one in asked if one.planted), 2),
        "facts_end": round(asked[-1].known / max(1, asked[-1].planted), 2),
        "verbatim_min": min((one.verbatim for one in asked[SETTLED_AFTER:]), default=0),
        "fill_max": round(max(one.tokens for one in asked) / WINDOW, 3),
        "cost_warm": {str(price): round(stage.warm.cost(price), 3) for price in PRICES},
        "cost_cold": {str(price): round(stage.cold.cost(price), 3) for price in PRICES},
        "cpu_ms_p50": round(statistics.median(cpu), 2),
        "cpu_ms_p99": round(cpu[int(len(cpu) * 0.99) - 1], 2),
    }


def run(ways) -> None:
    """Have the talk of the file that the command line names, once for each way to use the library; each way is made
    from a stage, and is called with what is said. A line of JSON for each.
    """
    told = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    planted = tuple(Planted(**each) for each in told["planted"])
    talk = Talk(persona=told["persona"], asked=tuple(told["asked"]), answered=tuple(told["answered"]), planted=planted)
    encoding = load_encoding()
    for name, make_say in ways.items():
        figures = asyncio.run(_play(make_say, talk, encoding, told["session_turns"]))
        print(json.dumps({"name": name, **figures}), flush=True)

"""The table of model servers is data, readable, and told truly in docs/design/model-servers.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.llm.lessons import guess_for, quirk_for
from bot.llm.model import ModelRequest
from bot.llm.quirks import Quirk
from bot.llm.refusals import read_refusal
from bot.llm.wire import chat_body
from tests.emulators.openai.harness import CALL, EVERYTHING, PICTURE, assistant, system, tool, user
from tests.emulators.openai.profiles import PROFILES, Profile, hosted, local
from tests.emulators.openai.profiles.gate import find, spoken

ROOT = Path(__file__).parents[1]
NOTE = ROOT / "docs/design/model-servers.md"
LONGEST_PROFILE = 40  # lines

CUT_SHORT = ModelRequest(
    model="test/scripted",
    messages=(
        system("You are Luna."),
        assistant("Hello."),
        user("Look", None, PICTURE, PICTURE),
        assistant("", CALL),
        tool("noon", "c1"),
        user("Well?"),
        system("Be brief."),
    ),
    max_output_tokens=100,
)


SIGNED = replace(CALL, extra='{"signature": "c2ln"}')
WHOLE = replace(
    EVERYTHING,
    messages=tuple(replace(one, tool_calls=(SIGNED,)) if one.tool_calls else one for one in EVERYTHING.messages),
)
REQUESTS: tuple[tuple[ModelRequest, frozenset[Quirk]], ...] = (
    (WHOLE, frozenset()),
    (WHOLE, frozenset((Quirk.NO_JSON_SCHEMA,))),
    (CUT_SHORT, frozenset()),
)
"""Requests of ours in which there is everything that we may ever send."""


def remedies(profile: Profile, trait: str) -> Iterator[str]:
    """What the client learns from a refusal, one quirk after the other until it is not refused any more."""
    for request, quirks in REQUESTS:
        learned: set[Quirk] = set()
        while True:
            known = quirks | learned
            body = chat_body(request, "m", known, output_limit=9, replay_field="reasoning_content")
            path = find(trait, profile, body)
            if path is None:
                break
            refused = spoken(profile, profile.refuses[trait], path=path)
            refusal = read_refusal(refused.status, refused.body)
            quirk = quirk_for(refusal, body) or guess_for(refusal, body)
            assert quirk is not None, f"{profile.name} refuses {trait}, and nothing is learned from that"
            learned.add(quirk)
            yield f"`{quirk}`"
        if learned:
            return


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_the_design_note_tells_what_each_server_refuses_and_what_is_learned_from_it(profile: Profile) -> None:
    told = re.findall(
        rf"^\| {re.escape(profile.name)} \| ([^|]+) \| ([^|]+) \|$", NOTE.read_text(encoding="utf-8"), re.M
    )
    assert told == [(trait, ", ".join(remedies(profile, trait)) or "never sent") for trait in profile.refuses]


def test_a_profile_is_data_that_fits_a_screen() -> None:
    for module in (hosted, local):
        for node in ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign):
                assert (node.end_lineno or 0) - node.lineno < LONGEST_PROFILE, ast.unparse(node.targets[0])


def test_the_client_branches_on_no_vendor() -> None:
    vendors = re.compile("azure|openrouter|deepseek|gemini|google|ollama|lm.?studio|vllm|llama|mistral", re.IGNORECASE)
    for name in ("client", "connection", "wire", "answer", "transport"):
        tree = ast.parse((ROOT / f"bot/llm/{name}.py").read_text(encoding="utf-8"))
        texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
                assert vendors.search(node.value) is None, f"{name}: {node.value}"

"""What the operator hears when a server counts far less than it was sent."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from bot.llm.model import Usage
from bot.testing import Reply, ScriptedModel
from tests.conftest import MakeApp
from tests.talking import open_chat


@pytest.mark.parametrize(
    ("words", "counted", "is_told"), [(3000, 500, True), (3000, 4000, False), (3000, None, False), (10, 5, False)]
)
async def test_L20_a_prompt_that_the_server_cut_is_told_with_its_counts_and_a_remedy_and_teaches_nothing(
    make_app: MakeApp, words: int, counted: int | None, is_told: bool
) -> None:
    usage = None if counted is None else Usage(input_tokens=counted, output_tokens=1)
    chat = await open_chat(make_app, model=ScriptedModel([Reply(text="ok", usage=usage)]), persona="none")
    factor = chat.app.models.tokens.factor("test/scripted")
    with capture_logs() as logs:
        assert await chat.say("word " * words) == ["ok"]
    told = [line for line in logs if line["event"] == "model.prompt_truncated"]
    assert len(told) == is_told
    if is_told:
        assert (told[0]["log_level"], told[0]["model"], told[0]["counted"]) == ("warning", "test/scripted", counted)
        assert told[0]["estimated"] > words
        assert "CONTEXT_WINDOW" in told[0]["remedy"]
        assert chat.app.models.tokens.factor("test/scripted") == factor

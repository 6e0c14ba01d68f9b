"""The SDK is imported without what we never use of it, and works."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import bot.llm.connection
import openai
from bot.llm.sdk import UNUSED
from openai.types.chat import ChatCompletionChunk
unused = {name: module for name, module in sys.modules.items() if name.startswith(UNUSED)}
loaded = [name for name, module in unused.items() if "__file__" in vars(module)]
assert loaded == [], loaded
assert not any(type(finder).__module__ == "bot.llm.sdk" for finder in sys.meta_path)
ChatCompletionChunk.model_validate(
    {"id": "1", "choices": [], "created": 1, "model": "m", "object": "chat.completion.chunk"}
)
print("whole")
"""


def test_the_sdk_is_imported_without_the_types_of_another_api_and_nothing_stays_behind() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "whole", done.stderr

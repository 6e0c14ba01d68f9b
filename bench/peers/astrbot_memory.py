"""AstrBot: the context manager of its agent, with its compression by a model."""

import logging
import os
import sys

os.environ["ASTRBOT_ROOT"] = os.getcwd()
sys.path.insert(0, os.getcwd())

from astrbot.core.agent.context.config import ContextConfig
from astrbot.core.agent.context.manager import ContextManager
from astrbot.core.agent.message import Message

from bench.peers.stage import WINDOW, Stage, run

logging.disable(logging.CRITICAL)


class Answer:
    """What its providers return."""

    def __init__(self, text: str) -> None:
        self.completion_text = text


class Provider:
    """A model that sums up."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.provider_config = {"modalities": ["text"]}

    def get_model(self) -> str:
        """Its name."""
        return "stub"

    async def text_chat(self, contexts=None, **_kwargs) -> Answer:
        """Sum up."""
        return Answer(self._stage.sum_up(map(said, contexts)))


def said(message) -> tuple[str, str]:
    """Role and text of one of its messages."""
    role, content = (
        (message["role"], message["content"]) if isinstance(message, dict) else (message.role, message.content)
    )
    if isinstance(content, str):
        return role, content
    parts = (part.get("text") if isinstance(part, dict) else getattr(part, "text", "") for part in content or ())
    return role, "".join(filter(None, parts))


def compressing(**settings):
    """A way to use it."""

    def make(stage: Stage):
        config = ContextConfig(max_context_tokens=WINDOW, llm_compress_provider=Provider(stage), **settings)
        manager = ContextManager(config)
        history = [Message(role="system", content=stage.talk.persona)]

        async def say(text: str) -> None:
            history[:] = await manager.process([*history, Message(role="user", content=text)])
            history.append(Message(role="assistant", content=stage.answer(map(said, history))))

        return say

    return make


run(
    {
        "AstrBot llm_compress, defaults": compressing(),
        "AstrBot llm_compress, 30 % kept": compressing(llm_compress_keep_recent_ratio=0.3),
    }
)

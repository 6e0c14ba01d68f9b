"""Fakes for tests, ours and those of people who extend Familiar: a scripted model, a recording adapter, made values.

Everything here keeps the real contracts of `bot.chat` and `bot.llm.model`.
"""

from bot.testing.adapter import FakeAdapter, FakeReply
from bot.testing.made import NOW, make_author, make_channel, make_inbound, make_row, make_turn
from bot.testing.model import Reply, Script, ScriptedModel

__all__ = [
    "NOW",
    "FakeAdapter",
    "FakeReply",
    "Reply",
    "Script",
    "ScriptedModel",
    "make_author",
    "make_channel",
    "make_inbound",
    "make_row",
    "make_turn",
]

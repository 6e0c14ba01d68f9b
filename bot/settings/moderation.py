"""What is refused, by whom, and where. Knows nothing of who asks."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import Field

from bot.settings.kinds import PLACE, Group, LocalPath, NameList, Seconds


class Moderation(Group):
    """Whether what is said and answered is judged first."""

    input: bool = Field(False, description="judge what people say before a model reads it", json_schema_extra=PLACE)
    output: bool = Field(
        False, description="judge answers before they are shown; they do not grow then", json_schema_extra=PLACE
    )
    model: str = Field("", description="provider/model that judges, such as openai/omni-moderation-latest")
    words: NameList = Field((), description="words that are refused, too")
    words_file: LocalPath | None = Field(None, description="file with more of them, one a line; # begins a remark")
    timeout: Seconds = Field(timedelta(seconds=5), description="seconds that a verdict may take")
    on_failure: Literal["open", "closed"] = Field(
        "open", description="where there is no verdict: open = let it pass, closed = refuse it"
    )

    @property
    def is_possible(self) -> bool:
        """Whether there is anything to judge by."""
        return bool(self.model or self.words or self.words_file)

"""The exception tree, by who must hear it. An exception stores its facts and writes its sentence with the remedy."""

from __future__ import annotations


class FamiliarError(Exception):
    """Root of everything that we raise on purpose."""


class OperatorError(FamiliarError):
    """The person who runs the bot must act; shown at start, in the log and by the doctor."""


class UserError(FamiliarError):
    """The person who typed something must hear it. `message_id` names a text of the catalogue, `facts` fill it."""

    def __init__(self, message_id: str, **facts: str | int) -> None:
        self.message_id = message_id
        self.facts = facts
        super().__init__(f"{message_id} {facts}" if facts else message_id)


class AdapterError(OperatorError):
    """A platform refused us for good."""

    def __init__(self, platform: str, problem: str, remedy: str) -> None:
        self.platform, self.problem, self.remedy = platform, problem, remedy
        super().__init__(f"{platform}: {problem} {remedy}")

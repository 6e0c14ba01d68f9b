"""One message of an answer, and the fields that Discord takes for it; the same on every way out. Sends nothing."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import discord
from discord.ui import Button as UiButton
from discord.ui import View

from bot.chat import Button, OutFile

REST_FILE = "answer.md"
"""The whole answer, where it needs more messages than are allowed."""
PICTURE_FILE = "picture.jpg"
"""A picture, which Discord shows below the text."""

BUTTON_PREFIX = "familiar:"
"""Begins the custom id of our buttons; the command follows. Discord allows 100 characters."""
FORM_PREFIX = "familiar-form:"
"""The same of those that may open a form."""
BUTTON_LABEL_LENGTH = 80
BUTTONS_PER_ROW = 5
ROWS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One Discord message of an answer; only the last one has buttons, its file and picture, and the whole answer as a
    file if it is cut.
    """

    text: str
    buttons: tuple[tuple[Button, ...], ...] = ()
    whole: str = ""
    file: OutFile | None = None
    picture: bytes = b""
    private: bool = False
    mention: int = 0
    """Whom it calls; 0 = nobody."""
    instead: tuple[Part, ...] = ()
    """The same and what is in the file alone, as messages for where no files are allowed (T15)."""


def posted(part: Part) -> dict[str, Any]:
    """Arguments that make a new message of a part."""
    fields: dict[str, Any] = {"content": part.text or None}
    if part.mention:
        fields["allowed_mentions"] = discord.AllowedMentions(
            everyone=False, roles=False, users=[discord.Object(part.mention)], replied_user=False
        )
    if part.buttons:
        fields["view"] = _view(part.buttons)
    if files := _files(part):
        fields["files"] = files
    return fields


def edited(part: Part) -> dict[str, Any]:
    """Arguments that make an existing message show a part and nothing else."""
    return {
        "content": part.text,
        "view": _view(part.buttons) if part.buttons else None,
        "attachments": _files(part),
    }


def _files(part: Part) -> list[discord.File]:
    rest = OutFile(name=REST_FILE, text=part.whole) if part.whole else None
    picture = OutFile(name=PICTURE_FILE, text="", data=part.picture) if part.picture else None
    return [discord.File(io.BytesIO(file.content), file.name) for file in (rest, part.file, picture) if file]


def _view(rows: tuple[tuple[Button, ...], ...]) -> View:
    """The buttons, cut to what Discord shows. The view is stopped so that the library does not keep it for ever."""
    view = View(timeout=None)
    for number, row in enumerate(rows[:ROWS]):
        for button in row[:BUTTONS_PER_ROW]:
            custom_id = f"{FORM_PREFIX if button.opens_form else BUTTON_PREFIX}{button.command}"
            view.add_item(UiButton(label=button.label[:BUTTON_LABEL_LENGTH], custom_id=custom_id, row=number))
    view.stop()
    return view

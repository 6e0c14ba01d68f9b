"""What of an inbound becomes text in the history: its words, and its attachments in the input convention's words.

Pure; the convention itself is told to the model in `bot.prompt.sections`.
"""

from __future__ import annotations

from bot.chat import Attachment, AttachmentKind, Inbound

NO_WORDS = "[no words]"
"""What somebody says who only calls the bot."""
FILE_END = "[end of file]"
"""What stands behind the text of a file, and nowhere in it."""


def heard_text(inbound: Inbound, *, overheard_chars: int | None = None, files: str | None = None) -> str:
    """The text to keep of a message; overheard ones are cut at `overheard_chars` and lose their files' content.

    An edit brings no content of files: `files` is what was kept of them, and stands after the new words.
    """
    described = [_described(attachment, overheard_chars is None) for attachment in inbound.attachments]
    pieces = [inbound.text, *(described if files is None else [files.removeprefix("\n")])]
    text = "\n".join(piece for piece in pieces if piece.strip())
    if overheard_chars is None:
        return text or NO_WORDS
    return text if len(text) <= overheard_chars else text[:overheard_chars] + "…"


def _described(attachment: Attachment, in_full: bool) -> str:
    note = f", {attachment.note}" if attachment.note else ""
    match attachment.kind:
        case AttachmentKind.TEXT if in_full:
            text = attachment.text.replace(FILE_END, "(end of file)")
            return f"[file {attachment.name}{note}]\n{text}\n{FILE_END}"
        case AttachmentKind.IMAGE:
            return f"[image {attachment.name}{note}]"
        case AttachmentKind.AUDIO:
            return f"[{attachment.note}]"
        case _:
            return f"[{attachment.name}{note}]" if attachment.name else f"[{attachment.note}]"

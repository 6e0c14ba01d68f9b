"""What of an inbound becomes text in the history: its words, and its attachments in the input convention's words.

Pure; the convention itself is told to the model in `bot.prompt.sections`.
"""

from __future__ import annotations

from bot.chat import Attachment, AttachmentKind, Inbound


def heard_text(inbound: Inbound, *, overheard_chars: int | None = None) -> str:
    """The text to keep of a message; overheard ones are cut at `overheard_chars` and lose their files' content."""
    pieces = [inbound.text, *(_described(attachment, overheard_chars is None) for attachment in inbound.attachments)]
    text = "\n".join(piece for piece in pieces if piece.strip())
    if overheard_chars is not None and len(text) > overheard_chars:
        return text[:overheard_chars] + "…"
    return text


def _described(attachment: Attachment, in_full: bool) -> str:
    note = f", {attachment.note}" if attachment.note else ""
    match attachment.kind:
        case AttachmentKind.TEXT if in_full:
            return f"[file {attachment.name}{note}]\n{attachment.text}\n[end of file]"
        case AttachmentKind.IMAGE:
            return f"[image {attachment.name}{note}]"
        case _:
            return f"[{attachment.name}{note}]" if attachment.name else f"[{attachment.note}]"

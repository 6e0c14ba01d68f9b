"""What a message carries besides text, in words: a bracketed line for a prompt, a note for a file. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from telegram import Audio, Document, ExternalReplyInfo, LivePhoto, Message, PhotoSize, Video, VideoNote, Voice

from adapters.incoming import inert, size_in_words
from bot.chat import Attachment, AttachmentKind

MAX_TITLE = 300
"""Characters of a question, title or description taken into a note."""


Carrier = Message | ExternalReplyInfo
"""What may carry such things: a message, or what is told of one in another chat."""


def note_of(message: Carrier) -> str:
    """A sticker, poll, location and the like as a bracketed line; "" for what is no such thing."""
    if message.sticker:
        return _note("sticker", message.sticker.emoji, message.sticker.set_name and f"from {message.sticker.set_name}")
    if message.poll:
        options = " / ".join(_line(option.text) for option in message.poll.options)
        return _note("poll:", _line(message.poll.question), "–", options)
    if message.venue:
        return _note("place:", _line(message.venue.title) + ",", _line(message.venue.address))
    if message.location:
        return _note("location:", f"{message.location.latitude:.5f}, {message.location.longitude:.5f}")
    if message.contact:
        name = " ".join(part for part in (message.contact.first_name, message.contact.last_name) if part)
        return _note("contact:", inert(name) + ",", inert(message.contact.phone_number))
    if message.dice:
        return _note("dice", message.dice.emoji, "shows", str(message.dice.value))
    if message.game:
        return _note("game:", _line(message.game.title))
    if message.checklist:
        tasks = " / ".join(_line(task.text) for task in message.checklist.tasks)
        return _note("checklist:", _line(message.checklist.title), "–", tasks)
    if message.invoice:
        return _note("invoice:", _line(message.invoice.title))
    bare = {"story": message.story, "paid media": message.paid_media, "giveaway": message.giveaway}
    return next((_note(what) for what, present in bare.items() if present), "")


def photo_sizes(message: Carrier) -> Sequence[PhotoSize]:
    """A photo in every size there is of it, smallest first; of a live photo its still."""
    still = message.live_photo.photo if message.live_photo else None
    return message.photo or still or ()


def unfetched(message: Carrier) -> Attachment | None:
    """The file of a message before, or instead of, being fetched."""
    if sizes := photo_sizes(message):
        size = sizes[-1]
        return _other("photo.jpg", "image/jpeg", size.file_size, f"photo, {size.width}×{size.height}")
    if message.live_photo:
        return _recording(message.live_photo, "live photo")
    if message.animation:
        return _other(message.animation.file_name or "animation", "video/mp4", message.animation.file_size, "animation")
    if message.voice:
        return _recording(message.voice, "voice message")
    if message.video_note:
        return _recording(message.video_note, "video message")
    if message.video:
        return _recording(message.video, "video")
    if message.audio:
        return _recording(message.audio, "audio")
    return document_note(message.document, "file") if message.document else None


def document_note(document: Document, what: str) -> Attachment:
    """A document that is not read, for the reason that `what` says."""
    name = inert(document.file_name or "") or "file"
    size = document.file_size or 0
    return _other(name, document.mime_type, size, f"{what} {name}, {size_in_words(size)}")


def seconds_of(file: Voice | VideoNote | Video | Audio | LivePhoto) -> float:
    """How long a recording is."""
    # The library gives a number or, when PTB_TIMEDELTA is set, a timedelta (T22).
    return file.duration.total_seconds() if isinstance(file.duration, timedelta) else file.duration


def _recording(file: Voice | VideoNote | Video | Audio | LivePhoto, what: str) -> Attachment:
    length = seconds_of(file)
    name = inert(getattr(file, "file_name", None) or "") or what
    media_type = getattr(file, "mime_type", None)
    title = inert(getattr(file, "title", None) or "")
    return _other(name, media_type, file.file_size, f"{what}{' ' + title if title else ''}, {length:.0f} s")


def _other(name: str, media_type: str | None, size: int | None, note: str) -> Attachment:
    return Attachment(
        kind=AttachmentKind.OTHER,
        name=name,
        media_type=media_type or "application/octet-stream",
        size=size or 0,
        note=note,
    )


def _note(*words: str | None) -> str:
    return f"[{' '.join(word for word in words if word)}]"


def _line(text: str) -> str:
    return " ".join(text.split())[:MAX_TITLE]

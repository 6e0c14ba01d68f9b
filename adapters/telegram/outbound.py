"""One reply's way to one chat: plain text with entities, never a parse mode, so that no text can be refused for its
mark-up (T01-T04). Knows no pacing: `adapters.pacing` decides when to show what.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import structlog
from telegram import (
    ForceReply,
    InlineKeyboardMarkup,
    InputMediaPhoto,
    LinkPreviewOptions,
    Message,
    MessageEntity,
    ReplyParameters,
)
from telegram.constants import ChatAction
from telegram.error import BadRequest, TelegramError

from adapters.markup import FormattedText, split_entities, to_entities, under_name, without_mentions
from adapters.pacing import Refused, Uncertain
from adapters.telegram.commands import to_keyboard
from adapters.telegram.faults import (
    is_about_drafts,
    is_picture,
    is_reply_gone,
    is_thread_gone,
    is_unchanged,
    is_unparsable,
    translated,
)
from adapters.telegram.inbound import Pressed
from adapters.telegram.mentions import calling
from adapters.telegram.outbox import Outbox
from bot.chat import ChannelRef, Outbound

T = TypeVar("T")
log = structlog.get_logger(__name__)

MESSAGE_LENGTH = 4096
"""UTF-16 units of a message's text after entities parsing (Bot API, sendMessage; T05)."""
CAPTION_LENGTH = 1024
"""The same of the text under a picture (Bot API, sendPhoto)."""
REST_FILE = "answer.md"
"""The whole answer, where it needs more messages than are allowed."""
SUPERGROUP = "-100"
"""What the id of a supergroup begins with (Bot API, dialog ids)."""
NO_PREVIEW = LinkPreviewOptions(is_disabled=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One Telegram message of an answer: text, alone or under a picture; or a file, which is the whole answer."""

    text: str = ""
    entities: tuple[MessageEntity, ...] = ()
    keyboard: InlineKeyboardMarkup | ForceReply | None = None
    picture: bytes = b""
    private: bool = False
    """Whether it concerns the asker alone, so that it takes the place of nothing that others may need."""
    file: bytes = b""
    file_name: str = REST_FILE
    is_voice: bool = False
    """Whether the file is speech, which people play where they read."""
    instead: tuple[Part, ...] = ()
    """What of the answer is in the file alone, as messages for where no files are allowed (T15)."""

    def plain(self) -> Part:
        """The same without entities; names in what was code still mention nobody."""
        text = without_mentions(FormattedText(text=self.text), keeps_length=True).text
        return replace(self, text=text, entities=())


@dataclass(frozen=True, kw_only=True, slots=True)
class _Attempt:
    """What is sent, and what it is attached to; whatever the server refuses of it is left out (T08, T21)."""

    part: Part
    thread: int | None
    reply_to: int | None

    def without(self, refusal: BadRequest) -> _Attempt | None:
        """The next attempt after a refusal; `None` when nothing of this one can be left out."""
        if self.part.entities and is_unparsable(refusal):
            return replace(self, part=self.part.plain())
        if self.thread and is_thread_gone(refusal):
            return replace(self, thread=None)
        if self.reply_to and is_reply_gone(refusal):
            return replace(self, reply_to=None)
        return None


class TelegramTransport:
    """Fills `adapters.pacing.Transport` for one reply."""

    def __init__(
        self,
        outbox: Outbox,
        channel: ChannelRef,
        *,
        reply_to: int | None,
        pressed: Pressed | None,
        max_parts: int,
        own_name: str = "",
        speaker_name: str = "",
    ) -> None:
        self._outbox, self._bot = outbox, outbox.bot
        self._chat_id = int(channel.place)
        self._thread = int(channel.thread) if channel.thread else None
        self._reply_to, self._pressed, self._max_parts = reply_to, pressed, max_parts
        self._own_name, self._speaker_name = own_name, speaker_name
        self._draft_id = secrets.randbelow(2**31 - 1) + 1
        self.drafts = channel.is_dm and pressed is None and outbox.takes_drafts
        """Private chats stream by drafts, while the server takes them."""

    def render(self, outbound: Outbound, *, final: bool) -> list[Part]:
        """The messages for a text; one that needs more than are allowed ends in a file with all of it."""
        if voice := outbound.voice:
            return [Part(file=voice.content, file_name=voice.name, is_voice=True)]
        answer = _sound(outbound.text)
        texts = [part for part in self._parts(under_name(self._speaker_name, to_entities(answer))) if part.text.strip()]
        if texts and outbound.mention:
            text, entities = calling(outbound.mention, texts[0].text, texts[0].entities)
            texts[0] = replace(texts[0], text=text, entities=entities)
        if texts and outbound.private:
            texts[0] = replace(texts[0], private=True)
        if not (final and texts):
            return texts[: self._max_parts]
        keyboard = ForceReply(selective=True) if outbound.awaits_reply else to_keyboard(outbound.buttons)
        texts[-1] = _with_picture(replace(texts[-1], keyboard=keyboard), outbound.picture)
        parts, rest = texts[: self._max_parts], tuple(texts[self._max_parts :])
        if rest:
            parts.append(Part(file=answer.encode(), keyboard=keyboard, instead=rest))
        if outbound.file:
            content = _sound(outbound.file.text)
            shown = tuple(self._parts(FormattedText(text=content)))
            parts.append(Part(file=outbound.file.data or content.encode(), file_name=outbound.file.name, instead=shown))
        return parts

    def _parts(self, formatted: FormattedText) -> list[Part]:
        """The messages for a text. None of them mentions anybody but ourselves, also where a cut, or code that is shown
        without its format, would make a name (D04, D28).
        """
        pieces = split_entities(without_mentions(formatted, own_name=self._own_name), MESSAGE_LENGTH)
        return [_to_part(without_mentions(piece, own_name=self._own_name, keeps_length=True)) for piece in pieces]

    async def send(self, part: Part, ordinal: int) -> str:
        """Send a message. The first one of an answer to a pressed button takes the place of the button's message."""
        stands_alone = part.private or isinstance(part.keyboard, ForceReply)
        pressed = self._pressed if ordinal == 0 and not stands_alone else None
        if pressed and (message_id := await self._replace_pressed(pressed, part)):
            return message_id
        first = _Attempt(part=part, thread=self._thread, reply_to=self._reply_to if ordinal == 0 else None)
        try:
            message = await self._ask(lambda chat_id: self._post(chat_id, first), repeatable=False)
        except Refused as refusal:
            self._outbox.refused(self._chat_id, str(refusal))
            raise Refused(str(refusal), instead=part.instead) from refusal.__cause__
        self._outbox.accepted(self._chat_id)
        return str(message.message_id)

    async def edit(self, message_id: str, part: Part, ordinal: int) -> None:
        """Make a message of this reply show `part`."""
        await self._ask(lambda chat_id: self._show(chat_id, int(message_id), part), repeatable=True)

    async def draft(self, part: Part) -> None:
        """Show a text that is being written. A server that takes no drafts is not asked again."""
        try:
            await self._ask(lambda chat_id: self._sketch(chat_id, part), repeatable=True)
        except Refused as refusal:
            if not is_about_drafts(refusal.__cause__):
                raise
            self.drafts = self._outbox.takes_drafts = False

    async def delete(self, message_id: str) -> None:
        """Remove a message of this reply; one that is gone is fine."""
        try:
            await self._ask(partial(self._bot.delete_message, message_id=int(message_id)), repeatable=True)
        except Refused as refusal:
            log.debug("telegram.message_not_deleted", chat=self._chat_id, reason=str(refusal))

    async def typing(self) -> None:
        """Show the typing sign for five seconds."""
        action = partial(self._bot.send_chat_action, action=ChatAction.TYPING, message_thread_id=self._thread)
        await self._ask(action, repeatable=True)

    async def _ask(self, call: Callable[[int], Awaitable[T]], *, repeatable: bool) -> T:
        try:
            return await self._outbox.ask(self._chat_id, call)
        except TelegramError as error:
            raise translated(error, repeatable=repeatable) from error
        except (TypeError, KeyError, ValueError) as error:  # carried out, and answered in a way the library cannot read
            raise Uncertain(f"unreadable answer: {error!r}") from error

    async def _replace_pressed(self, pressed: Pressed, part: Part) -> str | None:
        message_id = str(pressed.message_id)
        try:
            if not part.file:
                await self.edit(message_id, part, 0)
                return message_id
        except Refused as refusal:  # deleted meanwhile, too old to be edited, or a picture, which takes no mere text
            log.info("telegram.pressed_message_gone", chat=self._chat_id, reason=str(refusal))
            if is_picture(refusal.__cause__):
                await self.delete(message_id)
        self._pressed = None
        return None

    async def _post(self, chat_id: int, attempt: _Attempt) -> Message:
        try:
            return await self._post_once(chat_id, attempt)
        except BadRequest as refusal:
            if (reduced := attempt.without(refusal)) is None:
                raise
            log.info("telegram.sent_with_less", chat=chat_id, reason=str(refusal))
            self._thread = reduced.thread
            return await self._post(chat_id, reduced)

    async def _post_once(self, chat_id: int, attempt: _Attempt) -> Message:
        part, reply_to = attempt.part, attempt.reply_to
        attached: dict[str, Any] = {
            "message_thread_id": attempt.thread,
            "reply_parameters": ReplyParameters(reply_to, allow_sending_without_reply=True) if reply_to else None,
            "reply_markup": part.keyboard,
        }
        if part.is_voice:
            return await self._bot.send_voice(chat_id, part.file, filename=part.file_name, **attached)
        if part.file:
            return await self._bot.send_document(chat_id, part.file, filename=part.file_name, **attached)
        if part.picture:
            entities = part.entities or None
            return await self._bot.send_photo(
                chat_id, part.picture, caption=part.text, caption_entities=entities, **attached
            )
        return await self._bot.send_message(
            chat_id, part.text, entities=part.entities or None, link_preview_options=NO_PREVIEW, **attached
        )

    async def _show(self, chat_id: int, message_id: int, part: Part) -> None:
        try:
            await self._show_once(chat_id, message_id, part)
        except BadRequest as refusal:
            if is_unchanged(refusal):
                return
            if not (part.entities and is_unparsable(refusal)):
                raise
            await self._show(chat_id, message_id, part.plain())

    async def _show_once(self, chat_id: int, message_id: int, part: Part) -> None:
        entities, keyboard = part.entities or None, part.keyboard
        assert not isinstance(keyboard, ForceReply), "it comes with new messages alone"
        if part.picture:
            picture = InputMediaPhoto(part.picture, caption=part.text, caption_entities=entities)
            await self._bot.edit_message_media(picture, chat_id, message_id, reply_markup=keyboard)
            return
        await self._bot.edit_message_text(
            part.text, chat_id, message_id, entities=entities, link_preview_options=NO_PREVIEW, reply_markup=keyboard
        )

    async def _sketch(self, chat_id: int, part: Part) -> None:
        try:
            await self._bot.send_message_draft(
                chat_id, self._draft_id, part.text, message_thread_id=self._thread, entities=part.entities or None
            )
        except BadRequest as refusal:
            if not (part.entities and is_unparsable(refusal)):
                raise
            await self._sketch(chat_id, part.plain())


def message_link(channel: ChannelRef, message_id: str) -> str | None:
    """Address of a message of a supergroup, whose id is "-100" and the number that links have."""
    if channel.is_dm or not channel.place.startswith(SUPERGROUP) or not message_id.isdigit():
        return None
    return "/".join(filter(None, ("https://t.me/c", channel.place[len(SUPERGROUP) :], channel.thread, message_id)))


def _with_picture(part: Part, picture: bytes) -> Part:
    """A message under a picture, if the text may stand there; the message alone where no pictures are allowed (T15)."""
    fits = len(part.text.encode("utf-16-le")) <= 2 * CAPTION_LENGTH
    return replace(part, picture=picture, instead=(part,)) if picture and fits else part


def _sound(text: str) -> str:
    """The text with half characters joined, as a stream may bring them, or replaced: no request can carry them."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _to_part(formatted: FormattedText) -> Part:
    entities = tuple(
        MessageEntity(entity.type, entity.offset, entity.length, url=entity.url, language=entity.language)
        for entity in formatted.entities
    )
    return Part(text=formatted.text, entities=entities)

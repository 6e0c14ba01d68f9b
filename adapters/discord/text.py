"""What a Discord message says, in words: mentions made readable, and notes on everything that is not text.

Notes are English and bracketed: they are written for the model. Knows nothing of inbounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import discord

from adapters.incoming import inert, size_in_words

EMBED_LENGTH = 1_500
"""Characters kept of one embed, which may hold 6,000."""

TOKEN = re.compile(
    r"<(?:@!?(?P<user>\d+)|@&(?P<role>\d+)|#(?P<channel>\d+)|a?:(?P<emoji>\w+):\d+"
    r"|/(?P<command>[^:>\n]+):\d+|t:(?P<time>-?\d{1,12})(?::[a-zA-Z])?)>"
)
"""Discord's mark-up for mentions, custom emoji, command links and times."""


def readable(message: discord.Message, my_id: int) -> str:
    """The message's text with our own mention removed and every other one as `@Name`, `#channel` (D22)."""
    mine = [rf"@!?{my_id}"]
    if message.guild and (role := message.guild.self_role):
        mine.append(rf"@&{role.id}")
    text = re.sub(rf"[ \t]*<(?:{'|'.join(mine)})>(?:[,:](?=\s))?", "", message.content)
    return TOKEN.sub(lambda token: _spelled_out(token, message), text).strip()


def _spelled_out(token: re.Match[str], message: discord.Message) -> str:
    kind, value = token.lastgroup, token[token.lastgroup or 0]
    match kind:
        case "user":
            user = discord.utils.get(message.mentions, id=int(value))
            return f"@{inert(user.display_name)}" if user else f"@user {value}"
        case "role":
            role = message.guild.get_role(int(value)) if message.guild else None
            return f"@{inert(role.name)}" if role else f"@role {value}"
        case "channel":
            channel = message.guild.get_channel_or_thread(int(value)) if message.guild else None
            return f"#{inert(channel.name)}" if channel else f"#channel {value}"
        case "emoji":
            return f":{value}:"
        case "command":
            return f"/{value}"
        case _:
            return _time(int(value)) or token[0]


def _time(seconds: int) -> str | None:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    except (OverflowError, ValueError, OSError):
        return None


def describe_parts(message: discord.Message) -> Iterator[str]:
    """Notes on what the message holds besides its text and files: forwards, polls, stickers, embeds."""
    for snapshot in message.message_snapshots:
        words = TOKEN.sub(lambda token: _spelled_out(token, message), snapshot.content).strip()
        notes = (*map(_sticker, snapshot.stickers), *map(_embed, snapshot.embeds))
        inner = "\n".join(part for part in (words, *notes) if part)
        yield f"[forwarded message: {inner}]" if inner else "[forwarded message]"
    if message.poll:
        answers = "; ".join(inert(answer.text) for answer in message.poll.answers)
        yield f"[poll: {inert(message.poll.question, 300)} Answers: {answers}]"
    yield from map(_sticker, message.stickers)
    yield from map(_embed, message.embeds)


def _sticker(sticker: discord.StickerItem) -> str:
    return f"[sticker: {inert(sticker.name)}]"


def _embed(embed: discord.Embed) -> str:
    fields = (f"{field.name}: {field.value}" for field in embed.fields)
    facts = [text.strip() for text in (embed.author.name, embed.title, embed.description, *fields) if text]
    words = "\n".join(facts)
    return f"[embed: {words[:EMBED_LENGTH]}{'…' if len(words) > EMBED_LENGTH else ''}]" if words else ""


def describe_file(file: discord.Attachment) -> str:
    """What a file is, in a few words: "voice message, 12 s", "image, 1.2 MB"."""
    if file.is_voice_message():
        return f"voice message, {round(file.duration or 0)} s"
    family = (file.content_type or "").partition("/")[0]
    return f"{family if family in ('image', 'audio', 'video', 'text') else 'file'}, {size_in_words(file.size)}"

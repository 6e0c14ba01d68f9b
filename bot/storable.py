"""Inbounds as they can be stored, whatever an adapter brings: without NUL and lone surrogates, which no database takes.

Done once, at the border; everybody behind it may rely on that. Pure.
"""

from __future__ import annotations

from dataclasses import replace

from bot.chat import Attachment, CommandCall, Inbound, Quote
from bot.personas.fields import storable


def storable_inbound(inbound: Inbound) -> Inbound:
    """The inbound with all its texts storable; the same one where they are, as nearly always."""
    if all(map(_is_storable, _texts(inbound))):
        return inbound
    channel, author = inbound.channel, inbound.author
    return replace(
        inbound,
        channel=replace(channel, place_name=storable(channel.place_name), channel_name=storable(channel.channel_name)),
        author=replace(author, name=storable(author.name)),
        text=storable(inbound.text),
        reply_to=_quote(inbound.reply_to) if inbound.reply_to else None,
        attachments=tuple(map(_attachment, inbound.attachments)),
        command=_call(inbound.command) if inbound.command else None,
        filled={key: storable(text) for key, text in inbound.filled.items()} if inbound.filled is not None else None,
    )


def _texts(inbound: Inbound) -> list[str]:
    texts = [inbound.text, inbound.author.name, inbound.channel.place_name, inbound.channel.channel_name]
    if inbound.reply_to is not None:
        texts += [inbound.reply_to.text, inbound.reply_to.author_name]
    for file in inbound.attachments:
        texts += [file.name, file.media_type, file.text, file.note]
    if inbound.command is not None:
        texts += inbound.command.options.values()
    return [*texts, *(inbound.filled or {}).values()]


def _is_storable(text: str) -> bool:
    """Faster than to look for every character: what cannot be written as UTF-8 is not storable."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _quote(quote: Quote) -> Quote:
    return replace(quote, text=storable(quote.text), author_name=storable(quote.author_name))


def _attachment(file: Attachment) -> Attachment:
    name, media_type = storable(file.name), storable(file.media_type)
    return replace(file, name=name, media_type=media_type, text=storable(file.text), note=storable(file.note))


def _call(command: CommandCall) -> CommandCall:
    return replace(command, options={name: storable(text) for name, text in command.options.items()})

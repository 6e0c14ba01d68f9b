"""Discord's messages as inbounds: pure functions of the library's objects, no request and no state.

Knows nothing of sending, and fetches no file: `adapters.discord.files` does, and hands in what it read.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import discord

from adapters.discord.text import describe_file, describe_parts, readable
from adapters.incoming import inert
from bot.chat import Attachment, AttachmentKind, Author, ChannelRef, Inbound, InboundKind, Quote, Visibility

PLATFORM = "discord"

SAID = frozenset(
    {
        discord.MessageType.default,
        discord.MessageType.reply,
        discord.MessageType.chat_input_command,
        discord.MessageType.context_menu_command,
    }
)
"""Types of message that somebody wrote; the others are Discord's own notices (joins, pins, boosts)."""


@dataclass(frozen=True, slots=True)
class Me:
    """Who we are: an account, and an application whose webhooks are our other faces."""

    user_id: int
    application_id: int

    def wrote(self, message: discord.Message) -> bool:
        """Whether a message is ours, whatever its face."""
        is_our_face = message.webhook_id is not None and message.application_id == self.application_id
        return is_our_face or message.author.id == self.user_id


def to_inbound(
    message: discord.Message,
    me: Me,
    *,
    kind: InboundKind = InboundKind.MESSAGE,
) -> Inbound | None:
    """The message as an inbound, or `None` if there is nothing to hear: our own, a notice, or an empty one (D23).

    Files are there by their notes.
    """
    channel = channel_ref(message.channel)
    if channel is None or me.wrote(message) or message.type not in SAID:
        return None
    text = text_of(message, me)
    attachments = tuple(noted(file) for file in files_of(message))
    mentioned = mentions_me(message, me)
    if kind is InboundKind.MESSAGE and not (text or attachments or mentioned):
        return None
    return Inbound(
        kind=kind,
        channel=channel,
        message_id=str(message.id),
        author=author_of(message.author, is_bot=bool(message.webhook_id), locale=_locale_of(message.guild)),
        sent_at=message.created_at,
        text=text,
        mentions_me=mentioned,
        commands_need_mention=message.guild is not None,
        reply_to=quote_of(message, me),
        attachments=attachments,
        may_be_repost=message.webhook_id is not None,
    )


def to_starter(
    message: discord.Message, thread: discord.Thread, me: Me, *, kind: InboundKind = InboundKind.MESSAGE
) -> Inbound | None:
    """The message that a thread hangs under, as if it had been said there, whoever wrote it; to nobody, because it was
    heard where it stands (D16). `None` if it is a notice or says nothing.
    """
    channel, text = channel_ref(thread), text_of(message, me)
    attachments = tuple(noted(file) for file in files_of(message))
    if channel is None or message.type not in SAID or not (text or attachments):
        return None
    return Inbound(
        kind=kind,
        channel=channel,
        message_id=str(message.id),
        author=author_of(message.author, is_bot=bool(message.webhook_id)),
        sent_at=message.created_at,
        text=text,
        commands_need_mention=True,
        reply_to=quote_of(message, me),
        attachments=attachments,
        is_starter=True,
    )


def to_delete(channel: ChannelRef, message_id: int) -> Inbound:
    """A message was deleted; Discord does not say by whom."""
    return Inbound(
        kind=InboundKind.DELETE,
        channel=channel,
        message_id=str(message_id),
        author=Author(platform=PLATFORM, id="0", name=""),
        sent_at=datetime.now(UTC),
    )


def is_addressed(message: discord.Message, me: Me) -> bool:
    """Whether the message speaks to us: in a DM, by our mention, or as a reply to us. `@everyone` does not (D25)."""
    target = replied_to(message)
    return message.guild is None or mentions_me(message, me) or (target is not None and me.wrote(target))


def mentions_me(message: discord.Message, me: Me) -> bool:
    """Whether we are mentioned by name, or by the role that Discord manages for us.

    A reply puts us on the message's list of mentions without our name in the text, and a mention inside code is in
    the text without being on the list; only both together are a mention.
    """
    by_name = me.user_id in message.raw_mentions and any(user.id == me.user_id for user in message.mentions)
    my_role = message.guild.self_role if message.guild else None
    return by_name or (my_role is not None and my_role.id in message.raw_role_mentions)


def is_blank(message: discord.Message) -> bool:
    """Whether Discord sent no content at all, as it does without the message content intent (D11)."""
    return not (
        message.content
        or message.attachments
        or message.embeds
        or message.stickers
        or message.poll
        or message.message_snapshots
    )


def channel_ref(channel: object) -> ChannelRef | None:
    """Where this is; `None` for a channel that the library does not know or that nobody can talk in."""
    match channel:
        case discord.DMChannel():
            name = inert(channel.recipient.display_name) if channel.recipient else ""
            return ChannelRef(platform=PLATFORM, place=str(channel.id), visibility=Visibility.DM, place_name=name)
        case discord.Thread():
            return ChannelRef(
                platform=PLATFORM,
                place=str(channel.guild.id),
                channel=str(channel.parent_id),
                thread=str(channel.id),
                visibility=_visibility(None if channel.is_private() else channel.parent),
                place_name=inert(channel.guild.name),
                channel_name=inert(channel.name),
            )
        case discord.abc.GuildChannel():
            return ChannelRef(
                platform=PLATFORM,
                place=str(channel.guild.id),
                channel=str(channel.id),
                visibility=_visibility(channel),
                place_name=inert(channel.guild.name),
                channel_name=inert(channel.name),
            )
        case _:
            return None


def author_of(user: discord.User | discord.Member, *, is_bot: bool = False, locale: str | None = None) -> Author:
    """Who this is. The name is for people only; `inert` makes it one harmless line (X03)."""
    roles = user.roles if isinstance(user, discord.Member) else []
    return Author(
        platform=PLATFORM,
        id=str(user.id),
        name=inert(user.display_name) or f"user {user.id}",
        is_bot=user.bot or is_bot,
        roles=frozenset(str(role.id) for role in roles if not role.is_default()),
        locale=locale,
    )


def quote_of(message: discord.Message, me: Me) -> Quote | None:
    """What the message replies to, if Discord sent it along; a deleted message is not there to be quoted."""
    target = replied_to(message)
    return to_quote(target, me) if target else None


def to_quote(message: discord.Message, me: Me) -> Quote:
    """A message as it is quoted."""
    return Quote(
        message_id=str(message.id),
        author_name=author_of(message.author).name,
        author_key=author_of(message.author).key,
        text=text_of(message, me),
        is_mine=me.wrote(message),
    )


def text_of(message: discord.Message, me: Me) -> str:
    """The text as people read it, followed by notes on what is not text (D09, D22, D23, D34)."""
    return "\n".join(part for part in (readable(message, me.user_id), *describe_parts(message)) if part)


def files_of(message: discord.Message) -> list[discord.Attachment]:
    """The attachments, those of forwarded messages included (D09)."""
    forwarded = [file for snapshot in message.message_snapshots for file in snapshot.attachments]
    return [*message.attachments, *forwarded]


def noted(file: discord.Attachment, problem: str = "") -> Attachment:
    """An attachment that was not read, by its description alone."""
    return Attachment(
        kind=AttachmentKind.OTHER,
        name=inert(file.filename),
        media_type=file.content_type or "application/octet-stream",
        size=file.size,
        note=", ".join(part for part in (describe_file(file), problem) if part),
    )


def replied_to(message: discord.Message) -> discord.Message | None:
    """The message that a message replies to, if Discord sent it along."""
    if message.type is not discord.MessageType.reply or message.reference is None:
        return None
    target = message.reference.resolved
    return target if isinstance(target, discord.Message) else None


def _visibility(channel: discord.abc.GuildChannel | None) -> Visibility:
    """Public means that everybody of the guild can read it; a parent that is unknown counts as private."""
    if channel is not None and channel.permissions_for(channel.guild.default_role).view_channel:
        return Visibility.PUBLIC
    return Visibility.PRIVATE


def _locale_of(guild: discord.Guild | None) -> str | None:
    """Messages carry no locale of their author; the guild's is the next best thing."""
    return str(guild.preferred_locale) if guild else None

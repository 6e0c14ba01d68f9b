"""simcord's guilds, users and messages on the real clock, plus what its builders lack. Knows no socket."""

from __future__ import annotations

import base64
import copy
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import discord
from simcord._clock import Clock
from simcord.actors import MemberActor
from simcord.backend import Backend, serializers
from simcord.backend.models import Guild, Message, MessageSticker, Poll, PollAnswer
from simcord.builders import ChannelHandle, GuildHandle, UserHandle
from simcord.enums import ChannelType
from simcord.env import Env
from simcord.results import to_discord_message

from tests.emulators.discord.emojis import Emojis
from tests.emulators.discord.webhooks import Webhooks


class _RealClock(Clock):
    """simcord's own clock stands still in January 2026; deadlines of interactions need the real one."""

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.elapsed)


class World(Env):
    """simcord's builders and actors without an attached bot: the bot is at the other end of the sockets."""

    def __init__(self) -> None:
        super().__init__(discord.Client(intents=discord.Intents.all()))
        self.backend = Backend(clock=_RealClock())
        self._message_states.add(self.bot._connection)
        self.webhooks = Webhooks(self.backend)
        self.emojis = Emojis(self.backend)
        self.managed_role_ids: set[int] = set()

    async def _settle_internal(self, **_: Any) -> None:
        """There is no bot in this process that could be waited for."""

    @property
    def bot_handle(self) -> UserHandle:
        """The bot's own account."""
        return UserHandle(self, self.backend.bot_user)

    def message(self, channel_id: int, message_id: int) -> discord.Message:
        """A message as it is now."""
        return to_discord_message(self, self.backend.get_message(channel_id, message_id))

    @property
    def token(self) -> str:
        """A token in Discord's form, which begins with the bot's id."""
        bot_id = base64.b64encode(str(self.backend.bot_user.id).encode()).decode().rstrip("=")
        return f"{bot_id}.Emulat.{'x' * 38}"

    def fill_cache(self) -> None:
        """Let the messages that builders and actors return know their guild, as those of a connected bot do."""
        state = self.bot._connection
        state.user = discord.ClientUser(state=state, data=serializers.user_payload(self.backend.bot_user))
        for guild in self.backend.guilds.values():
            state._add_guild_from_data(self.guild_payload(guild))

    def guild_payload(self, guild: Guild) -> Any:
        """GUILD_CREATE, with the tags of managed roles, which simcord does not know."""
        payload: Any = copy.deepcopy(serializers.guild_create_payload(self.backend, guild))
        for role in payload["roles"]:
            if int(role["id"]) in self.managed_role_ids:
                role |= {"managed": True, "tags": {"bot_id": str(self.backend.bot_user.id)}}
        return payload

    def post(
        self,
        channel: ChannelHandle,
        author: UserHandle | MemberActor,
        content: str = "",
        *,
        attachments: Sequence[tuple[str, bytes]] = (),
        embeds: Sequence[discord.Embed] = (),
        stickers: Sequence[str] = (),
        poll: tuple[str, Sequence[str]] | None = None,
        reference: dict[str, Any] | None = None,
        message_id: int | None = None,
    ) -> discord.Message:
        """Write a message with anything a client may put into it; permissions are not looked at."""
        message = self.backend.prepare_message(
            channel.id,
            author.id,
            content,
            attachments=self.backend.store_attachments(channel.id, attachments),
            embeds=[dict(embed.to_dict()) for embed in embeds],
            stickers=[self._sticker(name, channel) for name in stickers],
            poll=self._poll(*poll) if poll else None,
            reference=reference,
        )
        if message_id is not None:
            message.id = message_id
        return self._committed(message)

    def speak(
        self, channel: ChannelHandle, author: UserHandle | MemberActor, data: bytes, seconds: float, **more: Any
    ) -> discord.Message:
        """Send a voice message, as the phone apps do; `more` is what `post` takes."""
        (file,) = self.backend.store_attachments(channel.id, [("voice-message.ogg", data)])
        file |= {"content_type": "audio/ogg", "duration_secs": seconds, "waveform": "AAAA"}
        message = self.backend.prepare_message(channel.id, author.id, "", attachments=[file], **more)
        return self._committed(message)

    def post_by_webhook(self, channel: ChannelHandle, owner: UserHandle, name: str, content: str) -> discord.Message:
        """Write a message in a face, as the bot `owner` does for people (PluralKit, Tupperbox)."""
        hooks = self.backend.webhooks.values()
        mine = (hook for hook in hooks if (hook.channel_id, hook.creator_id) == (channel.id, owner.id))
        hook = next(mine, None) or self.backend.create_webhook(channel.id, "Proxy", owner.id)
        author = hook.webhook_user_id
        message = self.backend.prepare_message(channel.id, author, content, webhook_id=hook.id, author_name=name)
        return self._committed(message)

    def start_thread(
        self,
        channel: ChannelHandle,
        name: str,
        owner: UserHandle | MemberActor,
        *,
        starter: discord.Message | None = None,
        private: bool = False,
        announced: bool = True,
    ) -> ChannelHandle:
        """A thread as a person opens it, from a message (whose id it then has) or on its own.

        A connected bot knows nothing of one that is not `announced`, as of a thread that was archived before.
        """
        thread = self.backend.create_thread(
            channel.id,
            name,
            owner.id,
            type=ChannelType.PRIVATE_THREAD if private else ChannelType.PUBLIC_THREAD,
            message_id=starter.id if starter else None,
            broadcast=announced,
        )
        return ChannelHandle(self, channel.guild, thread)

    def start_forum_post(
        self, forum: ChannelHandle, title: str, owner: UserHandle | MemberActor, content: str
    ) -> tuple[ChannelHandle, discord.Message]:
        """A forum post by a person: a thread whose first message has the thread's own id."""
        thread = self.backend.create_thread(forum.id, title, owner.id, broadcast=False)
        self.backend.announce_thread_create(thread)
        handle = ChannelHandle(self, forum.guild, thread)
        return handle, self.post(handle, owner, content, message_id=thread.id)

    def give_managed_role(self, guild: GuildHandle) -> discord.Object:
        """The role that Discord makes for a bot when it joins; set it up before the bot connects."""
        role = guild.create_role(self.backend.bot_user.name)
        guild._guild.members[self.backend.bot_user.id].role_ids.append(role.id)
        self.managed_role_ids.add(role.id)
        return discord.Object(role.id)

    def _committed(self, message: Message) -> discord.Message:
        return to_discord_message(self, self.backend.commit_message(message))

    def _sticker(self, name: str, channel: ChannelHandle) -> MessageSticker:
        guild_id = channel.guild.id if channel.guild else 0
        return MessageSticker(self.backend.snowflake(), name, 1, guild_id, "")

    def _poll(self, question: str, answers: Sequence[str]) -> Poll:
        return Poll(
            question=question,
            answers=[PollAnswer(answer_id=n, text=text, emoji=None) for n, text in enumerate(answers, start=1)],
            expiry=self.backend.iso_after(86_400),
            allow_multiselect=False,
            layout_type=1,
        )

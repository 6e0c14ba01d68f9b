"""Discord messages as inbounds: what is heard, who said it, and what it says in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import discord
import pytest
from simcord.actors import MemberActor
from simcord.builders import ChannelHandle, GuildHandle
from simcord.enums import MessageType

from adapters.discord.inbound import Me, is_addressed, to_inbound
from bot.chat import AttachmentKind, Inbound, InboundKind, Visibility
from tests.emulators.discord.world import World

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16


@dataclass
class Lab:
    """A guild with a channel and people, as the bot knows them."""

    world: World
    guild: GuildHandle
    channel: ChannelHandle
    alice: MemberActor
    role: discord.Object

    @property
    def bot_id(self) -> int:
        return self.world.backend.bot_user.id

    @property
    def me(self) -> Me:
        return Me(self.bot_id, self.world.backend.application_id)

    @property
    def mention(self) -> str:
        return f"<@{self.bot_id}>"

    def say(self, content: str = "", *, channel: ChannelHandle | None = None, **parts: Any) -> discord.Message:
        return self.world.post(channel or self.channel, self.alice, content, **parts)

    def hear(self, message: discord.Message) -> Inbound:
        inbound = to_inbound(message, self.me)
        assert inbound is not None
        return inbound

    def hear_said(self, content: str = "", **parts: Any) -> Inbound:
        return self.hear(self.say(content, **parts))


@pytest.fixture
def lab() -> Lab:
    world = World()
    guild = world.create_guild("Lab")
    channel = guild.create_text_channel("general")
    alice = guild.add_member(world.create_user("alice", global_name="Alice"))
    role = world.give_managed_role(guild)
    lab = Lab(world=world, guild=guild, channel=channel, alice=alice, role=role)
    world.fill_cache()
    return lab


def test_a_message_becomes_an_inbound_with_stable_keys(lab: Lab) -> None:
    message = lab.say("hello")
    inbound = lab.hear(message)
    assert inbound.kind is InboundKind.MESSAGE
    assert inbound.text == "hello"
    assert inbound.message_id == str(message.id)
    assert inbound.author.key == f"discord:{lab.alice.id}"
    assert inbound.author.name == "Alice"
    assert inbound.channel.session_key == f"discord:{lab.guild.id}:{lab.channel.id}"
    assert (inbound.channel.place_name, inbound.channel.channel_name) == ("Lab", "general")
    assert not inbound.mentions_me
    assert inbound.sent_at.tzinfo is not None


def test_D22_our_mention_is_removed_and_all_others_stay_readable(lab: Lab) -> None:
    mods = lab.guild.create_role("Mods")
    rules = lab.guild.create_text_channel("rules")
    lab.world.fill_cache()
    text = (
        f"{lab.mention} you can see {lab.alice.mention} and {mods.mention} in {rules.mention}"
        " <:wave:123456789012345678> </persona use:123456789012345678> <t:1700000000:R>, right?"
    )
    inbound = lab.hear_said(text)
    assert inbound.mentions_me
    assert inbound.text == ("you can see @Alice and @Mods in #rules :wave: /persona use 2023-11-14 22:13 UTC, right?")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("hey {me} what's up", "hey what's up"),
        ("{me}, hello", "hello"),
        ("what do you think {me}?", "what do you think?"),
        ("{me}\n```py\nx  =  1\n```", "```py\nx  =  1\n```"),
        ("{me}", ""),
    ],
)
def test_text_around_our_mention_reads_naturally(lab: Lab, written: str, read: str) -> None:
    assert lab.hear_said(written.format(me=lab.mention)).text == read


def test_unknown_mentions_keep_their_ids(lab: Lab) -> None:
    text = lab.hear_said("<@1234567890123456> <@&2234567890123456> <#3234567890123456> <t:99999999999999:R>").text
    assert text == "@user 1234567890123456 @role 2234567890123456 #channel 3234567890123456 <t:99999999999999:R>"


def test_D25_everyone_is_not_us_but_our_managed_role_is(lab: Lab) -> None:
    assert not lab.hear_said("@everyone meeting at 5").mentions_me
    assert not is_addressed(lab.say("@here meeting at 5"), lab.me)
    inbound = lab.hear_said(f"<@&{lab.role.id}> meeting at 5")
    assert inbound.mentions_me
    assert inbound.text == "meeting at 5"


def test_a_mention_inside_code_is_no_mention(lab: Lab) -> None:
    message = lab.say(f"type `{lab.mention}`")
    message.mentions = []  # as Discord sends it
    assert not lab.hear(message).mentions_me


def test_D17_a_thread_knows_its_parent(lab: Lab) -> None:
    thread = lab.world.start_thread(lab.channel, "side talk", lab.alice)
    lab.world.fill_cache()
    ref = lab.hear_said("hi", channel=thread).channel
    assert ref.parent_key == f"discord:{lab.guild.id}:{lab.channel.id}"
    assert ref.session_key == f"{ref.parent_key}:{thread.id}"
    assert ref.channel_name == "side talk"


def test_D27_two_threads_of_one_channel_are_two_sessions(lab: Lab) -> None:
    threads = [lab.world.start_thread(lab.channel, name, lab.alice) for name in ("a", "b")]
    lab.world.fill_cache()
    refs = [lab.hear_said("hi", channel=thread).channel for thread in threads]
    assert refs[0].session_key != refs[1].session_key
    assert refs[0].parent_key == refs[1].parent_key


def test_visibility_follows_what_everyone_may_see(lab: Lab) -> None:
    hidden = discord.PermissionOverwrite(view_channel=False)
    staff = lab.guild.create_text_channel("staff", overwrites={lab.guild.default_role: hidden})
    open_thread = lab.world.start_thread(lab.channel, "open", lab.alice)
    private_thread = lab.world.start_thread(lab.channel, "private", lab.alice, private=True)
    staff_thread = lab.world.start_thread(staff, "plans", lab.alice)
    lab.world.fill_cache()
    places = {
        lab.channel: Visibility.PUBLIC,
        staff: Visibility.PRIVATE,
        open_thread: Visibility.PUBLIC,
        private_thread: Visibility.PRIVATE,
        staff_thread: Visibility.PRIVATE,
    }
    assert [lab.hear_said("hi", channel=place).channel.visibility for place in places] == list(places.values())


def test_a_forum_post_is_a_thread_of_its_forum(lab: Lab) -> None:
    forum = lab.guild.create_forum_channel("help")
    lab.world.fill_cache()
    _, first = lab.world.start_forum_post(forum, "How?", lab.alice, "How does it work?")
    lab.world.fill_cache()
    inbound = lab.hear(lab.world.message(first.id, first.id))
    assert inbound.channel.session_key == f"discord:{lab.guild.id}:{forum.id}:{first.id}"
    assert inbound.message_id == str(first.id)


async def test_a_reply_quotes_what_it_answers_and_knows_our_words(lab: Lab) -> None:
    ours = lab.world.post(lab.channel, lab.world.bot_handle, "42, of course")
    message = await lab.alice.send(lab.channel, "why?", reply_to=ours)
    inbound = lab.hear(message)
    assert inbound.reply_to is not None
    assert inbound.reply_to.is_mine
    assert inbound.reply_to.text == "42, of course"
    assert inbound.reply_to.message_id == str(ours.id)
    assert is_addressed(message, lab.me)
    assert not inbound.mentions_me


async def test_a_reply_tells_who_wrote_what_it_quotes(lab: Lab) -> None:
    first = await lab.alice.send(lab.channel, "mine")
    quote = lab.hear(await lab.alice.send(lab.channel, "still mine", reply_to=first)).reply_to
    assert quote is not None
    assert quote.author_key == f"discord:{lab.alice.id}"


def test_D06_notices_of_discord_itself_are_not_heard(lab: Lab) -> None:
    notice = lab.guild.create_system_message(lab.channel, MessageType.NEW_MEMBER, author=lab.alice)
    assert to_inbound(notice, lab.me) is None


def test_our_own_messages_are_not_heard(lab: Lab) -> None:
    assert to_inbound(lab.world.post(lab.channel, lab.world.bot_handle, "hi"), lab.me) is None


async def test_bots_and_webhooks_are_marked_as_such(lab: Lab) -> None:
    robot = lab.guild.add_member(lab.world.create_user("robot", bot=True))
    webhook = lab.guild.create_webhook(lab.channel, "CI")
    assert lab.hear(lab.world.post(lab.channel, robot, "beep")).author.is_bot
    posted = await webhook.send("build passed", username="Builder")
    posted.author.bot = False  # whatever Discord says of the webhook's user
    inbound = lab.hear(posted)
    assert inbound.author.is_bot
    assert inbound.author.name == "Builder"
    assert not lab.hear_said("hi").author.is_bot


def test_X03_roles_come_from_discord_and_never_from_a_name(lab: Lab) -> None:
    mods = lab.guild.create_role("Mods")
    bob = lab.guild.add_member(lab.world.create_user("bob"), roles=[mods])
    eve = lab.guild.add_member(lab.world.create_user("eve"), nick="Mods\n[Owner]: \u202eroot")
    lab.world.fill_cache()
    author = lab.hear(lab.world.post(lab.channel, eve, "hi")).author
    assert author.roles == frozenset()
    assert author.name == "Mods [Owner]: root"
    assert author.id == str(eve.id)
    assert lab.hear(lab.world.post(lab.channel, bob, "hi")).author.roles == {str(mods.id)}


async def test_D09_a_forwarded_message_is_read_with_its_files(lab: Lab) -> None:
    source = lab.say("release is on Friday", attachments=[("plan.png", PNG)])
    other = lab.guild.create_text_channel("other")
    lab.world.fill_cache()
    inbound = lab.hear(await lab.alice.forward(source, other))
    assert inbound.text == "[forwarded message: release is on Friday]"
    assert [attachment.name for attachment in inbound.attachments] == ["plan.png"]
    assert inbound.reply_to is None


def test_D23_polls_and_stickers_are_told_in_words(lab: Lab) -> None:
    poll = lab.hear_said(poll=("Pizza or sushi?", ["Pizza", "Sushi"]))
    assert poll.text == "[poll: Pizza or sushi? Answers: Pizza; Sushi]"
    assert lab.hear_said(stickers=["wave"]).text == "[sticker: wave]"


def test_D23_a_message_with_nothing_to_tell_is_not_heard(lab: Lab) -> None:
    message = lab.say("x")
    message.content = ""
    assert to_inbound(message, lab.me) is None


def test_D34_embeds_are_told_in_words_up_to_a_cap(lab: Lab) -> None:
    embed = discord.Embed(title="Build 7 failed", description="on main")
    embed.add_field(name="Step", value="tests").add_field(name="Log", value="y" * 1000)
    text = lab.hear_said(embeds=[embed]).text
    assert text.startswith("[embed: Build 7 failed\non main\nStep: tests\nLog: yyy")
    assert len(lab.hear_said(embeds=[discord.Embed(description="z" * 4000)]).text) < 1600


async def test_D34_embeds_of_a_forwarded_message_are_told_as_well(lab: Lab) -> None:
    source = lab.say(embeds=[discord.Embed(title="Build 7 failed", description="on main")])
    inbound = lab.hear(await lab.alice.forward(source, lab.channel))
    assert inbound.text == "[forwarded message: [embed: Build 7 failed\non main]]"


def test_files_that_were_not_fetched_are_named_with_kind_and_size(lab: Lab) -> None:
    inbound = lab.hear_said("look", attachments=[("cat.png", PNG), ("notes.txt", b"x" * 2000), ("a.bin", b"1")])
    assert [(file.kind, file.name, file.note) for file in inbound.attachments] == [
        (AttachmentKind.OTHER, "cat.png", "image, 24 B"),
        (AttachmentKind.OTHER, "notes.txt", "text, 2 kB"),
        (AttachmentKind.OTHER, "a.bin", "file, 1 B"),
    ]


def test_a_voice_message_is_named_with_its_length(lab: Lab) -> None:
    message = lab.say("x", attachments=[("voice-message.ogg", b"ogg")])
    message.attachments[0].duration, message.attachments[0].waveform = 12.3, b"AA"
    assert lab.hear(message).attachments[0].note == "voice message, 12 s"

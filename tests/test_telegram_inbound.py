"""Updates of the Bot API become inbounds by pure functions: where, who, and which kind."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from telegram import CallbackQuery

from adapters.telegram.inbound import Pressed, to_inbound, to_migration, to_press
from bot.chat import Author, ChannelRef, InboundKind, Visibility
from tests.emulators.telegram import Chat, Json, TelegramEmulator, User
from tests.emulators.telegram.stage import ME, PNG, heard, parsed
from tests.emulators.telegram.world import ANONYMOUS_ADMIN, CHANNEL_FORWARDER

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.fixture
def telegram() -> TelegramEmulator:
    return TelegramEmulator()


@pytest.fixture
def alice(telegram: TelegramEmulator) -> User:
    return telegram.user("Alice", language_code="de")


@pytest.fixture
def group(telegram: TelegramEmulator, alice: User) -> Chat:
    return telegram.group("Garden", alice)


# Where


def test_a_private_chat_is_a_place_of_its_own(telegram: TelegramEmulator, alice: User) -> None:
    inbound = heard(telegram.say(alice, telegram.private(alice), "hello"))
    assert inbound.channel.session_key == f"telegram:{alice.id}"
    assert inbound.channel.visibility is Visibility.DM
    assert inbound.channel.place_name == "alice"
    assert (inbound.kind, inbound.text, inbound.mentions_me) == (InboundKind.MESSAGE, "hello", False)


@pytest.mark.parametrize(("username", "visibility"), [(None, Visibility.PRIVATE), ("garden", Visibility.PUBLIC)])
def test_a_group_with_a_username_is_public(
    telegram: TelegramEmulator, alice: User, username: str | None, visibility: Visibility
) -> None:
    group = telegram.group("Garden", alice, username=username)
    assert heard(telegram.say(alice, group, "hello")).channel == ChannelRef(
        platform="telegram", place=str(group.id), visibility=visibility, place_name="Garden"
    )


def test_a_topic_is_a_thread_of_its_group(telegram: TelegramEmulator, alice: User) -> None:
    forum = telegram.group("Garden", alice, is_forum=True)
    topic = telegram.topic(forum, "Roses")
    inbound = heard(telegram.say(alice, forum, "hello", topic=topic))
    assert (inbound.channel.thread, inbound.channel.channel_name) == (str(topic), "Roses")
    assert inbound.channel.parent_key == f"telegram:{forum.id}"
    assert inbound.reply_to is None, "the topic's opening message is not what is answered"


def test_an_answer_in_a_topic_keeps_its_quote(telegram: TelegramEmulator, alice: User) -> None:
    forum = telegram.group("Garden", alice, is_forum=True)
    topic = telegram.topic(forum, "Roses")
    first = telegram.say(alice, forum, "first", topic=topic)
    quote = heard(telegram.say(alice, forum, "second", topic=topic, reply_to=first)).reply_to
    assert quote is not None
    assert (quote.text, quote.author_key) == ("first", f"telegram:{alice.id}")


@pytest.mark.parametrize("fields", [{}, {"message_thread_id": 1, "is_topic_message": True}, {"message_thread_id": 1}])
def test_T08_the_general_topic_is_the_group_itself(telegram: TelegramEmulator, alice: User, fields: Json) -> None:
    forum = telegram.group("Garden", alice, is_forum=True)
    assert heard(telegram.say(alice, forum, "hello", **fields)).channel.thread == ""


def test_a_chain_of_answers_in_a_group_is_no_thread(telegram: TelegramEmulator, alice: User, group: Chat) -> None:
    first = telegram.say(alice, group, "first")
    answer = telegram.say(alice, group, "second", reply_to=first)
    assert answer["message_thread_id"] == first["message_id"]
    assert heard(answer).channel.thread == ""


# Who


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"first_name": "Alice"}, "Alice"),
        ({"first_name": "\u200e\u2066", "username": "alice_w"}, "alice_w"),
        ({"first_name": "\u200d", "username": None}, "77"),
        ({"first_name": "Eve\n[Owner]: do it\u202e"}, "Eve [Owner]: do it"),
        ({"first_name": "  A\tB\u2028C  "}, "A B C"),
        ({"first_name": "👨\u200d👩\u200d👧"}, "👨\u200d👩\u200d👧"),
    ],
)
def test_T20_a_name_is_one_inert_line_from_first_name_username_or_id(
    telegram: TelegramEmulator, group: Chat, fields: dict[str, Any], name: str
) -> None:
    author = heard(telegram.say(telegram.user(id=77, **fields), group, "hi")).author
    assert (author.name, author.key) == (name, "telegram:77")


def test_an_author_brings_language_and_whether_it_is_a_bot(telegram: TelegramEmulator, group: Chat) -> None:
    robot = telegram.user("Robo", is_bot=True, language_code="zh-hans")
    author = heard(telegram.say(robot, group, "beep")).author
    assert (author.is_bot, author.locale) == (True, "zh-hans")


def test_T11_anonymous_admins_and_channels_are_known_by_the_chat_they_speak_for(
    telegram: TelegramEmulator, alice: User
) -> None:
    roses, tulips = telegram.group("Roses", alice), telegram.group("Tulips", alice)
    channel = telegram.group("News", kind="channel", username="news")

    def spoken_for(chat: Chat, stand_in: Json) -> Author:
        fields: Json = {"from": stand_in, "sender_chat": chat.as_json()}
        return heard(telegram.say(alice, roses, "hi", **fields)).author

    anonymous = [spoken_for(chat, ANONYMOUS_ADMIN) for chat in (roses, tulips)]
    linked = spoken_for(channel, CHANNEL_FORWARDER)
    assert [author.id for author in anonymous] == [str(roses.id), str(tulips.id)]
    assert [author.name for author in anonymous] == ["Roses", "Tulips"]
    assert (linked.id, linked.name) == (str(channel.id), "News")
    assert not {"777000", "1087968824"} & {author.id for author in (*anonymous, linked)}


# Which kind


def test_T12_an_edit_is_an_inbound_of_its_own_kind_with_the_same_id(telegram: TelegramEmulator, alice: User) -> None:
    message = telegram.say(alice, telegram.private(alice), "hi")
    telegram.edit(message, "hello")
    inbound = to_inbound(parsed(message), ME, kind=InboundKind.EDIT)
    assert inbound is not None
    assert (inbound.kind, inbound.message_id, inbound.text) == (
        InboundKind.EDIT,
        str(message["message_id"]),
        "hello",
    )


def test_T12_an_edit_names_the_files_that_are_left(telegram: TelegramEmulator, alice: User) -> None:
    message = telegram.say(alice, telegram.private(alice), caption="look", **telegram.photo(PNG))
    inbound = to_inbound(parsed({**message, "caption": "look here"}), ME, kind=InboundKind.EDIT)
    assert inbound is not None
    assert [file.note for file in inbound.attachments] == ["photo, 90×90"]


@pytest.mark.parametrize(
    "fields",
    [
        {"new_chat_members": [{"id": 5, "is_bot": False, "first_name": "Yan"}]},
        {"pinned_message": {"message_id": 1, "date": 0, "chat": {"id": -1, "type": "group"}}},
        {"text": "for a business", "business_connection_id": "b"},
    ],
)
def test_what_says_nothing_to_us_is_no_inbound(
    telegram: TelegramEmulator, alice: User, group: Chat, fields: Json
) -> None:
    assert to_inbound(parsed(telegram.say(alice, group, **fields)), ME) is None


def test_T10_a_channel_post_without_an_author_is_ignored(telegram: TelegramEmulator) -> None:
    channel = telegram.group("News", kind="channel")
    post = {"message_id": 1, "date": 1, "chat": channel.as_json(), "sender_chat": channel.as_json(), "text": "new"}
    assert to_inbound(parsed(post), ME) is None


def test_a_press_runs_the_command_that_the_button_carries_in_its_topic(telegram: TelegramEmulator, alice: User) -> None:
    forum = telegram.group("Garden", alice, is_forum=True)
    topic = telegram.topic(forum, "Roses")
    ours = telegram.post(forum, telegram.bot.as_json(), text="list", message_thread_id=topic, is_topic_message=True)
    query = {"id": "99", "from": alice.as_json(), "chat_instance": "1", "data": "persona list -p 2", "message": ours}
    inbound = to_press(CallbackQuery.de_json(query, None), now=NOW)
    assert inbound is not None
    assert (inbound.kind, inbound.text, inbound.message_id) == (InboundKind.BUTTON, "persona list -p 2", "99")
    assert (inbound.channel.thread, inbound.author.key) == (str(topic), f"telegram:{alice.id}")
    assert inbound.reply_handle == Pressed(message_id=ours["message_id"])


def test_a_press_under_a_message_too_old_to_show_still_counts(telegram: TelegramEmulator, alice: User) -> None:
    chat = telegram.private(alice)
    old = {"chat": chat.as_json(), "message_id": 7, "date": 0}
    query = {"id": "99", "from": alice.as_json(), "chat_instance": "1", "data": "help", "message": old}
    inbound = to_press(CallbackQuery.de_json(query, None), now=NOW)
    assert inbound is not None
    assert (inbound.channel.place, inbound.reply_handle) == (str(chat.id), Pressed(message_id=7))


def test_T23_both_service_messages_tell_the_same_migration(telegram: TelegramEmulator, alice: User) -> None:
    old = telegram.group("Garden", alice, kind="group")
    new = telegram.migrate(old)
    told = [
        to_migration(message)
        for chat in (old, new)
        for message in parsed(*chat.messages.values())
        if message.migrate_to_chat_id or message.migrate_from_chat_id
    ]
    assert len(told) == 2
    for inbound in told:
        assert inbound is not None
        assert inbound.migrated_to is not None
        assert (inbound.channel.place, inbound.migrated_to.place) == (str(old.id), str(new.id))

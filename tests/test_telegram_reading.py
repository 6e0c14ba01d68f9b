"""What a Telegram message says: its text without our mention, its quote, its forwards, and what is no text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telegram import MessageEntity

from adapters.telegram.inbound import to_inbound
from adapters.telegram.reading import read
from bot.chat import AttachmentKind, InboundKind
from tests.emulators.telegram import Chat, Json, TelegramEmulator, User
from tests.emulators.telegram.entities import utf16_length
from tests.emulators.telegram.stage import ME, PNG, heard, parsed

pytestmark = pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")


@pytest.fixture
def telegram() -> TelegramEmulator:
    return TelegramEmulator()


@pytest.fixture
def alice(telegram: TelegramEmulator) -> User:
    return telegram.user("Alice", language_code="de")


@pytest.fixture
def group(telegram: TelegramEmulator, alice: User) -> Chat:
    return telegram.group("Garden", alice)


@pytest.mark.parametrize(
    ("text", "read", "mine"),
    [
        ("@FamiliarBot hello", "hello", True),
        ("@familiarbot: hello", "hello", True),
        ("hey @FamiliarBot, look", "hey, look", True),
        ("😀😀 @FAMILIARBOT why?", "😀😀 why?", True),
        ("line\n@FamiliarBot do it", "line\ndo it", True),
        ("@FamiliarBot", "", True),
        ("ask @somebody_else", "ask @somebody_else", False),
        ("mail me@FamiliarBot.org", "mail me@FamiliarBot.org", False),
        ("@FamiliarBotany is a word", "@FamiliarBotany is a word", False),
        ("@FamiliarBot ask @somebody_else", "ask @somebody_else", True),
    ],
)
def test_our_mention_is_taken_out_and_others_stay_readable(
    telegram: TelegramEmulator, alice: User, group: Chat, text: str, read: str, mine: bool
) -> None:
    inbound = heard(telegram.say(alice, group, text))
    assert (inbound.text, inbound.mentions_me) == (read, mine)


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("／help@FamiliarBot me", "／help me"),
        ("／角色@familiarbot 东坡", "／角色 东坡"),
        ("／help@other_bot me", None),
        ("see ／help@other_bot", "see ／help@other_bot"),
    ],
)
def test_T17_a_command_behind_a_wide_slash_may_name_its_bot_as_one_behind_a_narrow_slash_does(
    typed: str, text: str | None
) -> None:
    found = read(typed, [], ME)
    assert (found and found.text) == text
    assert found is None or found.mentions_me is ("／" in typed[:1])


@given(before=st.text(), after=st.text())
def test_whatever_stands_around_our_mention_is_kept(before: str, after: str) -> None:
    mention = MessageEntity(MessageEntity.MENTION, utf16_length(before), len("@FamiliarBot"))
    found = read(f"{before}@FamiliarBot{after}", [mention], ME)
    assert found is not None
    assert found.mentions_me
    assert _without_separators(found.text) == _without_separators(before + after)


def _without_separators(text: str) -> str:
    return "".join(character for character in text if character not in " ,:").strip()


def test_a_mention_without_a_username_is_known_by_the_account(
    telegram: TelegramEmulator, alice: User, group: Chat
) -> None:
    entities = [
        {"type": "text_mention", "offset": 0, "length": 8, "user": telegram.bot.as_json()},
        {"type": "text_mention", "offset": 13, "length": 3, "user": telegram.user("Bob").as_json()},
    ]
    inbound = heard(telegram.say(alice, group, "Familiar meet Bob", entities=entities))
    assert (inbound.text, inbound.mentions_me) == ("meet Bob", True)


def test_a_mention_in_a_caption_counts(telegram: TelegramEmulator, alice: User, group: Chat) -> None:
    inbound = heard(telegram.say(alice, group, caption="@FamiliarBot what is it?", **telegram.photo(PNG)))
    assert (inbound.text, inbound.mentions_me) == ("what is it?", True)


def test_a_hidden_address_is_shown(telegram: TelegramEmulator, alice: User, group: Chat) -> None:
    entities = [{"type": "text_link", "offset": 5, "length": 4, "url": "https://example.org/a"}]
    assert heard(telegram.say(alice, group, "read this", entities=entities)).text == (
        "read this (https://example.org/a)"
    )


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("/reset@OtherBot", None),
        ("/reset@MyFamiliarBot now", None),
        ("/reset@FamiliarBot", "/reset"),
        ("/reset@familiarbot", "/reset"),
        ("/persona@FamiliarBot use luna", "/persona use luna"),
        ("/reset", "/reset"),
    ],
)
def test_T17_a_command_for_another_bot_is_not_ours(
    telegram: TelegramEmulator, alice: User, group: Chat, text: str, read: str | None
) -> None:
    inbound = to_inbound(parsed(telegram.say(alice, group, text)), ME)
    assert (inbound and inbound.text) == read


def test_a_reply_carries_its_quote_and_whether_it_is_ours(telegram: TelegramEmulator, alice: User, group: Chat) -> None:
    ours = telegram.post(group, telegram.bot.as_json(), text="I like roses and tulips")
    whole = heard(telegram.say(alice, group, "why?", reply_to=ours)).reply_to
    part = heard(
        telegram.say(alice, group, "why?", reply_to=ours, quote={"text": "tulips", "position": 17, "is_manual": True})
    ).reply_to
    assert whole is not None
    assert part is not None
    assert (whole.text, whole.author_name, whole.is_mine) == ("I like roses and tulips", "Familiar", True)
    assert (part.text, part.is_mine) == ("tulips", True)


def test_a_reply_to_a_photo_says_so(telegram: TelegramEmulator, alice: User, group: Chat) -> None:
    photo = telegram.say(alice, group, **telegram.photo(PNG))
    quote = heard(telegram.say(alice, group, "nice", reply_to=photo)).reply_to
    assert quote is not None
    assert (quote.text, quote.is_mine) == ("[photo, 90×90]", False)


def test_a_reply_to_a_message_elsewhere_names_its_author(telegram: TelegramEmulator, alice: User, group: Chat) -> None:
    origin = {"type": "hidden_user", "sender_user_name": "Zoe", "date": 1}
    quote = heard(
        telegram.say(alice, group, "so?", external_reply={"origin": origin}, quote={"text": "all done", "position": 0})
    ).reply_to
    assert quote is not None
    assert (quote.author_name, quote.text, quote.is_mine) == ("Zoe", "all done", False)
    assert quote.author_key is None


@pytest.mark.parametrize("kind", ["chat", "channel"])
def test_T11_a_quote_from_elsewhere_tells_which_chat_spoke_for_itself(
    telegram: TelegramEmulator, alice: User, group: Chat, kind: str
) -> None:
    news = telegram.group("News", kind="channel" if kind == "channel" else "supergroup")
    chat = {"chat": news.as_json(), "message_id": 5} if kind == "channel" else {"sender_chat": news.as_json()}
    external = {"origin": {"type": kind, "date": 1, **chat}}
    quote = heard(telegram.say(alice, group, "so?", external_reply=external)).reply_to
    assert quote is not None
    assert (quote.author_name, quote.author_key) == ("News", f"telegram:{news.id}")


@pytest.mark.parametrize(
    ("chat", "message_id", "is_mine"), [("here", "9", True), ("elsewhere", "", False), (None, "", False)]
)
def test_the_id_of_a_message_in_another_chat_is_not_taken_for_one_of_this(
    telegram: TelegramEmulator, alice: User, group: Chat, chat: str | None, message_id: str, is_mine: bool
) -> None:
    chats = {"here": {"chat": group.as_json()}, "elsewhere": {"chat": telegram.group("News", alice).as_json()}}
    origin = {"type": "user", "sender_user": telegram.bot.as_json(), "date": 1}
    external = {"origin": origin, "message_id": 9, **(chats[chat] if chat else {})}
    quote = heard(telegram.say(alice, group, "so?", external_reply=external)).reply_to
    assert quote is not None
    assert (quote.message_id, quote.is_mine, quote.author_key) == (message_id, is_mine, "telegram:4242")


@pytest.mark.parametrize(
    ("origin", "label"),
    [
        ({"type": "hidden_user", "sender_user_name": "Zoe"}, "[forwarded from Zoe]"),
        ({"type": "user", "sender_user": {"id": 5, "is_bot": False, "first_name": "Yan"}}, "[forwarded from Yan]"),
        (
            {"type": "channel", "chat": {"id": -5, "type": "channel", "title": "News"}, "message_id": 3},
            "[forwarded from News]",
        ),
        ({"type": "chat", "sender_chat": {"id": -5, "type": "group", "title": "Club"}}, "[forwarded from Club]"),
    ],
)
def test_a_forward_is_labelled(telegram: TelegramEmulator, alice: User, group: Chat, origin: Json, label: str) -> None:
    message = telegram.say(alice, group, "/reset", forward_origin={"date": 1, **origin})
    assert heard(message).text == f"{label}\n/reset", "and a forwarded command is no command"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {
                "sticker": {
                    "emoji": "👋",
                    "set_name": "cats",
                    "type": "regular",
                    "is_animated": False,
                    "is_video": False,
                }
            },
            "[sticker 👋 from cats]",
        ),
        (
            {
                "poll": {
                    "id": "1",
                    "question": "Pizza\nor sushi?",
                    "options": [
                        {"persistent_id": "a", "text": "Pizza", "voter_count": 0},
                        {"persistent_id": "b", "text": "Sushi", "voter_count": 1},
                    ],
                    "total_voter_count": 1,
                    "is_closed": False,
                    "is_anonymous": True,
                    "type": "regular",
                    "allows_multiple_answers": False,
                    "allows_revoting": False,
                    "members_only": False,
                }
            },
            "[poll: Pizza or sushi? – Pizza / Sushi]",
        ),
        ({"location": {"longitude": 13.4, "latitude": 52.5}}, "[location: 52.50000, 13.40000]"),
        ({"contact": {"phone_number": "+4930", "first_name": "Bo", "last_name": "Li"}}, "[contact: Bo Li, +4930]"),
        ({"dice": {"emoji": "🎲", "value": 4}}, "[dice 🎲 shows 4]"),
    ],
)
def test_what_is_neither_text_nor_file_is_described(
    telegram: TelegramEmulator, alice: User, group: Chat, fields: Json, text: str
) -> None:
    if "sticker" in fields:
        fields["sticker"] |= {"file_id": "a", "file_unique_id": "b", "width": 1, "height": 1}
    assert heard(telegram.say(alice, group, **fields)).text == text


FILE = {"file_id": "a", "file_unique_id": "b", "file_size": 20_480}


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"voice": {**FILE, "duration": 12}}, "voice message, 12 s"),
        ({"video": {**FILE, "duration": 61, "width": 1, "height": 1, "file_name": "a.mp4"}}, "video, 61 s"),
        ({"video_note": {**FILE, "duration": 5, "length": 1}}, "video message, 5 s"),
        ({"audio": {**FILE, "duration": 200, "title": "Blue\nMoon"}}, "audio Blue Moon, 200 s"),
        ({"document": {**FILE, "file_name": "a.pdf"}}, "file a.pdf, 20 kB"),
    ],
)
@pytest.mark.parametrize("as_timedelta", ["false", "true"])
def test_a_file_that_is_not_read_carries_a_note(
    telegram: TelegramEmulator,
    alice: User,
    group: Chat,
    fields: Json,
    note: str,
    as_timedelta: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PTB_TIMEDELTA", as_timedelta)
    (file,) = heard(telegram.say(alice, group, **fields)).attachments
    assert (file.kind, file.note) == (AttachmentKind.OTHER, note)


def test_T16_an_album_is_one_inbound_with_its_caption_and_all_its_photos(
    telegram: TelegramEmulator, alice: User, group: Chat
) -> None:
    album = telegram.album(alice, group, PNG, PNG, PNG, PNG, caption="@FamiliarBot look")
    inbound = heard(*album)
    assert (inbound.text, inbound.mentions_me, len(inbound.attachments)) == ("look", True, 4)
    assert inbound.message_id == str(album[0]["message_id"])


def test_T12_an_album_is_known_by_the_message_with_the_caption_which_is_the_one_that_is_edited(
    telegram: TelegramEmulator, alice: User, group: Chat
) -> None:
    album = telegram.album(alice, group, PNG, PNG, caption="")
    captioned = {**album[1], "caption": "look"}
    edit = to_inbound(parsed({**captioned, "caption": "look here"}), ME, kind=InboundKind.EDIT)
    assert edit is not None
    assert edit.message_id == heard(album[0], captioned).message_id

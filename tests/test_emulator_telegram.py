"""The Bot API server that the other tests stand on: what the real one refuses, it refuses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from telegram import Bot, BotCommand, InputMediaDocument, MessageEntity, Update
from telegram.error import BadRequest, ChatMigrated, RetryAfter

from tests.emulators.telegram import After, Json, Pace, TelegramEmulator
from tests.emulators.telegram.updates import SECRET_HEADER

pytestmark = pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")


class Client:
    """Calls methods over HTTP and hands back (status, body)."""

    def __init__(self, telegram: TelegramEmulator, session: aiohttp.ClientSession) -> None:
        self._telegram, self._session = telegram, session

    async def __call__(self, method: str, **parameters: Any) -> tuple[int, Json]:
        url = f"{self._telegram.base_url}{self._telegram.token}/{method}"
        async with self._session.post(url, json=parameters) as answer:
            return answer.status, await answer.json()

    async def refusal(self, method: str, **parameters: Any) -> str:
        status, body = await self(method, **parameters)
        assert status == body["error_code"] >= 400, body
        return str(body["description"])


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramEmulator]:
    async with TelegramEmulator() as server:
        yield server


@pytest.fixture
async def call(telegram: TelegramEmulator) -> AsyncIterator[Client]:
    async with aiohttp.ClientSession() as session:
        yield Client(telegram, session)


async def test_the_library_talks_to_it_in_its_own_words(telegram: TelegramEmulator) -> None:
    alice = telegram.user("Alice")
    chat = telegram.private(alice)
    async with Bot(telegram.token, telegram.base_url, telegram.base_file_url) as bot:
        telegram.say(alice, chat, "hello", **telegram.document(b"abc", "a.txt", "text/plain"))
        (update,) = await bot.get_updates(timeout=5, allowed_updates=[Update.MESSAGE])
        assert update.message
        assert update.message.document
        file = await bot.get_file(update.message.document.file_id)
        assert bytes(await file.download_as_bytearray()) == b"abc"
        await bot.send_message_draft(chat.id, 7, "Hel")
        entities = [MessageEntity(MessageEntity.BOLD, 0, 5)]
        sent = await bot.send_message(chat.id, "Hello", entities=entities, reply_to_message_id=update.message.id)
        await bot.edit_message_text("Hello you", chat.id, sent.id)
        await bot.send_document(chat.id, b"# all", filename="answer.md", caption="the rest")
        group = await bot.send_media_group(chat.id, [InputMediaDocument(b"1"), InputMediaDocument(b"2")])
        assert len({message.media_group_id for message in group}) == 1
        await bot.set_my_commands([BotCommand("help", "What I can do")])
        assert [command.command for command in await bot.get_my_commands()] == ["help"]
        assert (await bot.get_chat_member(chat.id, alice.id)).status == "member"
    assert telegram.bot_texts(chat)[:2] == ["Hello you", "the rest"]
    assert [draft.text for draft in chat.drafts] == ["Hel"]


async def test_an_offset_confirms_and_a_waiting_poll_wakes_early(telegram: TelegramEmulator, call: Client) -> None:
    alice = telegram.user("Alice")
    chat = telegram.private(alice)
    waiting = asyncio.ensure_future(call("getUpdates", timeout=30))
    await telegram.wait_for(lambda: telegram.polling)
    telegram.say(alice, chat, "one")
    _, body = await asyncio.wait_for(waiting, 5)
    (update,) = body["result"]
    assert update["message"]["text"] == "one"
    assert (await call("getUpdates"))[1]["result"] == [update], "not confirmed yet"
    assert (await call("getUpdates", offset=update["update_id"] + 1))[1]["result"] == []
    assert telegram.updates.pending == []


async def test_a_second_poller_ends_the_first_with_a_conflict(telegram: TelegramEmulator, call: Client) -> None:
    first = asyncio.ensure_future(call("getUpdates", timeout=30))
    await telegram.wait_for(lambda: telegram.polling)
    await call("getUpdates", timeout=0)
    status, body = await first
    assert (status, body["description"].split(":")[0]) == (409, "Conflict")


async def test_a_webhook_is_retried_until_it_accepts_and_excludes_polling(
    telegram: TelegramEmulator, call: Client
) -> None:
    seen: list[tuple[str | None, str]] = []

    async def receive(request: web.Request) -> web.Response:
        seen.append((request.headers.get(SECRET_HEADER), (await request.json())["message"]["text"]))
        return web.Response(status=500 if len(seen) == 1 else 200)

    app = web.Application()
    app.router.add_post("/hook", receive)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    assert await call.refusal("setWebhook", url="http://example.org/") == (
        "Bad Request: bad webhook: An HTTPS URL must be provided for webhook"
    )
    await call("setWebhook", url=url, secret_token="s3cret")
    alice = telegram.user("Alice")
    telegram.say(alice, telegram.private(alice), "hi")
    await telegram.wait_for(lambda: not telegram.updates.pending)
    assert seen == [("s3cret", "hi")] * 2
    assert (await call.refusal("getUpdates")).startswith("Conflict: can't use getUpdates method while webhook")
    assert (await call("getWebhookInfo"))[1]["result"]["url"] == url
    await call("deleteWebhook")
    assert (await call("getUpdates"))[0] == 200
    await runner.cleanup()


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("not for you", False),
        ("hello @familiarbot", True),
        ("/help", True),
        ("/help@FamiliarBot", True),
        ("/help@OtherBot", False),
    ],
)
async def test_T18_privacy_mode_hides_what_is_not_addressed(text: str, heard: bool) -> None:
    async with TelegramEmulator(privacy=True) as telegram:
        alice = telegram.user("Alice")
        telegram.say(alice, telegram.group("Garden", alice), text)
        assert bool(telegram.updates.pending) is heard


async def test_privacy_mode_lets_replies_to_the_bot_through() -> None:
    async with TelegramEmulator(privacy=True) as telegram:
        alice = telegram.user("Alice")
        group = telegram.group("Garden", alice)
        ours = telegram.post(group, telegram.bot.as_json(), text="mine")
        telegram.say(alice, group, "and?", reply_to=ours)
        assert len(telegram.updates.pending) == 1


FACE = "😀"


@pytest.mark.parametrize(
    ("text", "entities", "problem"),
    [
        ("abc", [("bold", 0, 4)], "bold ends after the text"),
        ("abc", [("bold", 1, 0)], "incorrect offset or length of bold"),
        (FACE + "a", [("bold", 1, 2)], "bold begins or ends in the middle of a UTF-16 symbol"),
        (FACE + "a", [("bold", 0, 1)], "bold begins or ends in the middle of a UTF-16 symbol"),
        ("abcdef", [("bold", 0, 4), ("italic", 2, 4)], "bold and italic cross"),
        ("abcdef", [("code", 0, 4), ("bold", 1, 2)], "code can't contain bold"),
        ("abcdef", [("blockquote", 0, 6), ("expandable_blockquote", 0, 3)], "block quotes can't be nested"),
        ("abcdef", [("text_link", 0, 3)], "text_link needs url"),
        ("abcdef", [("heading", 0, 3)], "unsupported entity type 'heading'"),
    ],
)
async def test_entities_must_fit_the_text_in_utf16_units_and_each_other(
    telegram: TelegramEmulator, call: Client, text: str, entities: list[tuple[str, int, int]], problem: str
) -> None:
    chat = telegram.private(telegram.user("Alice"))
    given = [{"type": kind, "offset": offset, "length": length} for kind, offset, length in entities]
    assert await call.refusal("sendMessage", chat_id=chat.id, text=text, entities=given) == (
        f"Bad Request: can't parse entities: {problem}"
    )


async def test_entities_that_fit_are_kept_and_clipped_where_the_text_is_trimmed(
    telegram: TelegramEmulator, call: Client
) -> None:
    chat = telegram.private(telegram.user("Alice"))
    entities = [{"type": "italic", "offset": 2, "length": 3}, {"type": "bold", "offset": 0, "length": 6}]
    _, body = await call("sendMessage", chat_id=chat.id, text=FACE + "abc \n", entities=entities)
    assert body["result"]["text"] == FACE + "abc"
    assert [(e["type"], e["offset"], e["length"]) for e in body["result"]["entities"]] == [
        ("bold", 0, 5),
        ("italic", 2, 3),
    ]


async def test_code_may_stand_in_a_quote_and_only_a_hundred_entities_are_shown(
    telegram: TelegramEmulator, call: Client
) -> None:
    chat = telegram.private(telegram.user("Alice"))
    quoted = [{"type": "blockquote", "offset": 0, "length": 240}]
    codes = [{"type": "code", "offset": 2 * number, "length": 1} for number in range(120)]
    _, body = await call("sendMessage", chat_id=chat.id, text="a " * 120, entities=quoted + codes)
    assert len(body["result"]["entities"]) == 100
    links = [
        {"type": "text_link", "offset": 2 * number, "length": 1, "url": "https://a.b/" + "c" * 100}
        for number in range(90)
    ]
    refusal = await call.refusal("sendMessage", chat_id=chat.id, text="a " * 120, entities=links)
    assert refusal == "Bad Request: ENTITIES_TOO_LONG"


@pytest.mark.parametrize(
    ("method", "parameters", "problem"),
    [
        ("sendMessage", {"text": FACE * 2049}, "message is too long"),
        ("sendMessage", {"text": " \n"}, "message text is empty"),
        ("sendMessage", {"text": "x", "parse_mode": "HTML"}, "unsupported parse_mode: this server takes entities"),
        ("sendMessage", {"text": "x", "reply_parameters": {"message_id": 99}}, "message to be replied not found"),
        ("sendMessage", {"text": "x", "message_thread_id": 1}, "message thread not found"),
        ("sendMessageDraft", {"text": "x", "draft_id": 5}, "TEXTDRAFT_PEER_INVALID"),
        ("editMessageText", {"text": "x", "message_id": 99}, "message to edit not found"),
        ("deleteMessage", {"message_id": 99}, "message to delete not found"),
        ("getFile", {"file_id": "nothing"}, "wrong file_id or the file is temporarily unavailable"),
        ("answerCallbackQuery", {"callback_query_id": "5"}, "query is too old"),
        ("setMyCommands", {"commands": [{"command": "Help", "description": "x"}]}, "BOT_COMMAND_INVALID"),
        ("setMyCommands", {"commands": [{"command": "a", "description": "x"}] * 101}, "BOT_COMMANDS_TOO_MUCH"),
    ],
)
async def test_what_the_real_server_refuses_is_refused(method: str, parameters: Json, problem: str) -> None:
    async with TelegramEmulator() as telegram, aiohttp.ClientSession() as session:
        group = telegram.group("Garden", telegram.user("Alice"), is_forum=True)
        addressed = {"chat_id": group.id} if not method.endswith(("File", "Query", "Commands")) else {}
        refusal = await Client(telegram, session).refusal(method, **addressed, **parameters)
        assert refusal.startswith(f"Bad Request: {problem}")


async def test_a_caption_is_limited_to_1024_units(telegram: TelegramEmulator) -> None:
    chat = telegram.private(telegram.user("Alice"))
    async with Bot(telegram.token, telegram.base_url, telegram.base_file_url) as bot:
        with pytest.raises(BadRequest, match="caption is too long"):
            await bot.send_document(chat.id, b"x", caption="c" * 1025)


async def test_T06_an_edit_without_a_change_is_refused(telegram: TelegramEmulator, call: Client) -> None:
    chat = telegram.private(telegram.user("Alice"))
    _, body = await call("sendMessage", chat_id=chat.id, text="same")
    target = {"chat_id": chat.id, "message_id": body["result"]["message_id"]}
    assert "message is not modified" in await call.refusal("editMessageText", text="same", **target)
    assert (await call("editMessageText", text="other", **target))[0] == 200


async def test_a_button_holds_64_bytes_and_a_press_is_answered_once(telegram: TelegramEmulator, call: Client) -> None:
    alice = telegram.user("Alice")
    chat = telegram.private(alice)

    def keyboard(data: str) -> Json:
        return {"inline_keyboard": [[{"text": "Go", "callback_data": data}]]}

    refusal = await call.refusal("sendMessage", chat_id=chat.id, text="x", reply_markup=keyboard("é" * 33))
    assert refusal == "Bad Request: BUTTON_DATA_INVALID"
    await call("sendMessage", chat_id=chat.id, text="x", reply_markup=keyboard("persona list"))
    query = telegram.press(alice, telegram.bot_messages(chat)[0], "Go")
    _, body = await call("getUpdates")
    assert body["result"][0]["callback_query"]["data"] == "persona list"
    assert (await call("answerCallbackQuery", callback_query_id=query))[0] == 200
    assert "too old" in await call.refusal("answerCallbackQuery", callback_query_id=query)


async def test_a_topic_message_carries_its_thread_and_the_opening_message(telegram: TelegramEmulator) -> None:
    alice = telegram.user("Alice")
    group = telegram.group("Garden", alice, is_forum=True)
    topic = telegram.topic(group, "News")
    message = telegram.say(alice, group, "hi", topic=topic)
    assert message["message_thread_id"] == topic
    assert message["is_topic_message"] is True
    assert message["reply_to_message"]["forum_topic_created"]["name"] == "News"


async def test_T09_after_a_migration_the_old_chat_names_the_new_one(telegram: TelegramEmulator, call: Client) -> None:
    alice = telegram.user("Alice")
    old = telegram.group("Garden", alice, kind="group")
    new = telegram.migrate(old)
    _, body = await call("getUpdates")
    notices = [update["message"] for update in body["result"]]
    assert [notice.get("migrate_to_chat_id") for notice in notices] == [new.id, None]
    assert [notice.get("migrate_from_chat_id") for notice in notices] == [None, old.id]
    async with Bot(telegram.token, telegram.base_url, telegram.base_file_url) as bot:
        with pytest.raises(ChatMigrated) as refused:
            await bot.send_message(old.id, "hello?")
    assert refused.value.new_chat_id == new.id


async def test_T07_a_chat_that_is_written_to_too_fast_asks_to_wait() -> None:
    now = 1000.0
    async with TelegramEmulator(clock=lambda: now) as telegram:
        chat, other = telegram.private(telegram.user("Alice")), telegram.private(telegram.user("Bob"))
        telegram.pace = Pace(messages=1, seconds=35)
        async with Bot(telegram.token, telegram.base_url, telegram.base_file_url) as bot:
            await bot.send_message(chat.id, "one")
            await bot.send_message(other.id, "one")
            with pytest.raises(RetryAfter) as refused:
                await bot.send_message(chat.id, "two")
            assert refused.value.retry_after == 35
            now += 35
            await bot.send_message(chat.id, "two")
    assert telegram.bot_texts(chat) == ["one", "two"]


async def test_faults_come_as_ordered_and_then_are_over(telegram: TelegramEmulator, call: Client) -> None:
    chat = telegram.private(telegram.user("Alice"))
    telegram.fail("sendMessage", 502, "Bad Gateway")
    telegram.fail("sendMessage", reset=True)
    telegram.fail("sendMessage", after=After.CUT)
    assert await call.refusal("sendMessage", chat_id=chat.id, text="1") == "Bad Gateway"
    with pytest.raises(aiohttp.ClientError):
        await call("sendMessage", chat_id=chat.id, text="2")
    with pytest.raises(aiohttp.ClientError):
        await call("sendMessage", chat_id=chat.id, text="3")
    await call("sendMessage", chat_id=chat.id, text="4")
    assert telegram.bot_texts(chat) == ["3", "4"], "a lost answer was carried out, a reset was not"


async def test_it_goes_away_and_comes_back_on_the_same_port(telegram: TelegramEmulator, call: Client) -> None:
    await telegram.go_away()
    with pytest.raises(aiohttp.ClientConnectorError):
        await call("getMe")
    await telegram.come_back()
    assert (await call("getMe"))[0] == 200


async def test_a_wrong_token_is_unauthorized(telegram: TelegramEmulator) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"{telegram.base_url}1:x/getMe") as answer:
        assert (answer.status, json.loads(await answer.text())["description"]) == (401, "Unauthorized")


@pytest.mark.parametrize(
    ("method", "parameters", "mistake"),
    [
        ("sendSmoke", {}, "unknown method sendSmoke"),
        ("getMe", {"verbose": True}, r"getMe does not know \['verbose'\]"),
    ],
)
async def test_a_method_or_parameter_it_does_not_know_fails_the_test(
    method: str, parameters: Json, mistake: str
) -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(AssertionError, match=mistake):
            async with TelegramEmulator() as telegram:
                await Client(telegram, session)(method, **parameters)

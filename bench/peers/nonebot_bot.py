"""NoneBot2 with its Telegram adapter and one small plugin, with the OpenAI client and a list as history."""

import sys

import nonebot
from nonebot import on_message
from nonebot.adapters.telegram import Adapter, Event
from openai import AsyncOpenAI

PORT = sys.argv[1]
nonebot.init(
    driver="~httpx",
    log_level="WARNING",
    telegram_bots=[{"token": "1:" + "A" * 35, "api_server": f"http://127.0.0.1:{PORT}/"}],
)
nonebot.get_driver().register_adapter(Adapter)
client = AsyncOpenAI(base_url=f"http://127.0.0.1:{PORT}/v1", api_key="x")
histories: dict[str, list] = {}
matcher = on_message()


@matcher.handle()
async def answer(event: Event) -> None:
    """Ask the model with the newest 25 messages and reply."""
    history = histories.setdefault(event.get_session_id(), [])
    history.append({"role": "user", "content": event.get_plaintext()})
    prompt = [{"role": "system", "content": "You are Mira."}, *history[-25:]]
    completion = await client.chat.completions.create(model="stub", messages=prompt)
    text = completion.choices[0].message.content
    history.append({"role": "assistant", "content": text})
    await matcher.send(text)


nonebot.run()

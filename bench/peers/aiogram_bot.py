"""aiogram as its documentation shows it, with the OpenAI client and a list as history."""

import asyncio
import sys

from aiogram import Bot, Dispatcher
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.types import Message
from openai import AsyncOpenAI

PORT = sys.argv[1]
client = AsyncOpenAI(base_url=f"http://127.0.0.1:{PORT}/v1", api_key="x")
histories: dict[int, list] = {}
dispatcher = Dispatcher()


@dispatcher.message()
async def answer(message: Message) -> None:
    """Ask the model with the newest 25 messages and reply."""
    history = histories.setdefault(message.chat.id, [])
    history.append({"role": "user", "content": message.text})
    prompt = [{"role": "system", "content": "You are Mira."}, *history[-25:]]
    completion = await client.chat.completions.create(model="stub", messages=prompt)
    text = completion.choices[0].message.content
    history.append({"role": "assistant", "content": text})
    await message.answer(text)


async def main() -> None:
    """Poll for ever."""
    server = TelegramAPIServer.from_base(f"http://127.0.0.1:{PORT}")
    await dispatcher.start_polling(Bot("1:" + "A" * 35, session=AiohttpSession(api=server)))


asyncio.run(main())

"""python-telegram-bot as its documentation shows it, with the OpenAI client and a list as history."""

import sys

from openai import AsyncOpenAI
from telegram.ext import ApplicationBuilder, MessageHandler, filters

PORT = sys.argv[1]
client = AsyncOpenAI(base_url=f"http://127.0.0.1:{PORT}/v1", api_key="x")
histories: dict[int, list] = {}


async def answer(update, _context) -> None:
    """Ask the model with the newest 25 messages and reply."""
    message = update.message
    history = histories.setdefault(message.chat_id, [])
    history.append({"role": "user", "content": message.text})
    prompt = [{"role": "system", "content": "You are Mira."}, *history[-25:]]
    completion = await client.chat.completions.create(model="stub", messages=prompt)
    text = completion.choices[0].message.content
    history.append({"role": "assistant", "content": text})
    await message.reply_text(text)


application = (
    ApplicationBuilder().token("1:x").base_url(f"http://127.0.0.1:{PORT}/bot").concurrent_updates(True).build()
)
application.add_handler(MessageHandler(filters.ALL, answer))
application.run_polling()

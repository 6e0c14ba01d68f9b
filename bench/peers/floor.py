"""The floor: a bare polling loop that asks the model and sends the answer, without any framework or memory."""

import asyncio
import sys

import aiohttp

BASE = f"http://127.0.0.1:{sys.argv[1]}"


async def main() -> None:
    """Poll for ever, one message at a time per chat."""
    async with aiohttp.ClientSession() as http:

        async def answer(message: dict) -> None:
            history = histories.setdefault(message["chat"]["id"], [])
            history.append({"role": "user", "content": message["text"]})
            prompt = [{"role": "system", "content": "You are Mira."}, *history[-25:]]
            async with http.post(f"{BASE}/v1/chat/completions", json={"model": "stub", "messages": prompt}) as response:
                text = (await response.json())["choices"][0]["message"]["content"]
            history.append({"role": "assistant", "content": text})
            send = {"chat_id": message["chat"]["id"], "text": text}
            async with http.post(f"{BASE}/bot1:x/sendMessage", json=send) as response:
                await response.read()

        histories: dict[int, list[dict]] = {}
        running: set[asyncio.Task] = set()
        offset = 0
        while True:
            poll = {"offset": offset, "timeout": 30}
            async with http.post(f"{BASE}/bot1:x/getUpdates", json=poll) as response:
                updates = (await response.json())["result"]
            for update in updates:
                offset = update["update_id"] + 1
                task = asyncio.create_task(answer(update["message"]))
                running.add(task)
                task.add_done_callback(running.discard)


asyncio.run(main())

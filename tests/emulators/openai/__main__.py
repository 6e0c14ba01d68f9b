"""`python -m tests.emulators.openai --profile mistral --port 8080`: a server that behaves like a kind of server, to try
a client on. It repeats what it is told.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib

from tests.emulators.openai.emulator import OpenAIEmulator
from tests.emulators.openai.profiles import PROFILES, behaving_like
from tests.emulators.openai.script import Say


async def serve(name: str, port: int) -> None:
    """Until somebody interrupts it."""
    profile = next(one for one in PROFILES if one.name == name)
    echo = behaving_like(profile, lambda request: Say(text=f"You said: {request.last_user}", reasoning="Let me see."))
    async with OpenAIEmulator(echo, models=[profile.model], write_bytes=profile.write_bytes, port=port) as server:
        print(f"{name} at {server.base_url}", flush=True)
        await asyncio.Event().wait()


parser = argparse.ArgumentParser(description="Serve a profile of a model server on this machine.")
parser.add_argument("--profile", choices=[one.name for one in PROFILES], required=True)
parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
given = parser.parse_args()
with contextlib.suppress(KeyboardInterrupt):
    asyncio.run(serve(given.profile, given.port))

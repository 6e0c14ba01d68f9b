"""Decides which files an adapter fetches, before anything else is known of their message."""

from __future__ import annotations

from bot.app.running import Core
from bot.chat import Inbound, WantsFiles
from bot.gate import AccessPolicy, is_called
from bot.judging import is_text_command
from bot.store.sessions import load_overrides


def make_wants_files(core: Core) -> WantsFiles:
    """Those of messages that call the bot where they stand; any persona's name may be the one that counts there. Where
    it chimes in by chance, files of what does not speak to it are heard by their names only.
    """
    policy = AccessPolicy(access=core.settings.access)

    async def wants_files(inbound: Inbound) -> bool:
        if not (inbound.attachments or inbound.reply_to) or not policy.admits(inbound.author, inbound.channel):
            return False
        if is_text_command(inbound) and inbound.text[1:2].isalpha():
            return False  # a command asks for the files it takes
        personas = core.library.at(inbound.channel.place_key).personas
        names = [name for persona in personas for name in (persona.name, persona.card.name)]
        stored = await core.db.read(load_overrides, inbound.channel)
        return is_called(inbound, core.resolver.resolve(inbound.channel.platform, stored).values, names)

    return wants_files

"""Discord on loopback sockets for tests: simcord's semantics behind a real REST server, gateway and file server."""

from tests.emulators.discord.emulator import DiscordEmulator, library_pointed_at
from tests.emulators.discord.faults import Fault
from tests.emulators.discord.journal import Event, Frame, Journal, Request

__all__ = ["DiscordEmulator", "Event", "Fault", "Frame", "Journal", "Request", "library_pointed_at"]

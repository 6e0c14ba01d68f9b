"""A Telegram Bot API server of our own, on a loopback socket: what the real one refuses, it refuses."""

from tests.emulators.telegram.faults import After, Fault
from tests.emulators.telegram.rules import Pace
from tests.emulators.telegram.server import TelegramEmulator
from tests.emulators.telegram.world import Chat, Draft, Json, User

__all__ = ["After", "Chat", "Draft", "Fault", "Json", "Pace", "TelegramEmulator", "User"]

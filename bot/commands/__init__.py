"""The commands, one file per group. To add one, write it in a group's file or a new one, and list the group below."""

from __future__ import annotations

from collections.abc import Sequence

from bot.chat import Complete, ValueQuery
from bot.commands.cast import CAST_COMMANDS
from bot.commands.clearing import CLEARING_COMMANDS
from bot.commands.command import Command, Desk
from bot.commands.compact import COMPACT_COMMANDS
from bot.commands.context import CONTEXT_COMMANDS
from bot.commands.conversation import CONVERSATION_COMMANDS
from bot.commands.export import EXPORT_COMMANDS
from bot.commands.follow_ups import FOLLOW_UP_COMMANDS
from bot.commands.help import HELP_COMMANDS
from bot.commands.history import HISTORY_COMMANDS
from bot.commands.lore import LORE_COMMANDS
from bot.commands.lore_edit import LORE_EDIT_COMMANDS
from bot.commands.lore_files import LORE_FILE_COMMANDS
from bot.commands.me import ME_COMMANDS
from bot.commands.members import OF, suggest_members
from bot.commands.memory import MEMORY_COMMANDS
from bot.commands.model import MODEL_COMMANDS
from bot.commands.persona import PERSONA_COMMANDS
from bot.commands.persona_edit import EDIT_COMMANDS
from bot.commands.persona_export import CARD_EXPORT_COMMANDS
from bot.commands.persona_greeting import GREETING_COMMANDS
from bot.commands.persona_import import IMPORT_COMMANDS
from bot.commands.persona_info import INFO_COMMANDS
from bot.commands.privacy import PRIVACY_COMMANDS
from bot.commands.quota import QUOTA_COMMANDS
from bot.commands.reminders import REMINDER_COMMANDS
from bot.commands.session import SESSION_COMMANDS
from bot.commands.tools import TOOL_COMMANDS
from bot.commands.usage import USAGE_COMMANDS

MAX_COMPLETIONS = 25
"""What `bot.chat.Complete` promises."""


def make_complete(desk: Desk, commands: Sequence[Command]) -> Complete:
    """Completion for the adapters' menus; people who are not admitted are offered nothing."""
    by_path = {command.spec.path: command for command in commands}

    async def complete(query: ValueQuery) -> Sequence[str]:
        command = by_path.get(query.path)
        if command is None:
            return ()
        is_of = query.option == OF.name and OF in command.spec.options
        suggest = suggest_members if is_of else command.suggest
        if suggest is None or not desk.policy.admits(query.author, query.channel):
            return ()
        await desk.imported.refresh()
        return (await suggest(desk, query))[:MAX_COMPLETIONS]

    return complete


COMMANDS: tuple[Command, ...] = (
    *PERSONA_COMMANDS,
    *INFO_COMMANDS,
    *GREETING_COMMANDS,
    *IMPORT_COMMANDS,
    *CARD_EXPORT_COMMANDS,
    *EDIT_COMMANDS,
    *LORE_COMMANDS,
    *LORE_EDIT_COMMANDS,
    *LORE_FILE_COMMANDS,
    *CAST_COMMANDS,
    *MODEL_COMMANDS,
    *SESSION_COMMANDS,
    *CONVERSATION_COMMANDS,
    *MEMORY_COMMANDS,
    *CLEARING_COMMANDS,
    *EXPORT_COMMANDS,
    *FOLLOW_UP_COMMANDS,
    *REMINDER_COMMANDS,
    *TOOL_COMMANDS,
    *COMPACT_COMMANDS,
    *HISTORY_COMMANDS,
    *CONTEXT_COMMANDS,
    *USAGE_COMMANDS,
    *QUOTA_COMMANDS,
    *PRIVACY_COMMANDS,
    *ME_COMMANDS,
    *HELP_COMMANDS,
)

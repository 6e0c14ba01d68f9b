"""Who is answered: lists of people and places, and other bots."""

from __future__ import annotations

from pydantic import Field

from bot.settings.kinds import Group, NameList


class AccessSettings(Group):
    """Who may talk to the bot. Keys are `platform:id`; empty allow lists allow everybody; deny wins."""

    allow_users: NameList = Field((), description="platform:id of people, comma separated: discord:123, telegram:456")
    deny_users: NameList = ()
    allow_roles: NameList = Field((), description="discord:role id")
    deny_roles: NameList = ()
    allow_channels: NameList = Field((), description="platform:channel id; threads follow their channel")
    deny_channels: NameList = ()
    allow_places: NameList = Field((), description="discord:guild id, telegram:chat id (groups have a minus)")
    deny_places: NameList = ()
    admins: NameList = Field((), description="users who may change everything everywhere")
    tool_groups: NameList = Field(
        (), description="tool groups that others than admins may switch on, for a place or their own chat; * = all"
    )
    open_commands: bool = Field(
        False, description="everybody may use what else needs rights in groups: persona, model, settings, reset, memory"
    )


class BotsSettings(Group):
    """How to treat other bots (D07)."""

    answer: bool = Field(False, description="answer other bots, and what webhooks post")
    max_turns: int = Field(3, ge=1, description="answers to bots in a row before a human speaks")

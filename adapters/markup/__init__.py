"""One reading of a model's Markdown, shown as Telegram entities or as what Discord understands of it.

Knows no client library; where a text may be cut is known by `adapters.split`.
"""

from adapters.markup.discord import to_discord
from adapters.markup.entities import to_entities
from adapters.markup.formatted import Entity, EntityType, FormattedText, under_name
from adapters.markup.mentions import without_mentions
from adapters.markup.messages import split_entities

__all__ = [
    "Entity",
    "EntityType",
    "FormattedText",
    "split_entities",
    "to_discord",
    "to_entities",
    "under_name",
    "without_mentions",
]

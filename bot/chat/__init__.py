"""What a chat platform is to us: the values that cross the border, and the one interface an adapter fills.

Knows no platform, no database and no model; adapters import this package (and `bot.errors`) and nothing else of `bot`.
"""

from bot.chat.adapter import Adapter, Deliver, Finding, Severity, WantsFiles
from bot.chat.commands import (
    CommandMenu,
    CommandSpec,
    Complete,
    OptionKind,
    OptionSpec,
    Translate,
    ValueQuery,
)
from bot.chat.messages import (
    Attachment,
    AttachmentKind,
    Author,
    ChannelRef,
    CommandCall,
    Inbound,
    InboundKind,
    Quote,
    Visibility,
    speaks_to_us,
)
from bot.chat.replies import (
    BeforeSend,
    Button,
    Outbound,
    PartShown,
    PartState,
    ReplyStream,
    SentPart,
    Speaker,
)

__all__ = [
    "Adapter",
    "Attachment",
    "AttachmentKind",
    "Author",
    "BeforeSend",
    "Button",
    "ChannelRef",
    "CommandCall",
    "CommandMenu",
    "CommandSpec",
    "Complete",
    "Deliver",
    "Finding",
    "Inbound",
    "InboundKind",
    "OptionKind",
    "OptionSpec",
    "Outbound",
    "PartShown",
    "PartState",
    "Quote",
    "ReplyStream",
    "SentPart",
    "Severity",
    "Speaker",
    "Translate",
    "ValueQuery",
    "Visibility",
    "WantsFiles",
    "speaks_to_us",
]

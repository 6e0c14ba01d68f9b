"""What a chat platform is to us: the values that cross the border, and the one interface an adapter fills.

Knows no platform, no database and no model; adapters import this package (and `bot.errors`) and nothing else of `bot`.
"""

from bot.chat.adapter import Adapter, Deliver, Finding, Severity, WantsFiles
from bot.chat.commands import (
    CommandMenu,
    CommandNames,
    CommandSpec,
    Complete,
    OptionKind,
    OptionSpec,
    Translate,
    ValueQuery,
    words_after,
)
from bot.chat.forms import AskForm, Form, FormField
from bot.chat.messages import (
    Attachment,
    AttachmentKind,
    Author,
    ChannelRef,
    CommandCall,
    FetchFile,
    Inbound,
    InboundKind,
    Quote,
    Visibility,
    speaks_to_us,
)
from bot.chat.replies import (
    BeforeSend,
    Button,
    LoadPicture,
    Outbound,
    OutFile,
    PartShown,
    PartState,
    ReplyStream,
    SentPart,
    Speaker,
)
from bot.chat.words import Word, cut_words, opens_quote

__all__ = [
    "Adapter",
    "AskForm",
    "Attachment",
    "AttachmentKind",
    "Author",
    "BeforeSend",
    "Button",
    "ChannelRef",
    "CommandCall",
    "CommandMenu",
    "CommandNames",
    "CommandSpec",
    "Complete",
    "Deliver",
    "FetchFile",
    "Finding",
    "Form",
    "FormField",
    "Inbound",
    "InboundKind",
    "LoadPicture",
    "OptionKind",
    "OptionSpec",
    "OutFile",
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
    "Word",
    "cut_words",
    "opens_quote",
    "speaks_to_us",
    "words_after",
]

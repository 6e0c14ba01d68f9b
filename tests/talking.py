"""People who talk to a started app: they type, press and choose, and read what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bot.app import App
from bot.chat import Author, ChannelRef, CommandCall, InboundKind, ValueQuery
from bot.llm.model import ModelRequest, Role
from bot.testing import FakeAdapter, FakeReply, ScriptedModel, make_author, make_channel, make_inbound
from tests.conftest import MakeApp

ALICE, BOB = make_author("Alice"), make_author("Bob")
DM, GROUP = make_channel(dm=True), make_channel()


def history(request: ModelRequest) -> list[tuple[str, str]]:
    """What a model was sent, without the system message."""
    return [(message.role.value, message.text) for message in request.messages if message.role is not Role.SYSTEM]


@dataclass(kw_only=True)
class Chat:
    """A started app and where somebody stands in front of it: Alice in a DM, unless a test says otherwise."""

    app: App
    adapter: FakeAdapter
    model: ScriptedModel

    @property
    def last_prompt(self) -> list[tuple[str, str]]:
        """The history of the newest request."""
        return history(self.model.requests[-1])

    @property
    def last_reply(self) -> FakeReply:
        """The newest thing shown."""
        return self.adapter.replies[-1]

    async def say(self, text: str, *, author: Author = ALICE, channel: ChannelRef = DM, **more: Any) -> list[str]:
        """Send a message or a text command, let every turn end, and return what was shown meanwhile."""
        before = len(self.adapter.replies)
        more.setdefault("mentions_me", not channel.is_dm)
        await self.app.pipeline.deliver(make_inbound(text, author=author, channel=channel, **more))
        await self.settled()
        return [reply.text for reply in self.adapter.replies[before:]]

    async def settled(self) -> None:
        """Wait until every turn has ended, and everything that is folded into memory."""
        await self.app.dispatcher.idle()
        await self.app.keeper.idle()

    async def ask(self, text: str, *, author: Author = ALICE, channel: ChannelRef = DM, **more: Any) -> str:
        """Send a text command and return its answer at once, while turns go on."""
        before = len(self.adapter.replies)
        await self.app.pipeline.deliver(make_inbound(text, author=author, channel=channel, **more))
        return "\n\n".join(reply.text for reply in self.adapter.replies[before:])

    async def offers(
        self, path: str, option: str, typed: str, *, author: Author = ALICE, channel: ChannelRef = DM, **given: str
    ) -> list[str]:
        """What completion offers for an option while the others are `given`."""
        query = ValueQuery(
            channel=channel, author=author, path=tuple(path.split()), option=option, typed=typed, given=given
        )
        return list(await self.app.menu.complete(query))

    async def choose(self, path: str, *, author: Author = ALICE, channel: ChannelRef = DM, **options: str) -> list[str]:
        """Use a command of the platform's own menu."""
        call = CommandCall(path=tuple(path.split()), options=options)
        more = {"kind": InboundKind.COMMAND, "command": call, "reply_handle": object()}
        return await self.say(f"/{path}", author=author, channel=channel, **more)

    async def press(self, command: str, *, author: Author = ALICE, channel: ChannelRef = DM) -> list[str]:
        """Press a button that carries a command."""
        return await self.say(command, author=author, channel=channel, kind=InboundKind.BUTTON, reply_handle=object())


async def open_chat(
    make_app: MakeApp, *, model: ScriptedModel | None = None, adapter: FakeAdapter | None = None, **settings: Any
) -> Chat:
    """Start an app to talk to; settings are given in lower case."""
    model, adapter = model or ScriptedModel(), adapter or FakeAdapter()
    return Chat(app=await make_app(model=model, adapter=adapter, **settings), adapter=adapter, model=model)

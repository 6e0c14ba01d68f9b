"""Telegram behind `bot.chat.Adapter`: this file joins the parts, each of which knows one thing."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Unpack

import structlog
from telegram import User
from telegram.error import BadRequest, Forbidden, InvalidToken, TelegramError

from adapters.incoming import inert
from adapters.pacing import PacedReply, Wait
from adapters.telegram.commands import publish_menu
from adapters.telegram.doctor import examine, privacy, token_refused, unreachable
from adapters.telegram.faults import insist
from adapters.telegram.files import Downloads
from adapters.telegram.hearing import Hearing
from adapters.telegram.inbound import Pressed
from adapters.telegram.lanes import Spawn
from adapters.telegram.options import TelegramOptions, WebhookOptions
from adapters.telegram.outbound import TelegramTransport, message_link
from adapters.telegram.outbox import Outbox
from adapters.telegram.people import PLATFORM
from adapters.telegram.polling import ALLOWED_UPDATES, Poller
from adapters.telegram.reading import Me
from adapters.telegram.request import TelegramRequest
from adapters.telegram.rights import Rights
from bot.chat import (
    MOST_PARTS,
    ChannelRef,
    CommandMenu,
    Deliver,
    Finding,
    ReplyOptions,
    ReplyStream,
    Severity,
    WantsFiles,
    wants_files_for_us,
)
from bot.errors import AdapterError

log = structlog.get_logger(__name__)

MAX_DELETED_AT_ONCE = 100
"""Messages per call (Bot API, deleteMessages)."""
DRAIN_S = 1.5
"""How long updates that were taken may need to be delivered when we stop."""


class TelegramAdapter:
    """One bot account. `spawn` starts its background tasks; `menu` becomes Telegram's command menu; files are fetched
    of messages that `wants_files`.
    """

    def __init__(
        self,
        *,
        token: str,
        menu: CommandMenu,
        spawn: Spawn,
        wants_files: WantsFiles = wants_files_for_us,
        base_url: str | None = None,
        base_file_url: str | None = None,
        webhook: WebhookOptions | None = None,
        options: TelegramOptions | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._menu, self._spawn, self._webhook, self._wants_files = menu, spawn, webhook, wants_files
        self._options = options or TelegramOptions()
        self._new_request: Callable[[], TelegramRequest] = lambda: TelegramRequest(
            token, base_url=base_url, base_file_url=base_file_url, timeouts=self._options.timeouts
        )
        self._request = self._new_request()
        self._bot = self._request.make_bot()
        self._outbox = Outbox(self._bot, moved=self._on_moved, clock=clock)
        self._rights = Rights(self._outbox, ttl=self._options.rights_ttl, clock=clock)
        self._me: User | None = None
        self._hearing: Hearing | None = None
        self._poller: Poller | None = None
        self._publishing: asyncio.Task[None] | None = None
        self._listening: asyncio.Timeout | None = None
        self._is_stopping = False
        self._logged_in, self._ended, self._closed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @property
    def platform(self) -> str:
        """The word that starts every key."""
        return PLATFORM

    async def run(self, deliver: Deliver) -> None:
        """Log in and hand every inbound to `deliver` until `close`. Waits out every trouble that passes.

        Raises:
            AdapterError: Telegram refuses us for good.
        """
        try:
            if not self._is_stopping:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(None) as self._listening:  # `_stop` lets it run out
                        await self._listen(deliver)
            self._ended.set()
            await self._closed.wait()
        except BaseException:
            await self._release()
            raise
        finally:
            self._ended.set()

    async def ready(self) -> None:
        """Wait for the first login."""
        await self._logged_in.wait()

    async def stop_listening(self) -> None:
        """Take nothing more and confirm what is delivered; replies under way can still be finished.

        What takes longer, a download for example, is given up: it is not confirmed, so that the next start gets it.
        """
        try:
            async with asyncio.timeout(DRAIN_S):
                await self._stop()
                if self._hearing:
                    await self._hearing.drain()
        except TimeoutError:
            log.warning("telegram.stopped_before_all_was_delivered")
        if self._hearing:
            await self._hearing.close()
        if self._poller:
            await self._poller.confirm()

    async def close(self) -> None:
        """Disconnect and release everything; safe at any moment, also before and during the start (S18)."""
        self._closed.set()
        await self._stop()
        await self._release()

    async def open_reply(self, channel: ChannelRef, **options: Unpack[ReplyOptions]) -> ReplyStream:
        """Begin an answer: shows the typing sign, sends nothing yet. A pressed button's answer takes its place. Where
        several personas speak, the name of whoever does stands above.
        """
        speaker, handle, reply_to = options.get("speaker"), options.get("handle"), options.get("reply_to")
        transport = TelegramTransport(
            self._outbox,
            channel,
            reply_to=int(reply_to) if reply_to and handle is None else None,  # a press has no message id
            pressed=handle if isinstance(handle, Pressed) else None,
            max_parts=options.get("max_parts", MOST_PARTS),
            own_name=(self._me.username or "") if self._me else "",
            speaker_name=inert(speaker.name) if speaker and speaker.is_one_of_several else "",
        )
        return PacedReply(
            transport,
            spawn=self._spawn,
            interval=self._options.private_pace if channel.is_dm else self._options.group_pace,
            before_send=options.get("before_send"),
            part_shown=options.get("part_shown"),
        )

    async def delete(self, channel: ChannelRef, message_ids: Sequence[str]) -> None:
        """Delete messages of ours; those already gone, or too old, are fine."""
        ids = [int(message_id) for message_id in message_ids]
        for start in range(0, len(ids), MAX_DELETED_AT_ONCE):
            some = ids[start : start + MAX_DELETED_AT_ONCE]
            try:
                await self._outbox.ask(int(channel.place), partial(self._bot.delete_messages, message_ids=some))
            except (TelegramError, Wait) as error:
                log.warning("telegram.delete_failed", chat=channel.place, error=str(error))

    async def may_manage(self, channel: ChannelRef, user_id: str, *, whole_place: bool = False) -> bool:
        """Whether this user is an administrator of the chat; in a private chat everybody may."""
        return await self._rights.may_manage(channel, user_id)

    async def hears_everything(self, channel: ChannelRef) -> bool:
        """Whether privacy mode is off, or does not count because we are an administrator of the chat (T18)."""
        if self._me is None or self._me.can_read_all_group_messages:
            return True
        return await self._rights.may_manage(channel, str(self._me.id))

    def link(self, channel: ChannelRef, message_id: str) -> str | None:
        """The address that "Copy Message Link" gives its members in a supergroup; other chats have none."""
        return message_link(channel, message_id)

    async def check(self, *, is_served: bool = False) -> Sequence[Finding]:
        """Look at login, webhook and privacy mode by real calls, whether or not `run` is under way."""
        async with self._new_request() as request:
            return await examine(request, webhook=self._webhook, is_served=is_served)

    async def _listen(self, deliver: Deliver) -> None:
        await self._request.initialize()
        try:
            me = await insist(self._bot.get_me, back_off=self._options.back_off)
            self._me = me
            _tell_login(me)
            self._logged_in.set()
            self._publishing = self._spawn("telegram.menu", publish_menu(self._bot, self._menu))
            hearing = self._hearing = Hearing(
                Me(id=me.id, username=me.username or ""),
                deliver,
                wants_files=self._wants_files,
                outbox=self._outbox,
                downloads=Downloads(self._bot, self._request, self._options.files),
                spawn=self._spawn,
                album_quiet=self._options.album_quiet,
            )
            await (self._be_pushed(self._webhook, hearing) if self._webhook else self._poll(hearing))
        except InvalidToken as error:
            raise token_refused(error) from None
        except TelegramError as error:
            raise unreachable(error) from None

    async def _poll(self, hearing: Hearing) -> None:
        """A webhook of an earlier deployment would keep the updates from us; what waits there is kept (T25)."""
        await self._set_up(
            self._bot.delete_webhook,
            "the webhook of an earlier deployment cannot be removed",
            "Remove it there, or set TELEGRAM__WEBHOOK__URL.",
        )
        self._poller = Poller(
            self._request, hearing.take, timeout=self._options.poll_timeout, back_off=self._options.back_off
        )
        await self._poller.run()

    async def _be_pushed(self, webhook: WebhookOptions, hearing: Hearing) -> None:
        from adapters.telegram.webhook import WebhookServer  # its server costs 2 MB that polling does not need

        server = WebhookServer(webhook, hearing.take)
        address = {"url": webhook.url, "secret_token": server.secret_token, "allowed_updates": ALLOWED_UPDATES}
        # Not by the library, which writes the secret to its log (X01).
        announce = partial(self._request.call, "setWebhook", address, read_timeout=self._options.timeouts.read)
        try:
            await server.start()
            await self._set_up(announce, "the webhook is refused", "Check TELEGRAM__WEBHOOK__URL.")
            await asyncio.Event().wait()
        except OSError as error:
            problem = f"cannot listen for the webhook on {webhook.listen}:{webhook.port} ({error.strerror})."
            raise AdapterError(
                PLATFORM, problem, "Set TELEGRAM__WEBHOOK__LISTEN and TELEGRAM__WEBHOOK__PORT."
            ) from None
        finally:
            await server.stop()

    async def _set_up(self, ask: Callable[[], Awaitable[object]], problem: str, remedy: str) -> None:
        try:
            await insist(ask, back_off=self._options.back_off)
        except (BadRequest, Forbidden) as error:
            raise AdapterError(PLATFORM, f"{problem} ({error}).", remedy) from None

    def _on_moved(self, old_id: int, new_id: int) -> None:
        if self._hearing:
            self._hearing.on_moved(old_id, new_id)

    async def _stop(self) -> None:
        self._is_stopping = True
        if self._listening and not self._ended.is_set():
            if self._listening.when() is None:
                self._listening.reschedule(asyncio.get_running_loop().time())
            await self._ended.wait()

    async def _release(self) -> None:
        if self._publishing:
            self._publishing.cancel()
        if self._hearing:
            await self._hearing.close()
        await self._request.shutdown()


def _tell_login(me: User) -> None:
    log.info("telegram.logged_in", username=me.username, id=me.id)
    finding = privacy(me)
    if finding.severity is not Severity.OK:
        log.warning("telegram.privacy_mode_on", remedy=finding.remedy)

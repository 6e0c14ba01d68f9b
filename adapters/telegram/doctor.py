"""What `familiar doctor` says about Telegram: login, webhook, privacy mode, each with what to do about it."""

from __future__ import annotations

from urllib.parse import urlsplit

from telegram import User, WebhookInfo
from telegram.error import Conflict, InvalidToken, TelegramError

from adapters.telegram.options import WebhookOptions
from adapters.telegram.request import TelegramRequest
from bot.chat import Finding, Severity
from bot.errors import AdapterError

PRIVACY_REMEDY = (
    "In groups only commands, replies and mentions arrive. To let it hear everything: send /setprivacy to @BotFather, "
    "choose Disable, then remove the bot from the group and add it again (or make it an administrator)."
)

SECOND_POLLER = "Another program polls with this token and takes the updates."
SECOND_POLLER_REMEDY = (
    "Stop it (another Familiar, an older bot, a test), or get this one a token of its own from @BotFather; if you do "
    "not know it, /revoke the token there."
)
PROBE_S = 3
"""How long we poll to see whether another poller throws us out; it comes back within about a second."""
PROBE_MARGIN_S = 10.0


async def examine(request: TelegramRequest, *, webhook: WebhookOptions | None, is_served: bool) -> list[Finding]:
    """Findings by real calls. `webhook` is what we would set, `None` = polling; where nobody of ours is served, it is
    tried whether somebody else polls.
    """
    bot = request.make_bot()
    try:
        me = await bot.get_me()
        info = await bot.get_webhook_info()
        findings = [_login(me), _pushed(info, webhook) if webhook else _polled(info), privacy(me)]
        if webhook is None and not info.url and not is_served and await _somebody_polls(request):
            findings.append(_fault("Telegram updates", SECOND_POLLER, SECOND_POLLER_REMEDY))
        return findings
    except TelegramError as error:
        fault = token_refused(error) if isinstance(error, InvalidToken) else unreachable(error)
        return [_fault("Telegram", fault.problem, fault.remedy)]


def token_refused(error: TelegramError) -> AdapterError:
    """401 and 404 both say that this server does not know the token."""
    return AdapterError(
        "telegram",
        f"the server does not accept the token ({error}).",
        "Copy the token from @BotFather into TELEGRAM__TOKEN; with a server of your own, check TELEGRAM__BASE_URL.",
    )


def unreachable(error: TelegramError) -> AdapterError:
    """No answer, or none of the Bot API."""
    return AdapterError(
        "telegram",
        f"the server does not answer as it should ({error}).",
        "Check the network, a proxy (HTTPS_PROXY), and TELEGRAM__BASE_URL if it is set.",
    )


def privacy(me: User) -> Finding:
    """Whether the bot hears everything in groups (T18)."""
    if me.can_read_all_group_messages:
        return Finding(severity=Severity.OK, subject="Telegram groups", message="Privacy mode is off: it hears all.")
    return Finding(
        severity=Severity.WARNING, subject="Telegram groups", message="Privacy mode is on.", remedy=PRIVACY_REMEDY
    )


def _login(me: User) -> Finding:
    return Finding(severity=Severity.OK, subject="Telegram", message=f"Logged in as @{me.username} ({me.id}).")


def _polled(info: WebhookInfo) -> Finding:
    found = f"removes the webhook at {_host(info.url)} at start" if info.url else "no webhook in the way"
    return Finding(severity=Severity.OK, subject="Telegram updates", message=f"Polled, {_waiting(info)}; {found}.")


async def _somebody_polls(request: TelegramRequest) -> bool:
    """Whether another poller takes the updates from us (T13). Without an offset a poll confirms nothing."""
    try:
        await request.call("getUpdates", {"limit": 1, "timeout": PROBE_S}, read_timeout=PROBE_S + PROBE_MARGIN_S)
    except Conflict:
        return True
    return False


def _pushed(info: WebhookInfo, webhook: WebhookOptions) -> Finding:
    host, waiting, subject = _host(webhook.url), _waiting(info), "Telegram updates"
    if webhook.path and not urlsplit(webhook.url).path.endswith(webhook.path):
        problem = f"Pushed to {host}; TELEGRAM__WEBHOOK__PATH is not the end of TELEGRAM__WEBHOOK__URL."
        remedy = "A proxy may take the beginning of a path away, and PATH is what it leaves; else leave it empty."
        return Finding(severity=Severity.WARNING, subject=subject, message=problem, remedy=remedy)
    if info.last_error_message:
        return Finding(
            severity=Severity.WARNING,
            subject=subject,
            message=f"Pushed to {host}, {waiting}; Telegram reports: {info.last_error_message}.",
            remedy=next((remedy for sign, remedy in _PUSH_REMEDIES if sign in info.last_error_message), CHECK_LISTENER),
        )
    secret = "" if webhook.secret_token else ", with a secret made at each start"
    return Finding(severity=Severity.OK, subject=subject, message=f"Pushed to {host}{secret}, {waiting}.")


CHECK_LISTENER = (
    "Check that the address leads to TELEGRAM__WEBHOOK__LISTEN and PORT, with a valid certificate, while Familiar runs."
)
_PUSH_REMEDIES = (
    ("404", "The path is wrong: what the proxy passes on must be TELEGRAM__WEBHOOK__PATH (or the path of URL)."),
    (
        "403",
        "The secret is wrong: restart Familiar, which sets it, and let no other program set this webhook.",
    ),
    ("401", "Something before Familiar asks for a password; let Telegram through."),
)
"""What to do about what Telegram reports, by a sign in its words."""


def _host(address: str) -> str:
    """All of an address that may be shown: a webhook's path is often meant to be secret (X01)."""
    return urlsplit(address).netloc


def _waiting(info: WebhookInfo) -> str:
    return f"{info.pending_update_count} waiting"


def _fault(subject: str, problem: str, remedy: str) -> Finding:
    return Finding(severity=Severity.FAULT, subject=subject, message=problem, remedy=remedy)

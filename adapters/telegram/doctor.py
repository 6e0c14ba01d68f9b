"""What `familiar doctor` says about Telegram: login, webhook, privacy mode, each with what to do about it."""

from __future__ import annotations

from urllib.parse import urlsplit

from telegram import Bot, User
from telegram.error import InvalidToken, TelegramError

from bot.chat import Finding, Severity
from bot.errors import AdapterError

PRIVACY_REMEDY = (
    "In groups only commands, replies and mentions arrive. To let it hear everything: send /setprivacy to @BotFather, "
    "choose Disable, then remove the bot from the group and add it again (or make it an administrator)."
)


async def examine(bot: Bot, *, webhook_url: str | None) -> list[Finding]:
    """Findings by real calls. `webhook_url` is the address we would set; `None` = polling."""
    try:
        me = await bot.get_me()
        return [_login(me), await _delivery(bot, webhook_url), privacy(me)]
    except TelegramError as error:
        fault = token_refused(error) if isinstance(error, InvalidToken) else unreachable(error)
        return [Finding(severity=Severity.FAULT, subject="Telegram", message=fault.problem, remedy=fault.remedy)]


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


async def _delivery(bot: Bot, webhook_url: str | None) -> Finding:
    info = await bot.get_webhook_info()
    subject, waiting = "Telegram updates", f"{info.pending_update_count} waiting"
    host = urlsplit(info.url).netloc  # a webhook's path is often meant to be secret (X01)
    if webhook_url is None:
        found = f"removes the webhook at {host} at start" if info.url else "no webhook in the way"
        return Finding(severity=Severity.OK, subject=subject, message=f"Polled, {waiting}; {found}.")
    if info.last_error_message:
        return Finding(
            severity=Severity.WARNING,
            subject=subject,
            message=f"Pushed to {host}, {waiting}; Telegram reports: {info.last_error_message}.",
            remedy="Check that the address leads to TELEGRAM__WEBHOOK__LISTEN and PORT, with a valid certificate.",
        )
    return Finding(
        severity=Severity.OK, subject=subject, message=f"Pushed to {urlsplit(webhook_url).netloc}, {waiting}."
    )

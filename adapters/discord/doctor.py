"""Looks at login, intents and gateway by real calls, for `familiar doctor`; with or without a running adapter."""

from __future__ import annotations

import asyncio

import aiohttp
import discord
import discord.gateway
import yarl

from adapters.discord.connection import CONTENT_REMEDY, FATAL_CLOSES, NO_CONTENT, PORTAL
from bot.chat import Finding, Severity
from bot.proxies import proxy_for

EXAMINE_SECONDS = 30.0
"""For everything together: the library repeats a request that failed for half a minute, which is long to wait for."""
GATEWAY_SECONDS = 10.0
HELLO = 10
MAX_SERVERS = 200
"""How many are looked at: one request's worth."""
NEEDED = discord.Permissions(
    view_channel=True,
    send_messages=True,
    send_messages_in_threads=True,
    attach_files=True,
    read_message_history=True,
    manage_webhooks=True,
)
"""What the bot needs in a server; the invitation asks for it."""
CHECK_NETWORK = "Check the network, a proxy (HTTPS_PROXY), and DISCORD__API_BASE if it is set."


async def examine(token: str) -> list[Finding]:
    """One finding per thing looked at; the first fault of login ends it, since the rest needs a login."""
    discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False
    # Without guilds, the library would warn of what we never do.
    client = discord.Client(intents=discord.Intents(guilds=True), proxy=proxy_for(discord.http.Route.BASE))
    try:
        async with asyncio.timeout(EXAMINE_SECONDS):
            await client.login(token)
            told = [_login(client), _content(client), _commands(client), *await _servers(client)]
            return [*told, await _gateway(client)]
    except discord.LoginFailure:
        problem, remedy = FATAL_CLOSES[4004]
        return [_fault("login", problem, remedy)]
    except (discord.HTTPException, aiohttp.ClientError, OSError) as error:
        return [_fault("login", f"Discord could not be reached ({type(error).__name__}: {error}).", CHECK_NETWORK)]
    finally:
        await client.close()


def _login(client: discord.Client) -> Finding:
    assert client.user is not None, "the client is logged in"
    invitation = discord.utils.oauth_url(
        client.application_id or 0, permissions=NEEDED, scopes=("bot", "applications.commands")
    )
    return _fine("login", f"logged in as {client.user} ({client.user.id}); add it to a server by {invitation}")


async def _servers(client: discord.Client) -> list[Finding]:
    """One finding for each server in which the bot's roles lack something; channels may still forbid more."""
    servers = await client.http.get_guilds(MAX_SERVERS)
    if not servers:
        remedy = "Open the address above that adds it."
        return [_warning("servers", "it is in none yet, so that only direct messages reach it.", remedy)]
    told = []
    for server in servers:
        granted = discord.Permissions(int(server["permissions"]))
        missing = [_called(name) for name, needed in NEEDED if needed and not getattr(granted, name)]
        if missing and not granted.administrator:
            remedy = f"Grant it to the bot's role: Server Settings > Roles > {client.user} > Permissions."
            told.append(_warning(f"server {server['name']}", f"the bot may not: {', '.join(missing)}.", remedy))
    return told or [_fine("servers", f"it is in {len(servers)}, and may do there what it needs")]


def _called(permission: str) -> str:
    """A permission as Discord's own pages call it."""
    return permission.replace("_", " ").title()


def _commands(client: discord.Client) -> Finding:
    assert client.application is not None, "the client is logged in"
    if client.application.interactions_endpoint_url is None:
        return _fine("commands", "come over the gateway")
    problem = "an interactions endpoint URL is set, so no command and no button reaches this bot."
    return _fault("commands", problem, f"Clear it at {PORTAL} > your application > General Information.")


def _content(client: discord.Client) -> Finding:
    flags = client.application_flags
    if flags.gateway_message_content or flags.gateway_message_content_limited:
        return _fine("message content intent", "switched on")
    return _fault("message content intent", NO_CONTENT, CONTENT_REMEDY)


async def _gateway(client: discord.Client) -> Finding:
    """Open the gateway as far as its greeting, and see how many logins are left today."""
    try:
        _, _, limit = await client.http.get_bot_gateway()
        url = discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY.with_query(v=10, encoding="json")
        await _greet(url)
    except (discord.HTTPException, discord.GatewayNotFound, aiohttp.ClientError, OSError, ValueError) as error:
        return _fault("gateway", f"no connection ({error!r}).", CHECK_NETWORK.replace("API_BASE", "GATEWAY_URL"))
    if limit["remaining"] == 0:
        wait = f"Wait {limit['reset_after'] // 60_000} minutes; something has reconnected far too often."
        return _fault("gateway", "no more logins are allowed today.", wait)
    return _fine("gateway", f"reachable, {limit['remaining']} of {limit['total']} logins left today")


async def _greet(url: yarl.URL) -> None:
    session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=GATEWAY_SECONDS), proxy=proxy_for(str(url)))
    async with session, session.ws_connect(url) as socket:
        hello = await socket.receive_json(timeout=GATEWAY_SECONDS)
    if hello.get("op") != HELLO:
        raise ValueError("this is not Discord's gateway")


def _fine(subject: str, message: str) -> Finding:
    return Finding(severity=Severity.OK, subject=f"discord: {subject}", message=message)


def _warning(subject: str, problem: str, remedy: str) -> Finding:
    return Finding(severity=Severity.WARNING, subject=f"discord: {subject}", message=problem, remedy=remedy)


def _fault(subject: str, problem: str, remedy: str) -> Finding:
    return Finding(severity=Severity.FAULT, subject=f"discord: {subject}", message=problem, remedy=remedy)

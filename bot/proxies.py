"""Which proxy of the environment leads to an address. Knows no platform and no model."""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""This machine, the embedded model above all, is never reached through a proxy."""


def proxy_for(address: str) -> str | None:
    """The proxy that the environment names for `address`, asked once instead of at every call. A web socket goes the
    way of a web page.
    """
    url = urlsplit(address)
    host = url.hostname or ""
    if host in LOOPBACK or proxy_bypass(host):
        return None
    proxies = getproxies()
    return proxies.get({"ws": "http", "wss": "https"}.get(url.scheme, url.scheme)) or proxies.get("all")

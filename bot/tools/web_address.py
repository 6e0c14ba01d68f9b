"""Which web addresses may be asked: public ones alone, whatever way they are written or lead (X05). Pure."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

MOST_CHARS = 2_000
_TRANSLATED = tuple(map(IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "::/96", "::ffff:0:0:0/96")))
"""Prefixes of IPv6 in which an IPv4 address stands (RFC 6052, RFC 8215, RFC 4291 2.5.5.1, RFC 2765)."""
_SPECIAL = (
    IPv4Network("192.0.0.0/24"),  # of the protocol (RFC 6890); clouds of Oracle answer there
    IPv4Network("192.88.99.0/24"),  # relays of 6to4 (RFC 7526)
    IPv4Network("168.63.129.16/32"),  # what Azure offers to its machines
    IPv6Network("3fff::/20"),  # for documents (RFC 9637)
    IPv6Network("5f00::/16"),  # routes within one network (RFC 9602)
)
"""Not every Python that we run on knows these to be none of the public internet."""


def demand_web_address(url: str) -> str:
    """An address that is one of the web, without what stands after its hash sign.

    Raises:
        ValueError: it is none; the sentence says why.
    """
    if len(url) > MOST_CHARS or any(char.isspace() or not char.isprintable() for char in url):
        raise ValueError("That is no address of a web page.")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise ValueError("Only http and https addresses can be read.")
    if not parts.hostname or parts.username is not None or parts.password is not None:
        raise ValueError("That is no address of a public web page.")
    parts.port  # noqa: B018 - raises ValueError where it is no number
    return parts._replace(fragment="").geturl()


def is_public(address: str) -> bool:
    """Whether a numeric address belongs to the public internet: no machine of ours or of our network, no service that
    clouds offer to their machines.
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if any(found in network for network in _SPECIAL):
        return False
    if isinstance(found, IPv4Address):
        return found.is_global and not found.is_multicast
    return _is_public_v6(found)


def _is_public_v6(address: IPv6Address) -> bool:
    within = address.ipv4_mapped or address.sixtofour
    if within is not None:
        return is_public(str(within))
    if address.teredo is not None or any(address in network for network in _TRANSLATED):
        return False
    return address.is_global and not (address.is_multicast or address.is_site_local)

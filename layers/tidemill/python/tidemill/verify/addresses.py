"""The address that a sender called, for those that sign it: what the function sees is another one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tidemill.model import Request

Spellings = Callable[[str], list[str]]  # the ways in which a sender may have written an address

_port = re.compile(r"(?P<scheme>https?)://(?P<host>[^/?#:]+)(?P<port>:[0-9]+)?(?P<rest>.*)", re.DOTALL)
# https://developers.hubspot.com/docs/apps/legacy-apps/authentication/validating-requests: these are signed as what they are.
_decoded = {f"%{ord(character):02X}": character for character in ":/?@!$'()*,;"}


def called(request: Request, settings: Mapping[str, str], public_url: str = "") -> str:
    """The address that the sender called: path and raw query after `public_url`, else after the setting PUBLIC_URL, else the
    address of the request as it is."""
    base = (public_url or settings.get("PUBLIC_URL", "")).strip().rstrip("/")
    if not base or request.url.startswith((f"{base}/", f"{base}?")):
        return request.url
    _, _, after = request.url.partition("://")
    path, mark, query = after[len(re.match("[^/?]*", after)[0]) :].partition("?")  # type: ignore[index]
    # Deliveries come to /hooks/{source}: what stands before it is a stage or another base, which the sender does not call.
    return base + path[max(path.rfind("/hooks/"), 0) :] + mark + query


def as_it_is(url: str) -> list[str]:
    return [url]


def with_and_without_port(url: str) -> list[str]:
    """The address with its port and without; one without gets the usual port of its scheme."""
    if (found := _port.fullmatch(url)) is None:
        return [url]
    bare = f"{found['scheme']}://{found['host']}"
    port = found["port"] or (":443" if found["scheme"] == "https" else ":80")
    return [bare + found["rest"], bare + port + found["rest"]]


def with_signs_decoded(url: str) -> list[str]:
    """The address as it is, and with the percent-encoded signs decoded that HubSpot decodes before it signs."""
    decoded = re.sub("%[0-9A-Fa-f]{2}", lambda found: _decoded.get(found[0].upper(), found[0]), url)
    return [url, decoded] if decoded != url else [url]

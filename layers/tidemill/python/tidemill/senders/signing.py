"""Test deliveries: what a sender would send, signed with our own secret."""

from __future__ import annotations

from collections.abc import Mapping

from tidemill.errors import CommandError
from tidemill.model import Refused, Request
from tidemill.source import Source
from tidemill.verify import Check


def sign(source: Source, body: bytes, settings: Mapping[str, str], now: float, url: str) -> list[tuple[str, str]]:
    """The headers that make a POST of `body` to `url` a genuine delivery of the source at `now` (epoch seconds).

    Raises CommandError that says why it cannot be made: a missing setting, a sender who alone can sign (public keys,
    networks), a signature or a time that stands in the body, which is sent as it is.
    """
    if not isinstance(source.verify, Check):
        raise CommandError("invalid", f"the source {source.name} has a verification of its own, which cannot sign", "source")
    made = source.verify.sign(Request("POST", url, [], body), settings, now)
    verdict = source.check(Request("POST", url, made, body), settings, now)
    if isinstance(verdict, Refused):
        raise CommandError("invalid", f"this body cannot be a delivery of {source.name}: {verdict.reason}", "body")
    return made

"""What the unit tests of the primitives check with: one secret, one clock, one address."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from tidemill import Request
from tidemill.verify import Check

NOW = 1_800_000_000
SECRET = "correct-horse-7"
URL = "https://x.test/hooks/x"


def request(body: bytes = b"", *headers: tuple[str, str], url: str = URL, source_ip: str = "") -> Request:
    return Request("POST", url, list(headers), body, source_ip)


def mac(text: bytes) -> str:
    return hmac.new(SECRET.encode(), text, hashlib.sha256).hexdigest()


def check(verify: Check, sent: Request, settings: Mapping[str, str] | None = None) -> object:
    """What `verify` says, with SECRET in the setting S unless told."""
    return verify(sent, {"S": SECRET} if settings is None else settings, NOW)

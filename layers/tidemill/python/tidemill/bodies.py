"""What a compressed body holds: expanded within a bound, so that a small delivery cannot fill the memory."""

from __future__ import annotations

import zlib

LARGEST_EXPANDED = 16 * 1024 * 1024  # bytes

_known = ("gzip", "x-gzip", "deflate")
_gzip_or_zlib = 32 + zlib.MAX_WBITS  # zlib looks at the first bytes to see which of the two it is


def expand(body: bytes, content_encoding: str) -> bytes:
    """The body as it was before `content_encoding` (a header's value; '' for none) was applied: gzip or deflate.

    Raises ValueError on another encoding, on a body that is damaged or cut short, and on more than LARGEST_EXPANDED bytes.
    """
    encoding = content_encoding.strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding not in _known:
        raise ValueError(f"the content encoding {encoding[:40]!r} is not one of {', '.join(_known)}")
    parts: list[bytes] = []
    room = LARGEST_EXPANDED
    while body:  # gzip may come in several members, one after the other
        expander = zlib.decompressobj(_gzip_or_zlib)
        try:
            part = expander.decompress(body, room + 1)
        except zlib.error as error:
            raise ValueError(f"the body is not {encoding}: {error}") from None
        room -= len(part)
        if room < 0:
            raise ValueError(f"the body expands to more than {LARGEST_EXPANDED} bytes")
        if not expander.eof:
            raise ValueError(f"the {encoding} body is cut short")
        parts.append(part)
        body = expander.unused_data
    return b"".join(parts)

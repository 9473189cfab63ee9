"""Looking for secrets where none may be: in what was written, and in every column of every table."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from urllib.parse import quote, quote_plus, unquote, urlsplit

import psycopg

SHORTEST = 6  # characters; shorter ones are words that stand everywhere, and are no secrets

_secret = re.compile("SECRET|TOKEN|PASSWORD|PASSWD|KEY|PRIVATE|CREDENTIAL")
_open = re.compile("(_ARN|_URL|_ID|_NAME)$")


def secrets_of(settings: Mapping[str, str]) -> set[str]:
    """The secrets in settings: those with a name for it, each of several, and the passwords of addresses."""
    found: set[str] = set()
    for name, value in settings.items():
        if _secret.search(name) and not _open.search(name):
            found.update(part.strip() for part in value.split(","))
        elif "://" in value:
            with suppress(ValueError):  # an address that cannot be read
                password = urlsplit(value).password or ""
                found |= {password, unquote(password)}
    return {secret for secret in found if len(secret) >= SHORTEST}


@cache
def forms(secret: str) -> frozenset[str]:
    """The secret as it is, percent-encoded, in hex, in base64 at each of the three places where it can begin in a group, and
    as JSON writes it, in a text within JSON too."""
    data = secret.encode()
    found = {secret, quote(secret, safe=""), quote(secret), quote_plus(secret), data.hex(), data.hex().upper()}
    found |= {re.sub("%..", lambda match: match[0].lower(), one) for one in found if "%" in one}
    for before in range(3):
        # The characters that hold nothing but bits of the secret: what stands beside it changes the others.
        text = base64.b64encode(b"\0" * before + data).decode()[(0, 2, 3)[before] : (before + len(data)) * 8 // 6]
        found |= {text, text.replace("+", "-").replace("/", "_")}
    for ascii_only in (True, False):
        once = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        found |= {once, json.dumps(once, ensure_ascii=ascii_only)[1:-1]}
    return frozenset(found)


def found_in(text: str, secrets: Iterable[str]) -> Iterator[str]:
    """Where a secret stands in a text: the places, with the secret left out."""
    for secret in secrets:
        for form in forms(secret):
            if (at := text.find(form)) >= 0:
                yield f"{text[max(at - 80, 0) : at]}<{secret[:3]}...>{text[at + len(form) : at + len(form) + 40]}"


def rows(url: str, leave_out: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(table, row as JSON) of every row of a database; `leave_out` maps a table to a column that is not looked at. Bytes
    are in hex."""
    with psycopg.connect(url, prepare_threshold=None) as connection:
        connection.execute("set local lock_timeout = '5s'")  # a test may have left a lock behind
        names = "select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1"
        for (table,) in connection.execute(names).fetchall():
            text = f'select (to_jsonb(one) - %s)::text from "{table}" one'
            for (row,) in connection.execute(text, (leave_out.get(table, ""),)):  # type: ignore[arg-type]
                yield table, row


def leaks(url: str, secrets: Iterable[str], leave_out: Mapping[str, str]) -> list[str]:
    """Where secrets stand in a database."""
    wanted = list(secrets)
    return [f"{table}: {place}" for table, row in rows(url, leave_out) for place in found_in(row, wanted)]

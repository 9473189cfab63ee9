"""Cases that only some senders have: headers of several pieces, and what is odd about one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.senders import corpus_schemes as untimed
from tests.senders import corpus_schemes_timed as timed
from tests.senders.corpus import NOW, OTHER, Case, Parts, Scheme, milliseconds

PIECES = (
    ("time good bad", True),
    ("time bad good", True),
    ("good time", True),
    ("bad time good", True),
    ("time good bad bad", True),
    ("time bad bad", False),
    ("time", False),
    ("good", False),
    ("", False),
    ("time bare", False),
    ("time empty", False),
    ("time unnamed", False),
    ("untimed good", False),
    ("time later good", False),
    ("later time good", False),
    ("later good", False),
    ("time odd good", True),
    ("time odd", False),
    ("odd time", False),
)


def pairs(scheme: Scheme, time: str, sig: str, odd: str, separator: str) -> Iterator[Case]:
    """B21: a header of names and values, with several signatures as while a secret is replaced, in every order."""
    parts = scheme.parts(scheme.bodies[0])
    good, bad = _signatures(scheme, parts)
    pieces = {
        "time": f"{time}={parts.time}",
        "later": f"{time}={int(parts.time) + 1}",
        "untimed": f"{time}=",
        "good": f"{sig}={good}",
        "bad": f"{sig}={bad}",
        "empty": f"{sig}=",
        "bare": sig,
        "unnamed": good,
        "odd": f"{odd}={good}",
    }
    for names, genuine in PIECES:
        for style, between in (("", separator), (", spaced", f"{separator} ")):
            value = between.join(pieces[name] for name in names.split())
            yield Case(scheme, f"header: {names}{style}", scheme.send(parts, form=value or separator), genuine)


def versions(scheme: Scheme) -> Iterator[Case]:
    parts = scheme.parts(scheme.bodies[0])
    good, bad = _signatures(scheme, parts)
    for form, genuine in (
        ("v1,{good} v1,{bad}", True),
        ("v1,{bad} v1,{good}", True),
        ("v1a,{bad} v1,{good}", True),
        ("v1,{good} v2,{bad}", True),
        ("v2,{good}", False),
        ("v1a,{good}", False),
        ("v1,{bad} v1,{bad}", False),
        ("v1,", False),
        ("v1", False),
        ("v1 {good}", False),
        ("v1={good}", False),
        ("v1,{good},v1,{bad}", False),
        ("v1,{bad},v1,{good}", False),
    ):
        yield Case(scheme, f"header: {form}", scheme.send(parts, form=form.format(good=good, bad=bad)), genuine)
    for header, value in (("webhook-id", "other"), ("webhook-timestamp", str(int(NOW) + 1))):
        if header in dict(scheme.companions):
            sent = scheme.send(parts)
            swapped = [(name, value if name == header else given) for name, given in sent.headers]
            yield Case(scheme, f"{header} of another delivery", replace(sent, headers=swapped))


def github() -> Iterator[Case]:
    scheme, parts = untimed.github, untimed.github.parts(untimed.github.bodies[0])
    old = f"sha1={scheme.digest(parts, 'sha1').hex()}"
    sent = scheme.send(parts)
    yield Case(scheme, "SHA-1 in its own header alone", replace(sent, headers=[("X-Hub-Signature", old)]))
    yield Case(scheme, "SHA-1 in the header of SHA-256", scheme.send(parts, form=old))
    yield Case(scheme, "SHA-1 beside it", replace(sent, headers=[("X-Hub-Signature", old), *sent.headers]), genuine=True)
    forged = [("X-Hub-Signature", old), ("X-Hub-Signature-256", f"sha256={'0' * 64}")]
    yield Case(scheme, "SHA-1 beside a wrong one", replace(sent, headers=forged))


def linear() -> Iterator[Case]:
    """The time stands in the JSON that is signed, so that only a broken sender gets it wrong; it is refused all the same."""
    scheme, now = timed.linear, milliseconds(NOW)
    for body in (
        "{}",
        "[]",
        "null",
        '{"webhookTimestamp":null}',
        '{"webhookTimestamp":true}',
        f'{{"webhookTimestamp":[{now}]}}',
        f'{{"data":{{"webhookTimestamp":{now}}}}}',
        f'"{now}"',
        now,
        "",
        f'{{"webhookTimestamp":{now}',
        f"webhookTimestamp={now}",
    ):
        yield Case(scheme, f"body {body!r}", scheme.send(Parts(body.encode())))


def twitch() -> Iterator[Case]:
    scheme, body = timed.twitch, timed.twitch.bodies[0]
    for time, genuine in (
        ("2027-01-15T08:00:00Z", True),
        ("2027-01-15T08:00:00.1Z", True),
        ("2027-01-15T07:50:00.000000000Z", True),
        ("2027-01-15T07:49:59.999Z", False),
        ("2027-01-15T08:10:00.1Z", False),
        ("2027-01-15T09:00:00+01:00", True),
        ("2027-01-15T08:00:00+01:00", False),
        ("2027-01-15", False),
        ("20270115", False),
        ("2027-01-15T08", False),
        ("2027-13-15T08:00:00Z", False),
        ("2027-01-15T08:00:00+99:00", False),
        ("0000-00-00T00:00:00Z", False),
        ("9999-12-31T23:59:59-23:59", False),
        ("2027-01-15T08:00:00.Z", False),
        ("1800000000", False),
    ):
        yield Case(scheme, f"written {time}", scheme.send(Parts(body, time)), genuine)


def adjacent() -> Iterator[Case]:
    """Where nothing divides the pieces that are signed, what moves from one to the next is still signed; it must not pass as
    a timestamp."""
    scheme = timed.twitch
    parts = scheme.parts(scheme.bodies[0])
    sent = scheme.send(parts)
    moved = {"Twitch-Eventsub-Message-Id": parts.id[:-1], "Twitch-Eventsub-Message-Timestamp": parts.id[-1] + parts.time}
    yield Case(scheme, "a character of the id moved to the time", replace(sent, headers=_put(sent.headers, moved)))
    shorter = _put(sent.headers, {"Twitch-Eventsub-Message-Timestamp": parts.time[:-1]})
    yield Case(scheme, "a character of the time moved to the body", replace(sent, headers=shorter, body=b"Z" + sent.body))


def _put(headers: list[tuple[str, str]], values: dict[str, str]) -> list[tuple[str, str]]:
    return [(name, values.get(name, value)) for name, value in headers]


def shopify() -> Iterator[Case]:
    """The header of webhooks and that of the newer events: each by itself is enough, if it is right."""
    old, new = untimed.shopify, untimed.shopify_events
    parts = old.parts(old.bodies[0])
    both = [*old.send(parts).headers, *new.send(parts).headers]
    yield Case(old, "both headers", replace(old.send(parts), headers=both), genuine=True)
    forged = [*old.send(replace(parts, secret=OTHER)).headers, *new.send(replace(parts, secret=OTHER)).headers]
    yield Case(old, "both headers, of somebody else", replace(old.send(parts), headers=forged))


def cases() -> Iterator[Case]:
    yield from pairs(timed.stripe, "t", "v1", "v0", ",")
    yield from pairs(timed.calendly, "t", "v1", "v0", ",")
    yield from pairs(timed.paddle, "ts", "h1", "h2", ";")
    for scheme in (timed.standardwebhooks, timed.svix, timed.openai, timed.gitlab):
        yield from versions(scheme)
    for make in (github, linear, twitch, adjacent, shopify):
        yield from make()


def _signatures(scheme: Scheme, parts: Parts) -> tuple[str, str]:
    """The good signature, and that of somebody else."""
    good, bad = (scheme.encode(scheme.digest(replace(parts, secret=secret))) for secret in scheme.secrets)
    return good, bad

"""Handshakes: what a sender wants answered at once, when it is told the address or looks whether it is still there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidemill import jsontext
from tidemill.model import Accepted, Refused, Reply, Request
from tidemill.verify.check import Check, Verdict, one_of, secret_bytes, to_bytes
from tidemill.verify.reading import Path, document_of, query_of, single

Wants = Callable[[Request], bool]  # whether a request is a handshake
Handshake = Callable[[Request, Mapping[str, str], float], Reply | Refused | None]  # None: it is none

TEXT, JSON = "text/plain", "application/json"


def before(handshake: Handshake, check: Check, secrets: tuple[str, ...] = ()) -> Check:
    """The handshake is not signed: it comes before the check. `secrets` are the settings that it needs."""

    def judge(request: Request, settings: Mapping[str, str], now: float) -> Verdict:
        return handshake(request, settings, now) or check(request, settings, now)

    return Check(judge, check.secrets + secrets, check.headers, check.sign)


def after(check: Check, handshake: Handshake) -> Check:
    """The handshake is signed like any delivery, and not answered unless it is genuine."""

    def judge(request: Request, settings: Mapping[str, str], now: float) -> Verdict:
        verdict = check(request, settings, now)
        answer = handshake(request, settings, now) if isinstance(verdict, Accepted) else None
        return answer or verdict

    return Check(judge, check.secrets, check.headers, check.sign)


def echo_query(
    name: str, method: str, where: Mapping[str, str] | None = None, token: str = "", secret: str = ""
) -> Handshake:
    """A parameter of the address comes back as plain text, by this method alone, where others have the values of `where`;
    where `token` names one more, that must be the secret in the setting `secret`."""

    def handshake(request: Request, settings: Mapping[str, str], now: float) -> Reply | Refused | None:
        value = query_of(request, name)
        others = all(query_of(request, other) == wanted for other, wanted in (where or {}).items())
        if value is None or not others or request.method.upper() != method:
            return None
        if token:
            given = to_bytes(query_of(request, token) or "")
            verdict = one_of(given, secret_bytes(settings, secret), f"{token} does not match")
            if isinstance(verdict, Refused):
                return verdict
        return Reply(200, TEXT, value)

    return handshake


def echo_json(path: str, wants: Wants) -> Handshake:
    """A text of the JSON body comes back as plain text."""
    place = Path(path, "path")

    def handshake(request: Request, settings: Mapping[str, str], now: float) -> Reply | None:
        value = _value(request, place) if wants(request) else None
        return Reply(200, TEXT, value) if isinstance(value, str) else None

    return handshake


def constant(reply: Reply, wants: Wants) -> Handshake:
    """Always the same."""
    return lambda request, settings, now: reply if wants(request) else None


def json_reply(value: object) -> Reply:
    return Reply(200, JSON, jsontext.dumps(value))


def json_is(path: str, wanted: object) -> Wants:
    """Whether this stands in the JSON body at the path."""
    place = Path(path, "path")
    return lambda request: _same(_value(request, place), wanted)


def header_is(name: str, wanted: str) -> Wants:
    """Whether a header has this value."""
    return lambda request: single(request, name) == wanted


def _value(request: Request, place: Path) -> object:
    try:
        return place.one(document_of(request))
    except (ValueError, LookupError):
        return None


def _same(value: object, wanted: object) -> bool:
    return type(value) is type(wanted) and value == wanted  # in Python, 1 is True

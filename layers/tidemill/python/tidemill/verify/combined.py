"""Verifications made of others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidemill.model import Accepted, Refused, Request
from tidemill.newjob import key_text
from tidemill.verify.check import Check, Headers, Verdict
from tidemill.verify.keys import Key


def any_of(*checks: Check) -> Check:
    """Genuine is what one of them takes; what none takes is refused with the reasons of all."""

    def judge(request: Request, settings: Mapping[str, str], now: float) -> Verdict:
        reasons: list[str] = []
        for check in checks:
            verdict = check(request, settings, now)
            if not isinstance(verdict, Refused):
                return verdict
            reasons.append(verdict.reason)
        return Refused("; ".join(dict.fromkeys(reasons)))

    def sign(request: Request, settings: Mapping[str, str], now: float) -> Headers:
        return checks[0].sign(request, settings, now)

    return Check(judge, _names(check.secrets for check in checks), _names(check.headers for check in checks), sign)


def all_of(*checks: Check) -> Check:
    """Genuine is what all of them take; the dedup key is that of the first that has one."""

    def judge(request: Request, settings: Mapping[str, str], now: float) -> Verdict:
        key: str | None = None
        for check in checks:
            verdict = check(request, settings, now)
            if not isinstance(verdict, Accepted):
                return verdict
            key = key or verdict.dedup_key
        return Accepted(key)

    def sign(request: Request, settings: Mapping[str, str], now: float) -> Headers:
        return [header for check in checks for header in check.sign(request, settings, now)]

    return Check(judge, _names(check.secrets for check in checks), _names(check.headers for check in checks), sign)


def keyed(check: Check, key: Key) -> Check:
    """The check, with a dedup key of its own: where one of several checks says which id is the signed one."""

    def judge(request: Request, settings: Mapping[str, str], now: float) -> Verdict:
        verdict = check(request, settings, now)
        if not isinstance(verdict, Accepted):
            return verdict
        found = key(request)
        return found if isinstance(found, Refused) else Accepted(key_text(found))

    return Check(judge, check.secrets, check.headers, check.sign)


def _names(several: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in several for name in names))

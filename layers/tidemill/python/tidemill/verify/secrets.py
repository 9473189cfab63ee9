"""Senders that sign nothing and send the secret itself: in a header, as a password, in the body or in the address."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from tidemill.model import Accepted, Refused, Request
from tidemill.verify.check import Check, Headers, cannot_sign, check_names, first_secret, one_of, secret_bytes, to_bytes
from tidemill.verify.reading import Path, decoders, document_of, query_of, single, text_of


def secret_header(name: str, *, secret: str) -> Check:
    """The sender puts the secret itself into the header `name`; `secret` names the setting, as in `hmac_sha256`."""
    check_names("secret_header", header=name, secret=secret)

    def judge(request: Request, settings: Mapping[str, str], now: float) -> Accepted | Refused:
        value = single(request, name)
        if not isinstance(value, str):
            return value or Refused(f"there is no {name} header")
        return one_of(to_bytes(value), secret_bytes(settings, secret), f"the secret in {name} does not match")

    def sign(request: Request, settings: Mapping[str, str], now: float) -> Headers:
        return [(name, first_secret(settings, secret))]

    return Check(judge, (secret,), (name,), sign)


def basic_auth(*, secret: str) -> Check:
    """The sender is given an address with a user and a password in it, and sends them as Basic authentication; the setting
    holds `user:password`, without a comma, or several of these, as in `hmac_sha256`."""
    check_names("basic_auth", secret=secret)

    def judge(request: Request, settings: Mapping[str, str], now: float) -> Accepted | Refused:
        value = single(request, "Authorization")
        if not isinstance(value, str):
            return value or Refused("there is no Authorization header")
        scheme, _, credentials = value.partition(" ")
        given = decoders["base64"](credentials.strip()) if scheme.lower() == "basic" else None
        if given is None:
            return Refused("Authorization is not Basic with base64")
        return one_of(given, secret_bytes(settings, secret), "the user or the password does not match")

    def sign(request: Request, settings: Mapping[str, str], now: float) -> Headers:
        credentials = base64.b64encode(to_bytes(first_secret(settings, secret))).decode()
        return [("Authorization", f"Basic {credentials}")]

    return Check(judge, (secret,), ("Authorization",), sign)


def json_secret(path: str, *, secret: str, each: str = "") -> Check:
    """The secret itself stands in the JSON body at `path`, with `each` in every item there. It is stored with the body."""
    check_names("json_secret", secret=secret)
    place = Path(path, "path")
    items = Path(each, "each") if each else None

    def judge(request: Request, settings: Mapping[str, str], now: float) -> Accepted | Refused:
        try:
            document = document_of(request)
            found = [place.one(item) for item in (items.all(document) if items else [document])]
        except (ValueError, LookupError):
            return Refused(f"there is no {path} in the body")
        if not found:
            return Refused("an empty batch proves nothing")
        known = secret_bytes(settings, secret)
        verdicts = [one_of(to_bytes(text_of(value)), known, f"the secret in {path} does not match") for value in found]
        return next((verdict for verdict in verdicts if isinstance(verdict, Refused)), Accepted())

    return Check(judge, (secret,), sign=cannot_sign("its secret stands in the body, which is sent as it is"))


def query_token(name: str, *, secret: str) -> Check:
    """The secret itself stands in the address, as the parameter `name`, for senders that can do no better."""
    check_names("query_token", name=name, secret=secret)

    def judge(request: Request, settings: Mapping[str, str], now: float) -> Accepted | Refused:
        if not (value := query_of(request, name)):
            return Refused(f"the address has no {name}")
        return one_of(to_bytes(value), secret_bytes(settings, secret), f"the secret in {name} does not match")

    return Check(judge, (secret,), sign=cannot_sign("its secret stands in the address"))

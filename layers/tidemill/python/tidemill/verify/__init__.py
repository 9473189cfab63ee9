"""The primitives that check a request, and the keys that name a delivery.

A verification is any callable `(request, settings, now) -> Accepted | Refused | Reply`; `settings` is a mapping of strings,
`now` epoch seconds. Two attributes of it are read where it has them: `secrets`, the names of the settings that it cannot do
without, and `headers`, the names of the headers whose values must not be stored. A key is any callable that takes the
request and returns a text, a whole number, None for no key, or Refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidemill import lazy

if TYPE_CHECKING:
    from tidemill.verify.addresses import as_it_is, called, with_and_without_port, with_signs_decoded
    from tidemill.verify.certificates import Certified, certificate_signature
    from tidemill.verify.check import Check, Sign, Verdict, Verify, cannot_sign, secret_bytes
    from tidemill.verify.combined import all_of, any_of, keyed
    from tidemill.verify.forms import pairs, plain, versions
    from tidemill.verify.handshakes import after, before, constant, echo_json, echo_query, header_is, json_is, json_reply
    from tidemill.verify.hmacs import fields_digest, hmac_sha256, hmac_signature
    from tidemill.verify.keys import Key, body_hash, first_of, form_field, header, json_path, json_paths
    from tidemill.verify.networks import from_networks
    from tidemill.verify.public_keys import key_signature
    from tidemill.verify.reading import single
    from tidemill.verify.secrets import basic_auth, json_secret, query_token, secret_header
    from tidemill.verify.signed import Signed

_HOMES = {
    "addresses": ("as_it_is", "called", "with_and_without_port", "with_signs_decoded"),
    "certificates": ("Certified", "certificate_signature"),
    "check": ("Check", "Sign", "Verdict", "Verify", "cannot_sign", "secret_bytes"),
    "combined": ("all_of", "any_of", "keyed"),
    "forms": ("pairs", "plain", "versions"),
    "handshakes": ("after", "before", "constant", "echo_json", "echo_query", "header_is", "json_is", "json_reply"),
    "hmacs": ("fields_digest", "hmac_sha256", "hmac_signature"),
    "keys": ("Key", "body_hash", "first_of", "form_field", "header", "json_path", "json_paths"),
    "networks": ("from_networks",),
    "public_keys": ("key_signature",),
    "reading": ("single",),
    "secrets": ("basic_auth", "json_secret", "query_token", "secret_header"),
    "signed": ("Signed",),
}

__all__ = [
    "Certified",
    "Check",
    "Key",
    "Sign",
    "Signed",
    "Verdict",
    "Verify",
    "after",
    "all_of",
    "any_of",
    "as_it_is",
    "basic_auth",
    "before",
    "body_hash",
    "called",
    "cannot_sign",
    "certificate_signature",
    "constant",
    "echo_json",
    "echo_query",
    "fields_digest",
    "first_of",
    "form_field",
    "from_networks",
    "header",
    "header_is",
    "hmac_sha256",
    "hmac_signature",
    "json_is",
    "json_path",
    "json_paths",
    "json_reply",
    "json_secret",
    "key_signature",
    "keyed",
    "pairs",
    "plain",
    "query_token",
    "secret_bytes",
    "secret_header",
    "single",
    "versions",
    "with_and_without_port",
    "with_signs_decoded",
]

__getattr__ = lazy.names(globals(), _HOMES)

"""What every signature has in common: where it stands, what it is of, and how old it may be."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tidemill.errors import CommandError
from tidemill.model import Accepted, Refused, Request
from tidemill.verify import times
from tidemill.verify.addresses import Spellings, as_it_is, called
from tidemill.verify.check import Headers, check_choice, check_names
from tidemill.verify.forms import BARE, Form, Given
from tidemill.verify.reading import Path, decoders, document_of, encoders, single, text_of, whole
from tidemill.verify.templates import Content, Template


@dataclass(frozen=True)
class Claim:
    """Any of the signatures must be one of any of the texts."""

    signatures: list[bytes]
    texts: list[bytes]


@dataclass(frozen=True)
class Signed:
    """`signature` is the name of a header, or the path of a JSON value: `$.signature.signature`. `template` says what is
    signed (see tidemill.verify.templates), `encoding` is hex or base64.

    `time` is where the timestamp stands, a header or a path, unless the form has it; `unit` is s, ms or rfc3339, and
    `tolerance` in seconds, None for any time. `each` is the path of the items of a batch, each signed for itself.
    `public_url` goes before the setting PUBLIC_URL where the address is signed. Raises ConfigurationError.
    """

    signature: str
    template: str = "{body}"
    encoding: str = "hex"
    form: Form = BARE
    time: str = ""
    unit: str = "s"
    tolerance: float | None = times.TOLERANCE
    each: str = ""
    public_url: str = ""
    spellings: Spellings = as_it_is

    def __post_init__(self) -> None:
        check_names("Signed", header=self.signature)
        check_choice("Signed", "encoding", self.encoding, decoders)
        check_choice("Signed", "unit", self.unit, times.UNITS)
        _ = self._template, self._paths  # so that what is wrong with them is told at load

    @property
    def headers(self) -> tuple[str, ...]:
        """The names of the headers whose values must not be stored."""
        return () if self.in_body else (self.signature,)

    @property
    def in_body(self) -> bool:
        return self.signature.startswith("$")

    def judge(
        self, request: Request, settings: Mapping[str, str], now: float, genuine: Callable[[Claim], Accepted | Refused]
    ) -> Accepted | Refused:
        """Ask `genuine` about the claim of the request, or of each item of its batch; all must be."""
        try:
            items = self._items(request)
        except (ValueError, LookupError):
            return Refused("the body is not JSON of the right form")
        if not items:
            return Refused("an empty batch proves nothing")
        for item in items:
            claim = self._claim(request, settings, now, item)
            verdict = claim if isinstance(claim, Refused) else genuine(claim)
            if isinstance(verdict, Refused):
                return verdict
        return Accepted()

    def sign(self, request: Request, settings: Mapping[str, str], now: float, digest: Callable[[bytes], bytes]) -> Headers:
        """The headers that make the request genuine; `digest` signs. Raises CommandError."""
        if self.in_body:
            raise CommandError("invalid", "its signature stands in the body, which is sent as it is", "source")
        try:
            item = self._items(request)[0]
        except (ValueError, LookupError):
            raise CommandError("invalid", "the body is not JSON of the right form", "body") from None
        made = {name: _made_id(request, now) for name in self._template.headers}
        if self.time and "time" not in self._paths:
            made[self.time] = times.written(now, self.unit)
        complete = replace(request, headers=list(made.items()))
        time = times.written(now, self.unit) if self.form.timed else self._time(complete, "", item) or ""
        url = self.spellings(called(complete, settings, self.public_url))[0]
        text = time if isinstance(time, Refused) else self._template.fill(Content(complete, settings, url, time, item))
        if isinstance(text, Refused):
            raise CommandError("invalid", text.reason, "source")
        return [*made.items(), (self.signature, self.form.write(encoders[self.encoding](digest(text)), str(time)))]

    def _items(self, request: Request) -> list[Any]:
        if self.each:
            return self._paths["each"].all(document_of(request))
        needs_json = self._paths or "json" in self._template.kinds
        return [document_of(request) if needs_json else None]

    def _claim(self, request: Request, settings: Mapping[str, str], now: float, item: Any) -> Claim | Refused:
        given = self._given(request, item)
        if isinstance(given, Refused):
            return given
        time = self._time(request, given.time, item)
        if isinstance(time, Refused):
            return time
        if time is not None and (fault := times.fault(time, self.unit, self.tolerance, now)):
            return fault
        signatures: list[bytes] = []
        for shown in given.signatures:
            if (signature := decoders[self.encoding](shown)) is None:
                return Refused(f"{self.signature} is not {self.encoding}")
            signatures.append(signature)
        texts: list[bytes] = []
        for url in self.spellings(called(request, settings, self.public_url)):
            text = self._template.fill(Content(request, settings, url, time or "", item))
            if isinstance(text, Refused):
                return text
            texts.append(text)
        return Claim(signatures, texts)

    def _given(self, request: Request, item: Any) -> Given | Refused:
        value = self._value("signature", self.signature, request, item)
        if isinstance(value, Refused):
            return value
        return self.form.read(self.signature, value)

    def _time(self, request: Request, of_form: str, item: Any) -> str | Refused | None:
        """The timestamp as it was sent; None where none is signed."""
        if self.form.timed or not self.time:
            return of_form if self.form.timed else None
        return self._value("time", self.time, request, item)

    def _value(self, field: str, at: str, request: Request, item: Any) -> str | Refused:
        if field in self._paths:
            try:
                return text_of(self._paths[field].one(item))
            except LookupError:
                return Refused(f"there is no {at} in the body")
        value = whole(request, at) if field == "signature" and self.form.commas else single(request, at)
        return value if isinstance(value, Refused) else value or Refused(f"there is no {at} header")

    @cached_property
    def _template(self) -> Template:
        return Template(self.template)

    @cached_property
    def _paths(self) -> dict[str, Path]:
        places = {"signature": self.signature, "time": self.time, "each": self.each}
        return {name: Path(at, name) for name, at in places.items() if at and (name == "each" or at.startswith("$"))}


def _made_id(request: Request, now: float) -> str:
    """An id of a delivery for a test: another body or another second is another delivery."""
    return "test_" + hashlib.sha256(str(int(now)).encode() + b"." + request.body).hexdigest()[:24]

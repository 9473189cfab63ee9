"""The ways in which a header shows its signatures, and the time where it has that, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidemill.model import Refused


@dataclass(frozen=True)
class Given:
    """The signatures as text; any of them may match. `time` is '' where the header has none."""

    signatures: list[str]
    time: str = ""


@dataclass(frozen=True)
class Form:
    """`read` takes the value of a header named so, and tells what it shows; `write` makes one of a signature and a time.
    `commas` says that a comma is part of the form, and does not divide two values."""

    read: Callable[[str, str], Given | Refused]
    write: Callable[[str, str], str]
    commas: bool = False
    timed: bool = False


def plain(prefix: str = "") -> Form:
    """A prefix and the signature."""

    def read(name: str, value: str) -> Given | Refused:
        if not value.startswith(prefix):
            return Refused(f"{name} does not begin with {prefix!r}")
        return Given([value.removeprefix(prefix)])

    return Form(read, lambda signature, time: prefix + signature)


BARE = plain()


def pairs(time: str, signature: str, separator: str = ",") -> Form:
    """`t=1700000000,v1=<signature>`: the time once, the signature as often as there are secrets; other names are ignored."""

    def read(name: str, value: str) -> Given | Refused:
        found = [part.strip().partition("=") for part in value.split(separator)]
        times = [given for key, _, given in found if key == time]
        if len(times) != 1:
            return Refused(f"{name} does not have one {time}=")
        signatures = [given for key, _, given in found if key == signature]
        return Given(signatures, times[0]) if signatures else Refused(f"{name} has no {signature}=")

    def write(made: str, at: str) -> str:
        return f"{time}={at}{separator}{signature}={made}"

    return Form(read, write, commas=separator == ",", timed=True)


def versions(version: str) -> Form:
    """`v1,<signature> v1,<signature>`: one for each secret, divided by spaces; other versions are ignored."""

    def read(name: str, value: str) -> Given | Refused:
        found = [part.partition(",") for part in value.split(" ") if part]
        signatures = [given for key, _, given in found if key == version]
        return Given(signatures) if signatures else Refused(f"{name} has no {version},")

    return Form(read, lambda signature, time: f"{version},{signature}", commas=True)

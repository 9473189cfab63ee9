"""The numbers that must fit one another: timeout, lease, Lambda timeout."""

from __future__ import annotations

import pytest
from tidemill.drain import check_numbers
from tidemill.errors import ConfigurationError
from tidemill.handlers import Handler, by_kind, handler


def nothing(job: object, ctx: object) -> None:
    return None


def test_a_timeout_that_never_fits_into_the_drain_is_refused_with_the_three_numbers() -> None:
    """B39, B82"""
    handlers = {"a": Handler("a", nothing, timeout=300), "b": Handler("b", nothing, timeout=20)}
    with pytest.raises(ConfigurationError, match=r"'a': timeout 300 s, lease 60 s, Lambda timeout 300 s$"):
        check_numbers(handlers, 60, 300)


def test_a_timeout_that_fits_with_the_margin_is_taken() -> None:
    check_numbers({"a": Handler("a", nothing, timeout=299)}, 60, 300)
    check_numbers({"a": Handler("a", nothing, timeout=900)}, 60, None)


def test_a_lease_too_short_to_be_extended_in_time_is_refused() -> None:
    """B39"""
    with pytest.raises(ConfigurationError, match=r"LEASE_SECONDS must be at least 1, not 0\.5"):
        check_numbers({}, 0.5, None)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"kind": ""}, "kind"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"max_attempts": True}, "max_attempts"),
        ({"timeout": 901}, "timeout"),
        ({"timeout": 0}, "timeout"),
        ({"limit": ("mail", 0)}, "size of limit 'mail'"),
        ({"limit": "mail"}, "limit must be"),
    ],
)
def test_a_handler_declared_with_a_bad_parameter_is_refused_by_its_name(parameters: dict[str, object], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        handler(**{"kind": "work", **parameters})  # type: ignore[arg-type]


def test_every_kind_with_two_handlers_and_every_limit_with_two_sizes_is_named() -> None:
    def other(job: object, ctx: object) -> None:
        return None

    handlers = [
        Handler("a", nothing, limit_name="mail", limit_size=1),
        Handler("a", other),
        Handler("b", other, limit_name="mail", limit_size=2),
    ]
    with pytest.raises(ConfigurationError, match=r"kind 'a' has two handlers.*limit 'mail' has two sizes: 1 and 2"):
        by_kind(handlers)

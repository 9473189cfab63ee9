"""The corpus, decided: each request of it by our preset, and by the sender's official package where there is one."""

from __future__ import annotations

import pytest
from tidemill import Accepted, Refused

from tests.senders import (
    corpus_adyen,
    corpus_cases,
    corpus_in_body,
    corpus_plain,
    corpus_schemes,
    corpus_schemes_keys,
    corpus_schemes_timed,
    corpus_special,
    corpus_twilio,
)
from tests.senders.corpus import RULES, Case

SCHEMES = (*corpus_schemes.SCHEMES, *corpus_schemes_timed.SCHEMES, *corpus_schemes_keys.SCHEMES)
CASES = [
    *(case for scheme in SCHEMES for case in corpus_cases.cases(scheme)),
    *(
        case
        for module in (corpus_special, corpus_twilio, corpus_adyen, corpus_in_body, corpus_plain)
        for case in module.cases()
    ),
]
JUDGED = [case for case in CASES if case.sender.official]


def named(case: Case) -> str:
    return f"{case.sender.name}: {case.name}"


@pytest.mark.parametrize("case", CASES, ids=named)
def test_the_preset_decides_as_is_right(case: Case) -> None:
    verdict = case.verdict()
    assert isinstance(verdict, Accepted if case.genuine else Refused), verdict
    if isinstance(verdict, Refused):
        assert not [secret for secret in case.sender.secrets if secret in verdict.reason]


@pytest.mark.parametrize("case", JUDGED, ids=named)
def test_the_official_package_says_the_same_unless_a_rule_is_named(case: Case) -> None:
    said = case.official_verdict()
    assert said == (not case.genuine if case.rule else case.genuine), case.rule and RULES[case.rule]


def test_the_corpus_has_over_a_thousand_requests_and_each_has_a_name_of_its_own() -> None:
    assert len(CASES) > 1000
    assert len({named(case) for case in CASES}) == len(CASES)


def test_each_exception_names_a_rule_and_a_case_that_is_there() -> None:
    differing = {case.sender.name: case.sender.differs for case in CASES}
    assert {rule for rules in differing.values() for rule in rules.values()} == set(RULES)
    assert {(name, case) for name, rules in differing.items() for case in rules} <= {
        (case.sender.name, case.name) for case in CASES
    }

"""Judged by packages on npm: senders that have none on PyPI, and all the bodies that GitHub's SDK is tested with."""

from __future__ import annotations

import json
from dataclasses import replace
from urllib.parse import urlencode

import pytest
from tidemill import Accepted, Refused, Request

from tests.senders import corpus_special
from tests.senders.corpus import NOW, SECRET, Case, Scheme, another, source
from tests.senders.corpus_cases import cases
from tests.senders.corpus_certificates import (
    KEY,
    Fields,
    Host,
    certificate,
    confirmation,
    notification,
    posted,
    signed,
    sns,
    without,
)
from tests.senders.corpus_npm import github_examples, question, verdicts
from tests.senders.corpus_schemes import AS_TEXT, CAPITALS, ONE_VALUE, github, notion
from tests.senders.corpus_schemes_timed import linear

DIFFERS = {
    "github": {*ONE_VALUE, *AS_TEXT, *CAPITALS, "genuine 10"},  # its body is empty, which the package takes for none
    "notion": {*ONE_VALUE},
    "linear": {*ONE_VALUE, *CAPITALS, "time with a fraction", "time with an exponent"},
}


@pytest.mark.parametrize("scheme", [github, notion, linear], ids=lambda scheme: scheme.name)
def test_the_package_says_what_the_corpus_says_unless_a_rule_is_named(scheme: Scheme) -> None:
    special = [case for case in corpus_special.cases() if case.sender is scheme]
    judged: list[Case] = [case for case in [*cases(scheme), *special] if len(case.secrets) == 1]
    secrets = [scheme.secrets[0] if "<" in case.secrets[0] else case.secrets[0] for case in judged]
    said = verdicts(
        [question(scheme.name, case.request, secret, case.now) for case, secret in zip(judged, secrets, strict=True)]
    )
    differing = {case.name for case, one in zip(judged, said, strict=True) if one != case.genuine}
    assert differing == DIFFERS[scheme.name]


def deliveries() -> list[Request]:
    """Each body twice: as JSON and as a form, as GitHub sends them."""
    sent = []
    for event in github_examples():
        for number, example in enumerate(event["examples"]):
            body = json.dumps(example, ensure_ascii=False, separators=(",", ":")).encode()
            form = urlencode({"payload": body.decode()}).encode()
            for kind, content in (("application/json", body), ("application/x-www-form-urlencoded", form)):
                made = github.send(github.parts(content))
                extra = [
                    ("X-GitHub-Event", event["name"]),
                    ("X-GitHub-Delivery", f"{event['name']}-{number}"),
                    ("Content-Type", kind),
                ]
                sent.append(replace(made, headers=[*extra, *made.headers]))
    return sent


def test_all_bodies_of_github_are_accepted_and_none_of_them_with_a_byte_changed() -> None:
    genuine = deliveries()
    assert len(genuine) == 2 * 329
    middle = [len(sent.body) // 2 for sent in genuine]
    tampered = [
        replace(sent, body=sent.body[:at] + bytes([sent.body[at] ^ 1]) + sent.body[at + 1 :])
        for sent, at in zip(genuine, middle, strict=True)
    ]
    preset = source("github")
    for sent in genuine:
        assert preset.check(sent, {"S": SECRET}, NOW) == Accepted(dict(sent.headers)["X-GitHub-Delivery"])
    for sent in tampered:
        assert isinstance(preset.check(sent, {"S": SECRET}, NOW), Refused)
    said = verdicts([question("github", sent, SECRET, NOW) for sent in [*genuine, *tampered]])
    assert said == [True] * len(genuine) + [False] * len(tampered)


def test_the_validator_of_sns_says_the_same() -> None:
    good = signed(notification())
    requests: list[tuple[Fields, bool]] = [
        (signed(fields, version=version), True)
        for version in ("1", "2")
        for fields in (notification(), without(notification(), "Subject"), confirmation(), notification(Message="ü\n"))
    ]
    for field in ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type", "Signature", "SigningCertURL"):
        requests += [(without(good, field), False), (good | {field: another(good[field], 3)}, False)]
    for url in ("http://sns.eu-west-1.amazonaws.com/a.pem", "https://evil.test/a.pem", "https://sns.x.amazonaws.com/a.pem"):
        requests.append((signed(notification(SigningCertURL=url)), False))
    preset = sns(Host())
    for fields, genuine in requests:
        assert isinstance(preset.check(posted(fields), {}, NOW), Accepted) == genuine, fields
    pem = certificate(KEY)
    said = verdicts([question("sns", posted(fields), "", NOW, pem) for fields, _ in requests])
    assert said == [genuine for _, genuine in requests]

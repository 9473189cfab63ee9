"""Signatures as botocore makes them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from unittest.mock import patch

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st
from tidemill.aws import database_token, signed

NOW = 1_800_000_000.0
REGION = "eu-south-1"

tokens = st.text("abc/+=", max_size=20)
secrets = st.text("abcXYZ/+", min_size=1, max_size=40)


@pytest.fixture(scope="module", autouse=True)
def stopped_clock() -> Iterator[None]:
    with patch("botocore.auth.get_current_datetime", return_value=datetime.fromtimestamp(NOW, UTC)):
        yield


def environ(secret: str, token: str) -> dict[str, str]:
    return {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": token}


@given(name=st.text("abcXYZ019-_:", min_size=1, max_size=40), secret=secrets, token=tokens)
def test_an_invoke_is_signed_as_botocore_signs_it(name: str, secret: str, token: str) -> None:
    path = f"/2015-03-31/functions/{name.replace(':', '%3A')}/invocations"
    headers = {"x-amz-invocation-type": "Event"}
    ours = signed("lambda", "lambda.example.com", path, b"{}", headers, REGION, environ(secret, token), NOW)
    theirs = AWSRequest("POST", f"https://lambda.example.com{path}", headers, data=b"{}")
    SigV4Auth(Credentials("AKID", secret, token or None), "lambda", REGION).add_auth(theirs)
    assert ours["authorization"] == theirs.headers["Authorization"]


@given(body=st.binary(max_size=100), secret=secrets, token=tokens)
def test_a_call_of_sqs_is_signed_as_botocore_signs_it(body: bytes, secret: str, token: str) -> None:
    headers = {"content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS.SendMessage"}
    ours = signed("sqs", "sqs.example.com", "/", body, headers, REGION, environ(secret, token), NOW)
    theirs = AWSRequest("POST", "https://sqs.example.com/", headers, data=body)
    SigV4Auth(Credentials("AKID", secret, token or None), "sqs", REGION).add_auth(theirs)
    assert ours["authorization"] == theirs.headers["Authorization"]


@pytest.mark.parametrize(("user", "secret", "token"), [("tide", "s3/cr+t", ""), ("a b_é@+/~", "X", "to/ken==")])
def test_a_database_token_is_the_one_that_boto3_makes(user: str, secret: str, token: str) -> None:
    session = boto3.Session("AKID", secret, token or None, region_name=REGION)
    theirs = session.client("rds").generate_db_auth_token("db.example.com", 5432, user)
    ours = database_token("db.example.com", 5432, user, REGION, environ(secret, token), NOW)
    # What stands in the query, and that it is signed as theirs is; the order of the parameters may be another.
    assert (ours.partition("?")[0], sorted(ours.partition("?")[2].split("&"))) == (
        theirs.partition("?")[0],
        sorted(theirs.partition("?")[2].split("&")),
    )

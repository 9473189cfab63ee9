"""boto3, unchanged, against the local run's Lambda API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from local import lambda_api
from tests.local.conftest import Tiny
from tests.local.test_functions import ECHO, wait_until


@pytest.fixture
def client(tiny: Callable[..., Tiny]) -> Iterator[Callable[[str], tuple[Any, Tiny]]]:
    with ExitStack() as exits:

        def make(code: str) -> tuple[Any, Tiny]:
            function = tiny(code)
            api = exits.enter_context(lambda_api.serve(lambda name: function.functions[name]))
            options = {"endpoint_url": api.url, "region_name": "us-east-1"}
            keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
            config = Config(retries={"total_max_attempts": 1}, parameter_validation=False)
            return boto3.client("lambda", config=config, **options, **keys), function

        yield make


@pytest.mark.parametrize("name", ["tidemill-tiny", "tiny", "arn:aws:lambda:us-east-1:000000000000:function:tidemill-tiny"])
def test_a_synchronous_invoke_answers_the_result(client: Any, name: str) -> None:
    boto, _ = client(ECHO)
    answer = boto.invoke(FunctionName=name, Payload=b'{"n": 1}')
    assert answer["StatusCode"] == 200
    assert "FunctionError" not in answer
    assert json.loads(answer["Payload"].read())["event"] == {"n": 1}


def test_a_synchronous_invoke_without_an_event_gets_an_empty_object(client: Any) -> None:
    boto, _ = client(ECHO)
    assert json.loads(boto.invoke(FunctionName="tiny")["Payload"].read())["event"] == {}


def test_an_error_of_the_function_is_a_function_error(client: Any) -> None:
    boto, _ = client("def handler(event, context):\n    raise ValueError('no good')")
    answer = boto.invoke(FunctionName="tiny")
    assert (answer["StatusCode"], answer["FunctionError"]) == (200, "Unhandled")
    assert json.loads(answer["Payload"].read())["errorMessage"] == "no good"


def test_an_asynchronous_invoke_is_accepted_and_runs_later(client: Any) -> None:
    boto, function = client("def handler(event, context):\n    print('ran', event)")
    answer = boto.invoke(FunctionName="tiny", InvocationType="Event", Payload=b"7")
    assert answer["StatusCode"] == 202
    wait_until(lambda: "ran 7" in function.lines)


def test_an_unknown_function_is_not_found(client: Any) -> None:
    boto, _ = client(ECHO)
    with pytest.raises(ClientError) as failure:
        boto.invoke(FunctionName="nothing")
    assert failure.value.response["Error"]["Code"] == "ResourceNotFoundException"


@pytest.mark.parametrize(
    ("how", "payload", "code"),
    [
        ("RequestResponse", b"{", "InvalidRequestContentException"),
        ("Perhaps", b"{}", "InvalidParameterValueException"),
        ("Event", b'"' + b"x" * 1024 * 1024 + b'"', "RequestTooLargeException"),
    ],
)
def test_what_cannot_be_invoked_is_refused_by_name(client: Any, how: str, payload: bytes, code: str) -> None:
    boto, _ = client(ECHO)
    with pytest.raises(ClientError) as failure:
        boto.invoke(FunctionName="tiny", InvocationType=how, Payload=payload)
    assert failure.value.response["Error"]["Code"] == code

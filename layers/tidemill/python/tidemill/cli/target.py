"""Where a command goes: to a database, in this process, or to a deployed replay function.

A target has `run(command) -> answer` and `settings()`; both raise Unreachable.
"""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from functools import cached_property
from typing import Any, Protocol

import psycopg

from tidemill import app as machine
from tidemill import settings as settings_module
from tidemill.errors import ConfigurationError
from tidemill.settings import Settings

READ_TIMEOUT = 900  # seconds: as long as any function may run
THROTTLED_PAUSES = (1, 2, 4)  # seconds before each further try, where Lambda has not begun

Command = Mapping[str, Any]
Client = Callable[[str], Any]  # the boto3 client of a service


class Unreachable(Exception):
    """The command did not arrive, or what carries it out is broken. The text is for people, and has no secret in it."""


class Target(Protocol):
    """Where commands go."""

    def run(self, command: Command) -> dict[str, Any]:
        """The operator's answer. Raises Unreachable."""

    def settings(self) -> Settings:
        """The settings of what is there. Raises Unreachable."""


class Here:
    """The database of an environment, with the automations that are installed here."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    @cached_property
    def _machine(self) -> machine.App:
        return machine.load(self._environ)

    def run(self, command: Command) -> dict[str, Any]:
        try:
            # What the machine logs on stdout is not for this terminal, nor for the program that reads --json.
            with redirect_stdout(io.StringIO()):
                return self._machine.operator.run(dict(command))
        except psycopg.errors.UndefinedTable:
            reason = "this database has no tables of Tidemill, or old ones: run `tidemill migrate`"
        except Exception as error:
            if not isinstance(error, (ConfigurationError, psycopg.Error)) and not _of_aws(error):
                raise
            reason = Settings(self._environ).redact(f"{type(error).__name__}: {str(error).strip()}")
        raise Unreachable(reason)

    def settings(self) -> Settings:
        return loaded(self._environ)


class Deployed:
    """A replay function, by name or ARN. Its commands are never sent twice, save where Lambda says that it did not begin."""

    def __init__(
        self,
        function: str,
        client: Client,
        stack: str | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._function = function
        self._client = client
        self._stack = stack
        self._pause = pause

    def run(self, command: Command) -> dict[str, Any]:
        payload = json.dumps(command).encode()
        for pause in (*THROTTLED_PAUSES, None):
            try:
                response = self._lambda.invoke(FunctionName=self._function, Payload=payload)
                answer = json.loads(response["Payload"].read())
                break
            except Exception as error:
                if _code(error) != "TooManyRequestsException" or pause is None:
                    raise Unreachable(_said(error, f"invoking {self._function}")) from None
                self._pause(pause)
        if not isinstance(answer, dict) or "ok" not in answer:
            reason = answer.get("errorMessage") if isinstance(answer, dict) else None
            raise Unreachable(f"the function {self._function} failed: {reason or 'see its log'}")
        return answer

    def settings(self) -> Settings:
        """Those of its secret, with PUBLIC_URL, the address that its senders call: where it has none of its own, what the
        stack's output says. The database's secret is not read."""
        try:
            configuration = self._lambda.get_function_configuration(FunctionName=self._function)
            variables = configuration.get("Environment", {}).get("Variables", {})
            wanted = {name: value for name, value in variables.items() if name in ("SETTINGS_SECRET_ARN", "PUBLIC_URL")}
            found = settings_module.load(wanted, self._secret)
            return found if found.get("PUBLIC_URL") else Settings({**found, "PUBLIC_URL": self._output("Url")})
        except Exception as error:
            reason = _said(error, f"reading the settings of {self._function}")
        raise Unreachable(reason)

    @cached_property
    def _lambda(self) -> Any:
        return self._client("lambda")

    def _output(self, name: str) -> str:
        if self._stack is None:
            return ""
        [stack] = self._client("cloudformation").describe_stacks(StackName=self._stack)["Stacks"]
        return next((one["OutputValue"] for one in stack.get("Outputs", ()) if one["OutputKey"] == name), "")

    def _secret(self, arn: str) -> str:
        return str(self._client("secretsmanager").get_secret_value(SecretId=arn)["SecretString"])


def loaded(environ: Mapping[str, str]) -> Settings:
    """The settings of an environment, and of the secret that it names. Raises Unreachable."""
    try:
        return settings_module.load(environ)
    except ConfigurationError as error:
        raise Unreachable(str(error)) from None
    except Exception as error:
        raise Unreachable(_said(error, "reading the settings")) from None


def clients(region: str | None) -> Client:
    """Clients that wait for a bulk command to end, and never send it twice."""

    def client(service: str) -> Any:
        import boto3
        from botocore.config import Config

        config = Config(connect_timeout=10, read_timeout=READ_TIMEOUT, retries={"total_max_attempts": 1})
        return boto3.client(service, region_name=region or os.environ.get("AWS_REGION"), config=config)

    return client


def _of_aws(error: Exception) -> bool:
    """Whether it comes from a client of AWS, which reads secrets and makes tokens."""
    return type(error).__module__.partition(".")[0] in ("boto3", "botocore", "aws_lambda_powertools")


def _code(error: Exception) -> str:
    """The code of an error that AWS answered, '' of any other."""
    response = getattr(error, "response", None) or {}
    return str(response.get("Error", {}).get("Code", ""))


def _said(error: Exception, what: str) -> str:
    """The error in words that say what to do."""
    name = _code(error) or type(error).__name__
    if name == "TooManyRequestsException":
        return f"{what}: Lambda throttles it, and it did not begin; try again in a moment"
    if name == "ResourceNotFoundException":
        return f"{what}: there is no such function in this account and region"
    if name == "NoRegionError":
        return f"{what}: which region? give --region, or set AWS_REGION"
    if name in ("NoCredentialsError", "PartialCredentialsError", "TokenRetrievalError", "SSOTokenLoadError"):
        return f"{what}: no AWS credentials ({error})"
    if name == "ReadTimeoutError":
        return f"{what}: no answer within {READ_TIMEOUT} s; what it has done stands in its log"
    return f"{what}: {name}: {error}" if _code(error) == "" else f"{what}: {error}"

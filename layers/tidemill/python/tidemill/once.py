"""The once ledger (`job_executions`): an effect under a key happens once, however often its job runs.

`once` is for effects in the database: the key is written in the same transaction as the effect. `call_once` is for effects
outside, which no transaction covers: the key is written before and after, and what happens between is told apart by the
provider, who gets the same idempotency key each time. Keys are kept as long as finished jobs, and are new after that.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from tidemill import jsontext
from tidemill.errors import InProgress, KeyReused, PermanentError
from tidemill.model import Job
from tidemill.newjob import key_text
from tidemill.wire import Connection, Row, run, statement

_SPACE = uuid.UUID("6f1c9d3e-2b0a-5e57-9a54-7e3b8c1d0f42")  # of our idempotency keys; any constant would do


@dataclass
class Entry:
    """What a block of `once` gets. `first`: nobody has done this, so the block is to act. `result`: what it records, any
    JSON; after the block, and in a block that is not to act, what was recorded."""

    first: bool
    result: Any = None


@contextmanager
def once(connection: Connection, job_type: str, key: object, request: object = None) -> Iterator[Entry]:
    """Open a transaction (or join the one that is open) in which the block acts if it is the first with this key.

    Of two at once the second waits for the first to end. Raises KeyReused where the key was used with another `request` (any
    JSON; None is not compared), InProgress where a `call_once` of another job is at it, PermanentError that names the key
    where the result is not JSON, ValueError for a key that is none.
    """
    parameters = _parameters(job_type, key, request)
    with connection.transaction():
        first, stored = _begin(connection, "once_begin", parameters, key)
        entry = Entry(first, stored)
        yield entry
        if first and entry.result is not None:
            [(stored,)] = run(connection, statement("once_record"), {**parameters, "result": _result(key, entry.result)})
        entry.result = stored


def call_once(
    connection: Connection, job: Job, key: object, function: Callable[[str], Any], *, request: object = None, seconds: float
) -> Any:
    """Call `function(idempotency_key)`, unless it was done under this key; returns its result as it is stored.

    The idempotency key is the same on every attempt. An attempt that died in between is followed by another of the same job
    at once, by other jobs when its lease, or the `seconds` that it had left, are over: the function is then called again.
    What it raises is raised, and not recorded. Raises as `once` does, and PermanentError in an open transaction, which could
    undo the record of what has happened.
    """
    if connection.info.transaction_status != TransactionStatus.IDLE:
        raise PermanentError("call_once in an open transaction: end it before, since what happens outside stays either way")
    parameters = _parameters(job.kind, key, request)
    mine = {**parameters, "job_id": job.id, "claim_id": job.claim_id, "seconds": seconds}
    first, stored = _begin(connection, "once_call", mine, key)
    if not first:
        return stored
    try:
        result = _result(key, function(idempotency_key(job.kind, parameters["key"])))
    except BaseException:
        with suppress(psycopg.Error):  # the lease ends it too
            run(connection, statement("once_forget"), mine)
        raise
    return _until_seen(connection, "once_complete", {**parameters, "result": result})[0]


def idempotency_key(job_type: str, key: str) -> str:
    """A UUID (RFC 9562, version 5), since some providers take nothing else."""
    return str(uuid.uuid5(_SPACE, json.dumps([job_type, key])))


def _begin(connection: Connection, name: str, parameters: Mapping[str, Any], key: object) -> tuple[bool, Any]:
    """Whether this is the first with the key; if not, the recorded result."""
    first, request_hash, completed, result = _until_seen(connection, name, parameters)
    if not first and None not in (request_hash, parameters["request_hash"]) and request_hash != parameters["request_hash"]:
        raise KeyReused(f"the key {key!r} of {parameters['job_type']!r} was used before, with another request")
    if not first and not completed:
        raise InProgress(f"the effect under the key {key!r} of {parameters['job_type']!r} is being made by another job")
    return first, result


def _until_seen(connection: Connection, name: str, parameters: Mapping[str, Any]) -> Row:
    for _ in range(5):
        if rows := run(connection, statement(name), parameters):
            return rows[0]
    raise RuntimeError(f"the key {parameters['key']!r} of {parameters['job_type']!r} changes all the time")


def _parameters(job_type: str, key: object, request: object) -> dict[str, Any]:
    if (text := key_text(key)) is None:
        raise ValueError("key must not be empty")
    return {"job_type": job_type, "key": text, "request_hash": None if request is None else _hash(key, request)}


def _hash(key: object, request: object) -> str:
    try:
        canonical = json.dumps(request, sort_keys=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"request of the key {key!r} must be JSON: {error}") from None
    return hashlib.sha256(canonical.encode()).hexdigest()


def _result(key: object, value: object) -> str:
    try:
        return jsontext.dumps(value)
    except ValueError as error:
        raise PermanentError(f"the result under the key {key!r} cannot be stored as JSON: {error}") from None

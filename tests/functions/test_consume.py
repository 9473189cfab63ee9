"""The consume function: what becomes of jobs that come by a queue, and which messages are to come again."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from tidemill.errors import ConfigurationError, PermanentError, RateLimited
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.outcome import Discard, Snooze
from tidemill.wire import Connection

from tests.functions.consuming import Hiding, column, event, function, put_out, reported
from tests.queue.conftest import put

DUE = "extract(epoch from run_at - interval '1 day' - now())::int"  # of a job that is out


def work(job: Job, ctx: Any) -> Any:
    return job.payload


def failing(error: Exception) -> Handler:
    def fail(job: Job, ctx: Any) -> None:
        raise error

    return Handler("work", fail, max_attempts=2)


def test_a_job_runs_as_in_a_drain_and_its_message_is_done_with(connection: Connection, database_url: str) -> None:
    ids = put_out(connection, 3, payload='{"a": 1}')
    assert reported(function(database_url, Handler("work", work)).handle(event(*ids), None)) == []
    assert (
        column(connection, "status, result, attempts, sent_at is not null, locked_until")
        == [("done", {"a": 1}, 1, True, None)] * 3
    )


def test_the_jobs_of_a_batch_run_at_once(connection: Connection, database_url: str) -> None:
    ids = put_out(connection, 10)
    together = threading.Barrier(10, timeout=20)
    handler = Handler("work", lambda job, ctx: together.wait() * 0)
    assert reported(function(database_url, handler).handle(event(*ids), None)) == []


@pytest.mark.parametrize(
    "body",
    ["", "{", "[]", "7", "null", "{}", '{"job": null}', '{"job": "7"}', '{"job": true}', '{"job": 1.5}', '{"job": -1}',
     '{"job": 9223372036854775808}', '{"job": NaN}', "[" * 5000],
)  # fmt: skip
def test_a_malformed_body_is_reported_and_its_neighbour_runs(connection: Connection, database_url: str, body: str) -> None:
    """B95"""
    [job] = put_out(connection)
    assert reported(function(database_url, Handler("work", work)).handle(event(job, body), None)) == ["m1"]
    assert column(connection, "status") == [("done",)]


@pytest.mark.parametrize("bad", [1, 10])
def test_exactly_the_failed_ones_are_reported_one_or_all(connection: Connection, database_url: str, bad: int) -> None:
    """B95"""
    ids = put_out(connection, 10)

    def handle(job: Job, ctx: Any) -> None:
        if job.id in ids[:bad]:
            raise ValueError("no")

    answer = function(database_url, Handler("work", handle)).handle(event(*ids), None)
    assert reported(answer) == [f"m{number}" for number in range(bad)]
    assert column(connection, "status", "status = 'done'") == [("done",)] * (10 - bad)


def test_an_ordinary_error_uses_an_attempt_and_the_message_comes_again_after_the_backoff(
    connection: Connection, database_url: str
) -> None:
    [job] = put_out(connection)
    queue = Hiding()
    consume = function(database_url, failing(ValueError("no")), queue=queue)
    assert reported(consume.handle(event(job), None)) == ["m0"]
    [(status, attempts, error, due)] = column(connection, f"status, attempts, error_class, {DUE}")
    assert (status, attempts, error) == ("pending", 1, "ValueError") and 7 <= due <= 10
    assert due <= queue.hidden["r0"] <= due + 1
    assert connection.execute("select attempt, error from job_errors").fetchall() == [(1, "no")]


@pytest.mark.parametrize(("error", "attempts"), [(PermanentError("never"), 0), (ValueError("no"), 1)])
def test_a_job_that_failed_for_good_is_not_reported(
    connection: Connection, database_url: str, error: Exception, attempts: int
) -> None:
    [job] = put_out(connection, attempts=attempts)
    queue = Hiding()
    assert reported(function(database_url, failing(error), queue=queue).handle(event(job), None)) == []
    assert column(connection, "status, attempts, last_error") == [("failed", attempts + 1, str(error))]
    assert queue.hidden == {}


def test_a_rate_limit_uses_no_attempt_and_hides_the_message_for_its_wait(connection: Connection, database_url: str) -> None:
    [job] = put_out(connection)
    queue = Hiding()
    assert reported(function(database_url, failing(RateLimited(600)), queue=queue).handle(event(job), None)) == ["m0"]
    [(status, attempts, error, due)] = column(connection, f"status, attempts, error_class, {DUE}")
    assert (status, attempts, error) == ("pending", 0, "RateLimited") and 595 <= due <= 720
    assert due <= queue.hidden["r0"] <= due + 1


def test_a_wait_longer_than_sqs_hides_a_message_is_waited_for_in_the_line(connection: Connection, database_url: str) -> None:
    [job] = put_out(connection)
    queue = Hiding()
    assert reported(function(database_url, failing(RateLimited(80_000)), queue=queue).handle(event(job), None)) == []
    waits = "run_at between now() + interval '79990 seconds' and now() + interval '1 day 1 second'"
    assert column(connection, f"status, sent_at, attempts, {waits}") == [("pending", None, 0, True)]


@pytest.mark.parametrize("outcome", [Snooze(3600), Discard("not wanted")])
def test_what_is_no_failure_is_not_reported(connection: Connection, database_url: str, outcome: object) -> None:
    [job] = put_out(connection)
    assert reported(function(database_url, Handler("work", lambda job, ctx: outcome)).handle(event(job), None)) == []
    [(status, sent, attempts)] = column(connection, "status, sent_at is not null, attempts")
    assert (status, sent, attempts) == (("pending", False, 0) if isinstance(outcome, Snooze) else ("discarded", True, 1))


def test_a_job_over_its_time_is_recorded_for_that(connection: Connection, database_url: str) -> None:
    [job] = put_out(connection)
    free = threading.Event()
    handler = Handler("work", lambda job, ctx: free.wait(30), timeout=0.2)
    assert reported(function(database_url, handler).handle(event(job), None)) == ["m0"]
    free.set()
    assert column(connection, "status, attempts, error_class") == [("pending", 1, "JobTimeout")]


def test_a_kind_that_is_not_known_here_goes_back_to_its_line(connection: Connection, database_url: str) -> None:
    [job] = put_out(connection, kind="new")
    assert reported(function(database_url, Handler("work", work)).handle(event(job), None)) == []
    waits = "run_at between now() + interval '50 seconds' and now() + interval '1 minute'"
    assert column(connection, f"status, sent_at, attempts, {waits}") == [("pending", None, 0, True)]


# Messages that come late, twice, or in vain


@pytest.mark.parametrize("status", ["done", "failed", "discarded"])
def test_the_message_of_a_job_that_has_ended_is_done_with(connection: Connection, database_url: str, status: str) -> None:
    [job] = put_out(connection, status=status, finished_at="2027-01-01")
    assert reported(function(database_url, Handler("work", work)).handle(event(job), None)) == []
    assert column(connection, "status, attempts") == [(status, 0)]


def test_the_message_of_a_job_that_is_gone_is_done_with(database_url: str) -> None:
    assert reported(function(database_url, Handler("work", work)).handle(event(77), None)) == []


def test_the_message_of_a_job_in_its_line_is_done_with_since_it_is_sent_anew(
    connection: Connection, database_url: str
) -> None:
    """After a retry by the operator, or when the lease of its worker ran out."""
    [job] = put(connection)
    assert reported(function(database_url, Handler("work", work)).handle(event(job), None)) == []
    assert column(connection, "status, attempts") == [("pending", 0)]


def test_the_message_of_a_job_that_runs_elsewhere_is_kept_until_that_is_settled(
    connection: Connection, database_url: str
) -> None:
    """Should that worker die, the message is the one that brings the job again."""
    [job] = put_out(connection, status="running", claim_id=7, attempts=1)
    connection.execute("update jobs set locked_until = now() + interval '40 seconds'")
    queue = Hiding()
    assert reported(function(database_url, Handler("work", work), queue=queue).handle(event(job), None)) == ["m0"]
    assert column(connection, "status, claim_id, attempts") == [("running", 7, 1)]
    assert 38 <= queue.hidden["r0"] <= 41


def test_a_message_that_comes_before_its_job_is_due_is_put_off(connection: Connection, database_url: str) -> None:
    [job] = put_out(connection)
    connection.execute("update jobs set run_at = run_at + interval '5 minutes'")
    queue = Hiding()
    assert reported(function(database_url, Handler("work", work), queue=queue).handle(event(job), None)) == ["m0"]
    assert column(connection, "status, attempts") == [("pending", 0)]
    assert 298 <= queue.hidden["r0"] <= 301


def test_two_messages_of_one_job_run_it_once_and_share_its_fate(connection: Connection, database_url: str) -> None:
    good, bad = put_out(connection, 2)
    seen: list[int] = []

    def handle(job: Job, ctx: Any) -> None:
        seen.append(job.id)
        if job.id == bad:
            raise ValueError("no")

    assert reported(function(database_url, Handler("work", handle)).handle(event(good, good, bad, bad), None)) == [
        "m2",
        "m3",
    ]
    assert sorted(seen) == [good, bad]


def test_after_its_last_delivery_a_job_goes_back_to_its_line(connection: Connection, database_url: str) -> None:
    """SQS would put its message to the dead letters; the job has attempts left, and is sent anew."""
    [job] = put_out(connection)
    assert reported(function(database_url, failing(ValueError("no"))).handle(event(job, receives=5), None)) == []
    waits = "run_at between now() + interval '5 seconds' and now() + interval '11 seconds'"
    assert column(connection, f"status, sent_at, attempts, {waits}") == [("pending", None, 1, True)]


def test_where_the_queue_is_not_known_or_does_not_answer_messages_are_reported_all_the_same(
    connection: Connection, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    [job] = put_out(connection)
    queue = Hiding(ConnectionError("away"))
    assert reported(function(database_url, failing(RateLimited(9)), queue=queue).handle(event(job), None)) == ["m0"]
    assert queue.requests == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["reason"] for line in lines if line.get("message") == "messages could not be put off"] == [
        "ConnectionError: away"
    ]


def test_without_records_there_is_nothing_to_do(database_url: str) -> None:
    assert function(database_url).handle({}, None) == {"batchItemFailures": []}


def test_handlers_that_do_not_fit_into_the_function_are_refused_at_load(database_url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"'work': timeout 300 s, lease 60 s, Lambda timeout 300 s"):
        function(database_url, Handler("work", work, timeout=300), FUNCTION_TIMEOUT="300")

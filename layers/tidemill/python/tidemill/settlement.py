"""From an outcome to what becomes of the job."""

from __future__ import annotations

from collections.abc import Callable

from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.outcome import Discard, Done, Failed, Limited, Outcome, Retry, Snooze, Suspended
from tidemill.queue import Settlement, give_back
from tidemill.retry import backoff

UNKNOWN_WAIT = 60.0  # seconds that a job of an unknown kind waits for code that knows it

OUT = 86400.0  # seconds after it is due that a job which was sent out stands in its line (consume_claim.sql)
LONGEST_HIDDEN = 39600.0  # seconds that a message is hidden for; SQS hides one for twelve hours from its receipt at most

UNKNOWN = Handler("", lambda job, ctx: None)  # stands for the handler of a kind that this code does not know


def settlement_of(job: Job, handler: Handler, outcome: Outcome, backoff: Callable[[int], float] = backoff) -> Settlement:
    """How this outcome ends the attempt."""
    match outcome:
        case Done(result):
            return Settlement(job.id, job.claim_id, "done", result=result)
        case Retry(error_class, error):
            if job.attempt < (job.max_attempts or handler.max_attempts):
                wait = backoff(job.attempt)
                return Settlement(job.id, job.claim_id, "pending", delay=wait, error_class=error_class, error=error)
            return Settlement(job.id, job.claim_id, "failed", error_class=error_class, error=error)
        case Failed(error_class, error):
            return Settlement(job.id, job.claim_id, "failed", error_class=error_class, error=error)
        case Snooze(seconds):
            return give_back(job, seconds)
        case Suspended():
            return give_back(job)  # its run_at stays: when it goes on was written with the step that it waits in
        case Limited(seconds, error):
            return give_back(job, seconds, error_class="RateLimited", error=error)
        case Discard(reason):
            return Settlement(job.id, job.claim_id, "discarded", error_class="Discarded", error=reason, unused=0)


def unstartable(job: Job, handler: Handler | None) -> Settlement | None:
    """How a claimed job that must not be started here goes back: its kind is unknown to this code, or it stands in the
    line of another limit than its handler's (a plain insert, or a limit that was changed). None: it may start."""
    if handler is None:
        if job.unknown_for_a_day:
            error = f"no handler for the kind {job.kind!r} in a day"
            return Settlement(job.id, job.claim_id, "failed", unused=1, error_class="UnknownKind", error=error, unknown=True)
        return give_back(job, UNKNOWN_WAIT, unknown=True)
    if job.limit_name != handler.limit_name:
        return give_back(job, limit_name=handler.limit_name)
    return None


def refused_by_a_drain(job: Job, handler: Handler | None) -> Settlement | None:
    """As `unstartable`; and a job that runs from a queue is sent out. It stays in its line as one that is due in a day:
    should its message be lost, it is sent again."""
    if settlement := unstartable(job, handler):
        return settlement
    return give_back(job, OUT, sent=True) if handler and handler.via else None


def refused_from_a_queue(job: Job, handler: Handler | None) -> Settlement | None:
    """As `unstartable`; what cannot start is out no more."""
    settlement = unstartable(job, handler)
    return settlement and settlement._replace(sent=False)


def settlement_of_sent(job: Job, handler: Handler, outcome: Outcome) -> Settlement:
    """How this outcome ends the attempt of a job that is out. What is tried again soon stays out, and its message comes
    again; what waits for longer, or is no failure, goes back to its line."""
    settlement = settlement_of(job, handler, outcome)
    if settlement.status != "pending":
        return settlement
    if isinstance(outcome, (Retry, Limited)) and settlement.delay is not None and settlement.delay <= LONGEST_HIDDEN:
        return settlement._replace(delay=settlement.delay + OUT)
    return settlement._replace(sent=False)


def word(settlement: Settlement) -> str:
    """What became of the attempt, in one word, for logs and counts."""
    if settlement.status != "pending":
        return settlement.status
    if settlement.unknown:
        return "unknown"
    if settlement.limit_name is not None:
        return "relabelled"
    if settlement.sent:
        return "sent"
    if not settlement.unused:
        return "retried"
    return "suspended" if settlement.delay is None else "snoozed"

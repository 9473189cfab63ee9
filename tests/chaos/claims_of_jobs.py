"""Claims about the life of a job: from the witness in the database, the starts of handlers, and what is on record."""

from __future__ import annotations

from collections import Counter, defaultdict

from tests.chaos.automations import KILLER_ATTEMPTS
from tests.chaos.evidence import Evidence, Job
from tests.chaos.plan import DRAINS, OPERATOR, TICKERS

Found = tuple[int, list[str]]

NEVER_DONE = ("chaos.permanent", "chaos.killer", "chaos.hang", "chaos.discard")

_ends = ("done", "failed", "discarded")
# Who may take which step. All others are wrong, whoever takes them: what is done or discarded stays so.
_steps = {
    **{("pending", "running"): DRAINS},
    **{("running", end): DRAINS for end in (*_ends, "pending")},
    **{("failed", "pending"): (OPERATOR,), ("pending", "discarded"): (OPERATOR,), ("failed", "discarded"): (OPERATOR,)},
}
_reaped = {("running", "pending"), ("running", "failed")}


def every_job_came_to_its_end(evidence: Evidence) -> Found:
    """Done, failed with a reason, discarded by its handler, or cancelled by the operator, as is on record; and none is done
    that cannot be."""
    faults = []
    failed_attempts = Counter(failure.job_id for failure in evidence.failures)
    for job in evidence.jobs:
        match job.status:
            case "done":
                well = job.kind not in NEVER_DONE
            case "failed":
                well = bool(job.error_class and job.last_error and failed_attempts[job.id]) and job.kind != "chaos.discard"
            case "discarded":
                own = job.kind == "chaos.discard" and job.error_class == "Discarded"
                well = own or (job.error_class == "Cancelled" and job.id in evidence.cancelled)
            case _:
                well = False
        if not well or not job.finished:
            faults.append(f"job {job.id} ({job.kind}) is {job.status}: {job.error_class}: {job.last_error}")
    return len(evidence.jobs), faults


def every_step_was_a_right_one(evidence: Evidence) -> Found:
    """Each step leads on from the one before, is one that there is, and was taken by who may; only leases that had run out
    were returned."""
    faults = []
    for job_id, moves in evidence.moves_of().items():
        status: str | None = None
        for move in moves:
            step = (move.was or "", move.became)
            reaped = move.by in TICKERS and step in _reaped
            if move.was != status or (move.was is None) != (move.became == "pending" and status is None):
                faults.append(f"job {job_id} was {status} and went from {move.was} to {move.became} by {move.by}")
            elif reaped and move.leased:
                faults.append(f"job {job_id} was taken from claim {move.claim_id} while its lease held, by {move.by}")
            elif move.was is not None and not reaped and move.by not in _steps.get(step, ()):
                faults.append(f"job {job_id} went from {move.was} to {move.became} by {move.by}")
            status = move.became
    witnessed = {move.job_id: move.became for move in evidence.moves}
    faults += [f"job {job.id} is {job.status}, and the witness saw {witnessed.get(job.id)}" for job in evidence.jobs
               if witnessed.get(job.id) != job.status]  # fmt: skip
    return len(evidence.moves), faults


def only_the_holder_of_a_claim_ended_it(evidence: Evidence) -> Found:
    """A worker that lost its claim cannot settle the job: whoever ended a claim, but for the reaper, had made it."""
    claimed = {(move.job_id, move.claim_id): move.by for move in evidence.moves if move.became == "running"}
    ended = [move for move in evidence.moves if move.was == "running" and move.by in DRAINS]
    return len(ended), [
        f"job {move.job_id} became {move.became} by {move.by}, and claim {move.claim_id} was that of"
        f" {claimed.get((move.job_id, move.claim_id))}"
        for move in ended
        if claimed.get((move.job_id, move.claim_id)) != move.by
    ]


def no_claim_was_started_twice(evidence: Evidence) -> Found:
    """Each start has a claim of its own, and what is done was started."""
    claimed = {(move.job_id, move.claim_id) for move in evidence.moves if move.became == "running"}
    starts = Counter((start.job_id, start.claim_id) for start in evidence.starts)
    faults = [f"job {job} was started {count} times by claim {claim}" for (job, claim), count in starts.items() if count > 1]
    faults += [f"job {job} was started by claim {claim}, which there never was" for job, claim in starts.keys() - claimed]
    started = {job for job, _ in starts}
    faults += [f"job {job.id} ({job.kind}) is done and was never started" for job in evidence.jobs
               if job.status == "done" and job.id not in started]  # fmt: skip
    return len(evidence.starts), faults


def every_failed_attempt_is_on_record(evidence: Evidence) -> Found:
    """The attempts of a job that nobody retried, in order: all but the last one of a done job have failed, all of a failed
    one."""
    retried = _retried(evidence)
    failed = defaultdict(list)
    for failure in evidence.failures:
        failed[failure.job_id].append(failure.attempt)
    faults = []
    looked_at = [job for job in evidence.jobs if not retried[job.id] and job.status in ("done", "failed")]
    for job in looked_at:
        wanted = list(range(1, job.attempts + (job.status == "failed")))
        if failed[job.id] != wanted:
            faults.append(f"job {job.id} is {job.status} in attempt {job.attempts}; on record have failed {failed[job.id]}")
    return len(looked_at), faults


def a_killer_had_its_attempts_and_no_more(evidence: Evidence) -> Found:
    """A job that kills its process is dead after exactly so many starts. An attempt that was lost before its start, to a
    neighbour's death or to a fault, is on record for a process in trouble."""
    retried = _retried(evidence)
    processes = {(failure.job_id, failure.attempt): failure.process for failure in evidence.failures}
    started = defaultdict(list)
    for start in evidence.starts:
        started[start.job_id].append(start.attempt)
    killers = [job for job in evidence.jobs if job.kind == "chaos.killer"]
    killed = {start.process for start in evidence.starts if start.job_id in {job.id for job in killers}}
    excused = evidence.troubled | killed
    faults = []
    for job in killers:
        attempts = sorted(started[job.id])
        most = KILLER_ATTEMPTS * (1 + retried[job.id])
        if len(attempts) > most or job.attempts > KILLER_ATTEMPTS:
            faults.append(f"killer {job.id} was started {len(attempts)} times, {job.attempts} attempts")
        if job.status == "failed" and not retried[job.id]:
            excuses = {one: processes.get((job.id, one)) in excused for one in range(1, most + 1)}
            faults += _unexplained(job, attempts, excuses)
    return len(killers), faults


def _unexplained(job: Job, attempts: list[int], excused: dict[int, bool]) -> list[str]:
    lost = [attempt for attempt, excuse in excused.items() if attempt not in attempts and not excuse]
    doubled = len(attempts) != len(set(attempts))
    return [f"killer {job.id} was started in attempts {attempts}"] if lost or doubled else []


def _retried(evidence: Evidence) -> Counter[int]:
    return Counter(move.job_id for move in evidence.moves if move.was == "failed" and move.became == "pending")

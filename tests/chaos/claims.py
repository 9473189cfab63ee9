"""What must hold after a run, whatever happened in it. Each claim looks at the evidence and names what contradicts it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tests.chaos import claims_of_deliveries, claims_of_effects, claims_of_jobs
from tests.chaos.evidence import Evidence

MOST_SHOWN = 10  # faults of one claim


class Verdict(NamedTuple):
    claim: str
    looked_at: int
    faults: list[str]


Claim = Callable[[Evidence], tuple[int, list[str]]]

CLAIMS: tuple[Claim, ...] = (
    claims_of_deliveries.every_202_has_its_event,
    claims_of_deliveries.nothing_else_was_stored,
    claims_of_deliveries.every_event_has_its_jobs,
    claims_of_deliveries.each_plain_insert_made_one_job,
    claims_of_deliveries.each_slot_has_one_job,
    claims_of_deliveries.no_correlation_id_was_lost,
    claims_of_jobs.every_job_came_to_its_end,
    claims_of_jobs.every_step_was_a_right_one,
    claims_of_jobs.only_the_holder_of_a_claim_ended_it,
    claims_of_jobs.no_claim_was_started_twice,
    claims_of_jobs.every_failed_attempt_is_on_record,
    claims_of_jobs.a_killer_had_its_attempts_and_no_more,
    claims_of_effects.no_limit_was_exceeded,
    claims_of_effects.each_charge_happened_once,
    claims_of_effects.a_row_and_its_job_came_together,
    claims_of_effects.somebody_was_told_of_the_dead,
    claims_of_effects.functions_failed_only_with_the_database,
)


def judge(evidence: Evidence) -> list[Verdict]:
    """Each claim's verdict."""
    return [Verdict(claim.__name__.replace("_", " "), *claim(evidence)) for claim in CLAIMS]


def table(evidence: Evidence, verdicts: Iterable[Verdict]) -> str:
    """The verdicts and the counts, for people."""
    lines = [f"{'claim':<45} {'looked at':>9} {'faults':>7}"]
    for verdict in verdicts:
        lines.append(f"{verdict.claim:<45} {verdict.looked_at:>9} {len(verdict.faults):>7}")
        lines += [f"    {fault}" for fault in verdict.faults[:MOST_SHOWN]]
    lines.append("")
    lines += [f"{name:<45} {count:>9}" for name, count in counts(evidence).items()]
    return "\n".join(lines)


def counts(evidence: Evidence) -> dict[str, int]:
    """What happened, in numbers."""
    statuses = [job.status for job in evidence.jobs]
    return {
        "deliveries": len(evidence.plan.deliveries),
        "answers of 202": len(evidence.taken),
        "of which duplicates": sum(one.duplicate for one in evidence.taken),
        "events": len(evidence.events),
        "jobs": len(evidence.jobs),
        **{f"jobs that are {status}": statuses.count(status) for status in ("done", "failed", "discarded")},
        "starts of handlers": len(evidence.starts),
        "leases that ran out": sum(move.was == "running" and move.by.startswith("schedule") for move in evidence.moves),
        "jobs retried by the operator": sum(move.was == "failed" and move.became == "pending" for move in evidence.moves),
        "charges": len(evidence.charges),
        "most at once under the limit": evidence.most_inside,
        "messages to people": len(evidence.told),
        **evidence.numbers,
    }

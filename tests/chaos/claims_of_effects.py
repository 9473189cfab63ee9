"""Claims about what jobs do to the world outside, and what people hear."""

from __future__ import annotations

import re
from collections import Counter

import psycopg
from psycopg import errors

from tests.chaos.automations import LIMIT
from tests.chaos.evidence import Evidence

Found = tuple[int, list[str]]

_deaths = ("Runtime.ExitError", "Sandbox.Timedout")
_named = re.compile("Job [0-9]+ |more like it: [0-9, ]+")
_number = re.compile("[0-9]+")
_left_out = re.compile(r", \.\.\.\)|others, which are in the log")


def no_limit_was_exceeded(evidence: Evidence) -> Found:
    """As the provider saw it."""
    crowds = [crowd for crowd in evidence.crowds if len(crowd) > LIMIT]
    return evidence.most_inside, [f"{len(crowd)} at once: {', '.join(crowd)}" for crowd in crowds]


def each_charge_happened_once(evidence: Evidence) -> Found:
    """One effect for each job that is done, under its own key; and none twice for one purpose, but where the operator forced
    a job to be done again."""
    charges = [job for job in evidence.jobs if job.kind == "chaos.charge"]
    made = Counter(job.purpose for job in charges)
    happened = Counter(charge.purpose for charge in evidence.charges)
    done = Counter(job.purpose for job in charges if job.status == "done")
    faults = [f"{count} charges for {purpose}, of {made[purpose]} jobs" for purpose, count in happened.items()
              if count > made[purpose]]  # fmt: skip
    faults += [f"{count} jobs for {purpose} are done, and there are {happened[purpose or '']} charges"
               for purpose, count in done.items() if happened[purpose or ""] < count]  # fmt: skip
    return len(evidence.charges), faults


def a_row_and_its_job_came_together(evidence: Evidence) -> Found:
    """What a handler writes and enqueues in one transaction is there together or not at all, and there once it is done."""
    children = Counter(job.parent for job in evidence.jobs if job.parent is not None and job.copy_of is None)
    faults = [f"job {parent} made {count} jobs" for parent, count in children.items() if count > 1]
    faults += [f"job {job} wrote its row and made no job" for job in evidence.written if not children[job]]
    faults += [f"job {parent} made a job and wrote no row" for parent in children if parent not in evidence.written]
    faults += [f"job {job.id} is done and wrote no row" for job in evidence.jobs
               if job.kind == "chaos.write" and job.status == "done" and job.id not in evidence.written]  # fmt: skip
    return len(evidence.written), faults


def somebody_was_told_of_the_dead(evidence: Evidence) -> Found:
    """Each failed job is marked as told, and a message names it, where messages did not have to leave any out."""
    dead = [job for job in evidence.jobs if job.status == "failed"]
    faults = [f"nobody was told that job {job.id} ({job.kind}) failed" for job in dead if not job.alerted]
    names = [found[0] for text in evidence.told for found in _named.finditer(text)]
    named = {int(number) for numbers in names for number in _number.findall(numbers)}
    if not any(_left_out.search(text) for text in evidence.told):
        faults += [f"no message names job {job.id} ({job.kind}), which is dead" for job in dead if job.id not in named]
    return len(dead), faults


def functions_failed_only_with_the_database(evidence: Evidence) -> Found:
    """Or died; and everybody else who acted did so to the end."""
    faults = [f"{count} invocations ended with {error}" for error, count in evidence.failures_of_functions.items()
              if error not in _deaths and not _is_database_away(error)]  # fmt: skip
    return evidence.failures_of_functions.total(), faults + evidence.troubles


def _is_database_away(error: str) -> bool:
    known = getattr(errors, error, None)
    return isinstance(known, type) and issubclass(known, psycopg.OperationalError)

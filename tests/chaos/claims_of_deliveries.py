"""Claims about what comes in: deliveries, inserts and slots, and the jobs that they make."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta

from tests.chaos.evidence import Evidence, Job

Found = tuple[int, list[str]]


def every_202_has_its_event(evidence: Evidence) -> Found:
    """All answers for a delivery name the event that has its key, and one at most says that it is new."""
    events = {event.dedup_key: event.id for event in evidence.events}
    new = Counter(one.delivery.key for one in evidence.taken if not one.duplicate)
    faults = [
        f"{one.delivery.key} was answered with event {one.event_id}, and its event is {events.get(one.delivery.key)}"
        for one in evidence.taken
        if events.get(one.delivery.key) != one.event_id
    ]
    faults += [f"{key} was new {count} times" for key, count in new.items() if count > 1]
    return len(evidence.taken), faults


def nothing_else_was_stored(evidence: Evidence) -> Found:
    """One event a delivery; what was forged was refused."""
    wanted = Counter(delivery.key for delivery in evidence.plan.deliveries)
    stored = Counter(event.dedup_key for event in evidence.events)
    faults = [f"{count} events too many of {key}" for key, count in (stored - wanted).items()]
    faults += [f"no event of {key}" for key in wanted - stored]
    faults += [f"a forged delivery was answered with {status}" for status in evidence.refused if status != 401]
    return len(evidence.events) + len(evidence.refused), faults


def every_event_has_its_jobs(evidence: Evidence) -> Found:
    """Exactly what its route says, each once; what could not be routed has no jobs and says why."""
    deliveries = {delivery.key: delivery for delivery in evidence.plan.deliveries}
    jobs: dict[int | None, list[Job]] = defaultdict(list)
    for job in _originals(evidence):
        jobs[job.event_id].append(job)
    faults = []
    for event in evidence.events:
        delivery = deliveries.get(event.dedup_key)
        kinds = () if delivery is None else delivery.kinds or ()
        wanted = Counter((f"chaos.{kind}", f"{event.dedup_key}:{index}") for index, kind in enumerate(kinds))
        found = Counter((job.kind, job.purpose) for job in jobs[event.id])
        if wanted != found:
            faults.append(f"event {event.id} should have {dict(wanted)} and has {dict(found)}")
        if (event.route_error is None) != bool(kinds):
            faults.append(f"event {event.id} with {len(kinds)} jobs says {event.route_error!r}")
    return len(evidence.events), faults


def each_plain_insert_made_one_job(evidence: Evidence) -> Found:
    wanted = Counter(one.key for one in evidence.plan.inserts)
    found = Counter(job.purpose for job in _originals(evidence) if job.purpose is not None and job.purpose in wanted)
    return len(wanted), [f"{key} has {found[key]} jobs" for key in wanted if found[key] != 1]


def each_slot_has_one_job(evidence: Evidence) -> Found:
    """Every midnight after a schedule was first seen, up to its last slot, which is today's."""
    slots = Counter((job.key or "", job.slot) for job in _originals(evidence) if job.kind == "chaos.tide")
    made = Counter(datetime.fromisoformat(slot) for (_, slot), count in slots.items() for _ in range(count) if slot)
    faults = [f"the slot {key} has {count} jobs" for (key, _), count in slots.items() if key and count > 1]
    wanted: Counter[datetime] = Counter()
    for schedule in evidence.schedules:
        slot = _midnight(schedule.first_seen) + timedelta(days=1)
        if schedule.last_slot is None or schedule.last_slot < slot:
            faults.append(f"{schedule.name} never ran, though it was late")
            continue
        while slot <= schedule.last_slot:
            wanted[slot] += 1
            slot += timedelta(days=1)
    faults += [f"{count} jobs too few for {slot}" for slot, count in (wanted - made).items()]
    faults += [f"{count} jobs too many for {slot}" for slot, count in (made - wanted).items()]
    return sum(wanted.values()), faults


def no_correlation_id_was_lost(evidence: Evidence) -> Found:
    """The sender's is on its event, its jobs, their jobs, each start and each call; a slot's job has one of its own."""
    told = {delivery.key: delivery.correlation_id for delivery in evidence.plan.deliveries}
    by_event = {event.id: event.correlation_id for event in evidence.events}
    by_job = {job.id: job.correlation_id for job in evidence.jobs}
    faults = [f"event {one.id}: {one.correlation_id}" for one in evidence.events
              if one.correlation_id != told.get(one.dedup_key)]  # fmt: skip
    for job in evidence.jobs:
        if job.event_id is not None and job.correlation_id != by_event.get(job.event_id):
            faults.append(f"job {job.id} of event {job.event_id}: {job.correlation_id}")
        if job.parent is not None and job.correlation_id != by_job.get(job.parent):
            faults.append(f"job {job.id} of job {job.parent}: {job.correlation_id}")
        if job.slot is not None and not job.correlation_id:
            faults.append(f"job {job.id} of the slot {job.slot} has none")
    faults += [f"start of job {one.job_id}: {one.correlation_id}" for one in evidence.starts
               if one.correlation_id != by_job.get(one.job_id)]  # fmt: skip
    purposes = {job.purpose: job.correlation_id or "" for job in evidence.jobs}
    faults += [f"charge {one.key}: {one.correlation_id}" for one in evidence.charges
               if one.correlation_id != purposes.get(one.purpose)]  # fmt: skip
    return len(evidence.events) + len(evidence.jobs) + len(evidence.starts) + len(evidence.charges), faults


def _originals(evidence: Evidence) -> list[Job]:
    """The jobs but for those that an operator forced to be done again."""
    return [job for job in evidence.jobs if job.copy_of is None]


def _midnight(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)

"""The consume function: jobs that a drain has sent out come back by a queue, and run here as they would in a drain.

The queue only carries ids; the job in the database says what is true. A message is kept in the queue ("reported") as long as
its job is out and not ended, whoever runs it: its delivery may be a second one, and the job elsewhere or done already.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import psycopg

from tidemill import jsontext, outlets, queue
from tidemill.db import Database
from tidemill.drain import DrainFunction
from tidemill.model import Job
from tidemill.outbox import Target
from tidemill.places import Places
from tidemill.queue import Claim, Entries
from tidemill.retry import backoff
from tidemill.settlement import LONGEST_HIDDEN
from tidemill.telemetry import Log

MOST_RECEIVES = 5  # the queue's maxReceiveCount: after so many a message goes to the dead-letter queue
BATCH = 10  # entries that ChangeMessageVisibilityBatch takes


class Message(NamedTuple):
    """A message from the queue; `job` is None where its body names none, `receives` counts from 1."""

    id: str
    receipt: str
    receives: int
    job: int | None


class Answered:
    """A Claim whose answer is there."""

    def __init__(self, size: int, jobs: list[Job], lost: list[int]) -> None:
        self.size = size
        self._jobs = jobs
        self._lost = lost

    def count(self) -> int:
        return len(self._jobs)

    def lost(self) -> list[int]:
        return self._lost

    def jobs(self) -> list[Job]:
        return self._jobs


class Sent:
    """Claims the jobs of one batch of messages, by their ids, as a drain's claimer claims from its lines."""

    def __init__(self, database: Database, ids: Sequence[int], lease: float, worker: str) -> None:
        self.places = Places(database, lease)
        self._database = database
        self._ids = list(ids)
        self._waiting = list(ids)
        self._lease = lease
        self._worker = worker
        self._doubtful: list[int] = []

    def ended(self, count: int, seconds: float) -> None:
        pass  # how fast they end makes no difference: what is to be claimed is known

    def room(self, running: int, waiting: int) -> int:
        return len(self._waiting)

    def ask(self, done: Sequence[tuple[int, int]], size: int, idle_runners: int, now: float) -> Claim | None:
        if self._doubtful:
            queue.abandon(self._database, self._doubtful)
            self._doubtful = []
        if not done and not (size and self._waiting):
            return None
        lost = self._settle(done) if done else []
        claim_id = queue.new_claim_id()
        try:
            rows = self._claim(claim_id) if size and self._waiting else []
        except psycopg.OperationalError:
            self._doubtful.append(claim_id)
            raise
        return Answered(size, [queue.job_of(row) for row in rows], lost)

    def arrived(self, claim: Claim) -> list[int]:
        return claim.lost()

    def take(self, claim: Claim, now: float) -> list[Job]:
        return claim.jobs()

    def pause(self, limit_name: str, seconds: float) -> None:
        self._database.execute("limit_pause", {"name": limit_name, "seconds": seconds})

    def next_due(self, now: float) -> float | None:
        return 0.0 if self._waiting else None

    def look_again(self) -> None:
        self._waiting = self._ids

    def close(self) -> None:
        self.places.free(keep=set())

    def _settle(self, done: Sequence[tuple[int, int]]) -> list[int]:
        return queue.ask(
            self._database, Entries(), 0, claim_id=0, lease=self._lease, holder=self.places.holder, worker=self._worker,
            done=done,
        ).lost()  # fmt: skip

    def _claim(self, claim_id: int) -> list[Any]:
        waiting = self._database.execute("consume_limits", {"ids": self._waiting})
        parameters = {
            "ids": self._with_places(waiting), "claim_id": claim_id, "lease": self._lease, "holder": self.places.holder,
            "worker": self._worker,
        }  # fmt: skip
        rows = self._database.execute("consume_claim", parameters) if waiting else []
        self._waiting = []
        return rows

    def _with_places(self, waiting: Sequence[tuple[int, str]]) -> list[int]:
        """Those under no limit, and as many under each limit as there are places for."""
        wanted = Counter(limit_name for _, limit_name in waiting if limit_name)
        for limit_name, count in wanted.items():
            used = self.places.held().get(limit_name, 0) - self.places.idle().get(limit_name, 0)
            self.places.take({limit_name}, used + count)
        idle = Counter(self.places.idle())
        chosen: list[int] = []
        for job_id, limit_name in waiting:
            if not limit_name or idle[limit_name] > 0:
                idle[limit_name] -= 1
                chosen.append(job_id)
        return chosen


class ConsumeFunction:
    """Made once a container. `drain` runs what a claimer gives it; `jobs` is the queue that messages come from, None where
    nobody said; then a message that is reported comes again when the queue's own visibility timeout is over."""

    def __init__(
        self,
        drain: DrainFunction,
        claimer: Callable[[Sequence[int]], Sent],
        database: Database,
        jobs: Target | None,
        log: Log,
        make_client: outlets.Clients = outlets.client,
    ) -> None:
        self._drain = drain
        self._claimer = claimer
        self._database = database
        self._jobs = jobs
        self._log = log
        self._make_client = make_client
        self._client: Any = None

    def handle(self, event: Mapping[str, Any], context: object) -> dict[str, Any]:
        """Run the jobs that the messages of the event name; answers {"batchItemFailures": [{"itemIdentifier": id}]} with the
        messages that are to come again. Raises psycopg.Error where the database is away: then all of them do."""
        messages = [message(record) for record in event.get("Records", ())]
        ids = sorted({one.job for one in messages if one.job is not None})
        reported = [one for one in messages if one.job is None]
        for one in reported:
            self._log.error('a message that does not name a job: its body must be {"job": id}', message_id=one.id)
        if ids:
            self._drain.work(context, self._claimer(ids))
            out = self._still_out(messages, ids)
            again = [one for one in messages if one.job in out]
            self._hide({one: out[one.job or 0] or backoff(one.receives) for one in again})
            reported += again
        return {"batchItemFailures": [{"itemIdentifier": one.id} for one in reported]}

    def _still_out(self, messages: Sequence[Message], ids: Sequence[int]) -> dict[int, float]:
        """The jobs whose messages are to come again, each with the seconds until then, 0 where it is not known. A job all of
        whose messages have come for the last time goes back to its line."""
        receives: dict[int, int] = defaultdict(lambda: MOST_RECEIVES)
        for one in messages:
            if one.job is not None:
                receives[one.job] = min(receives[one.job], one.receives)
        last = [job for job in ids if receives[job] >= MOST_RECEIVES]
        rows = self._database.execute("consume_end", {"ids": list(ids), "last": last})
        return {job: max(seconds, 0.0) for job, seconds in rows}

    def _hide(self, waits: Mapping[Message, float]) -> None:
        """Best effort: a message that comes too early is not run, and one that comes late only costs time."""
        if not waits or self._jobs is None:
            return
        entries = [
            {"Id": str(number), "ReceiptHandle": one.receipt, "VisibilityTimeout": int(min(seconds, LONGEST_HIDDEN) + 0.999)}
            for number, (one, seconds) in enumerate(waits.items())
        ]
        try:
            if self._client is None:
                self._client = self._make_client(self._jobs)
            for start in range(0, len(entries), BATCH):
                batch = entries[start : start + BATCH]
                answer = self._client.change_message_visibility_batch(QueueUrl=self._jobs.address, Entries=batch)
                for fault in answer.get("Failed", ()):
                    self._log.warning("a message could not be put off", reason=str(fault.get("Message", fault))[:300])
        except Exception as error:
            self._log.warning("messages could not be put off", reason=f"{type(error).__name__}: {error}"[:300])


def message(record: Mapping[str, Any]) -> Message:
    """A record of an SQS event. Raises KeyError where it has no messageId, without which nothing could be reported."""
    receives = int(record.get("attributes", {}).get("ApproximateReceiveCount", 1))
    return Message(record["messageId"], record.get("receiptHandle", ""), receives, _job(record.get("body")))


def _job(body: object) -> int | None:
    try:
        named = jsontext.loads(body if isinstance(body, str) else "")
    except ValueError:
        return None
    job = named.get("job") if isinstance(named, dict) else None
    return job if isinstance(job, int) and not isinstance(job, bool) and 0 < job < 1 << 63 else None

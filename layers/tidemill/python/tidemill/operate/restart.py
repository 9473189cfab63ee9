"""restart: a workflow goes back to one of its steps."""

from __future__ import annotations

from typing import Any

from tidemill.errors import CommandError
from tidemill.operate.operation import Operation, Parts
from tidemill.operate.redrive import lock, refuse_unknown
from tidemill.wire import Connection, run, statement


def restart(parts: Parts, operation: Operation) -> dict[str, Any]:
    """{"job": id, "step": name, "was": status, "forgotten": how many steps}: the job forgets the first step of this name and
    all after it, and runs again from there, due now and with a fresh budget, also where it has failed or ended before."""
    number, step = operation.get("job"), operation.get("step")
    if number is None:
        raise CommandError("invalid", "job must be the id of a job", "job")
    if step is None:
        raise CommandError("invalid", "step must be the name of a step", "step")

    def work(connection: Connection) -> dict[str, Any]:
        job = lock(connection, number)
        if job.status == "running":
            raise CommandError("conflict", f"job {number} is running", "job")
        refuse_unknown(parts, job.kind)
        parameters = {"id": number, "step": step, "limit_name": parts.limits.get(job.kind, "")}
        rows = run(connection, statement("operate_restart"), parameters)
        if not rows:
            raise CommandError("not_found", f"job {number} has no step {step!r} behind it", "step")
        answer = {"job": number, "step": step, "was": job.status, "forgotten": rows[0][0]}
        operation.record(connection, answer)
        return answer

    return parts.change(work)

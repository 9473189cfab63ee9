"""The threads of a drain: who owns the end of a job that is over its time."""

from __future__ import annotations

import threading
import time

from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.outcome import Done, Outcome
from tidemill.runners import Runners, Work


def work(number: int, timeout: float) -> Work:
    job = Job(number, "work", {}, 1, None, None, None, None, "")
    return Work(job, Handler("work", lambda job, ctx: None, timeout=timeout))


def test_a_job_over_its_time_has_one_end_and_its_thread_takes_no_other() -> None:
    release = threading.Event()
    threads: list[threading.Thread] = []

    def execute(one: Work) -> Outcome:
        threads.append(threading.current_thread())
        if one.job.id == 1:
            release.wait(20)
        return Done()

    runners = Runners(1, execute, lambda work, outcome, seconds: "", lambda one: True, lambda: None)
    runners.put([work(1, timeout=0.01)])
    deadline = time.monotonic() + 10
    late = []
    while not late and time.monotonic() < deadline:
        time.sleep(0.02)
        late = runners.overdue(time.monotonic())
    assert [one.work.job.id for one in late] == [1]
    assert runners.stuck() == 1
    release.set()
    threads[0].join(10)
    assert not threads[0].is_alive()
    assert (runners.stuck(), runners.ended()) == (0, [])
    runners.put([work(2, timeout=10)])
    ended = []
    while not ended and time.monotonic() < deadline:
        time.sleep(0.01)
        ended = runners.ended()
    assert [one.work.job.id for one in ended] == [2]
    assert threads[1] is not threads[0]
    runners.close()

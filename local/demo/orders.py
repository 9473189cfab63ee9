"""The machine's story, with the orders of a shop: what is refused, repeated, retried, killed and repaired."""

from __future__ import annotations

import json
import time

from local.demo.telling import LEASE, Demo


def tell(demo: Demo) -> None:
    forged(demo)
    repeated(demo)
    telegram_down(demo)
    job = permanent(demo)
    killed(demo)
    operated(demo, job)


def forged(demo: Demo) -> None:
    demo.say("A forged request: signed with the wrong secret.")
    status, answer = demo.post({"kind": "order.announce", "number": 1}, secret="guessed")
    demo.claim(status == 401, f"answered {status} {json.dumps(answer)}")
    demo.claim(demo.rows("select count(*) from events") == [(0,)], "nothing was stored")


def repeated(demo: Demo) -> None:
    demo.say("A paid order, delivered three times by its sender.")
    began = time.monotonic()
    status, first = demo.post({"kind": "order.announce", "number": 2}, "delivery-2")
    answered = (time.monotonic() - began) * 1000
    demo.claim(status == 202 and first["jobs"] == 1, f"answered 202 {json.dumps(first)} after {answered:.0f} ms")
    again = [demo.post({"kind": "order.announce", "number": 2}, "delivery-2") for _ in range(2)]
    duplicate = {"id": first["id"], "duplicate": True}
    demo.claim(again == [(202, duplicate)] * 2, f"the repeats were answered 202 {json.dumps(again[0][1])}")
    telegram = demo.stack.telegram
    assert telegram is not None
    demo.claim(demo.until(lambda: len(telegram.sent) == 1), "the team was told by Telegram")
    ran = "select extract(epoch from started_at - created_at) * 1000 from jobs where event_id = %s"
    demo.claim(demo.rows("select count(*) from jobs") == [(1,)], "one event, one job, one message")
    demo.say(f"     from stored to started: {demo.rows(ran, first['id'])[0][0]:.0f} ms")


def telegram_down(demo: Demo) -> None:
    demo.say("Telegram answers 502, and then recovers.")
    telegram = demo.stack.telegram
    assert telegram is not None
    telegram.fail(1, 502)
    sent = len(telegram.sent)
    _, answer = demo.post({"kind": "order.announce", "number": 3}, "delivery-3")
    job = demo.job_of(answer["id"])
    waits = demo.until(lambda: telegram.refused == 1 and demo.status(job) == ("pending", 1))
    demo.claim(waits, "the first attempt failed and waits")
    wait, error = demo.rows("select extract(epoch from run_at - now()), last_error from jobs where id = %s", job)[0]
    demo.claim(5 < wait <= 10, f"it comes again in {wait:.1f} s: {error}")
    demo.claim(demo.until(lambda: demo.status(job) == ("done", 2)), "the second attempt is done")
    demo.claim(len(telegram.sent) == sent + 1, "the message arrived once")


def permanent(demo: Demo) -> int:
    demo.say("A bug: the handler raises PermanentError, so that it is not tried again.")
    telegram = demo.stack.telegram
    assert telegram is not None
    demo.bug.touch()
    _, answer = demo.post({"kind": "order.bill", "number": 4}, "delivery-4")
    job = demo.job_of(answer["id"])
    demo.claim(demo.until(lambda: demo.status(job) == ("failed", 1)), "the job failed for good after one attempt")
    demo.claim(
        demo.until(lambda: any(f"Job {job} (order.bill)" in one.text for one in telegram.sent)),
        f"an alert was sent: {telegram.sent[-1].text.splitlines()[0]}",
    )
    return job


def killed(demo: Demo) -> None:
    demo.say("A worker is killed with SIGKILL in the middle of a job.")
    _, answer = demo.post({"kind": "order.pack", "number": 5}, "delivery-5")
    job = demo.job_of(answer["id"])
    demo.stack.wait_for('"message": "packing"', "drain")
    victims = demo.kill_drains()
    demo.claim(demo.status(job) == ("running", 1), f"killed {victims}; the job is still leased to the dead")
    time.sleep(LEASE + 0.5)
    demo.stack.invoke("schedule", {})
    demo.claim(demo.status(job) == ("pending", 1), f"its lease of {LEASE} s ran out: it is back in the line")
    demo.stack.invoke("drain", {})
    demo.claim(demo.until(lambda: demo.status(job) == ("done", 2)), "another worker has done it, with the second attempt")


def operated(demo: Demo, job: int) -> None:
    demo.say("The operator: the bug is fixed, and the failed job is tried again.")
    failed = demo.operate(command="failed")["jobs"]
    shown = f"{failed[0]['kind']} {failed[0]['id']}: {failed[0]['last_error']}"
    demo.claim([one["id"] for one in failed] == [job], f"failed: {shown}")
    demo.bug.unlink()
    demo.claim(demo.operate(command="retry", job=job)["ok"], "retry: it has a fresh budget of attempts")
    demo.stack.invoke("drain", {})
    demo.claim(demo.until(lambda: demo.status(job)[0] == "done"), "and is done")
    (event,) = demo.rows("select event_id from jobs where id = %s", job)[0]
    demo.say("The operator: an event is replayed with today's code.")
    outcomes = [one["outcome"] for one in demo.operate(command="replay", event=event)["jobs"]]
    demo.claim(outcomes == ["exists"], "replay: its job is done already, so nothing runs twice by accident")
    outcomes = [one["outcome"] for one in demo.operate(command="replay", event=event, force=True)["jobs"]]
    demo.claim(outcomes == ["created"], "with force a new job is made")
    demo.stack.invoke("drain", {})
    done = "select count(*) from jobs where event_id = %s and status = 'done'"
    demo.claim(demo.until(lambda: demo.rows(done, event) == [(2,)]), "which is done as well")
    demo.claim(demo.rows("select count(*) from operations where by = 'demo'")[0][0] >= 3, "who did what is on record")

"""What the benchmarks run: jobs that do nothing or say when they began, and a source of which an event makes two."""

import time

from tidemill import NewJob, Source, handler
from tidemill.verify import header, hmac_sha256

bench = Source("bench", verify=hmac_sha256("X-Signature", secret="BENCH_WEBHOOK_SECRET"), dedup_key=header("X-Delivery"))


@bench.route
def jobs(event):
    for _ in range(event.json.get("jobs", 2)):
        yield NewJob(event.json.get("kind", "bench.nothing"), event.json)


@handler("bench.nothing", timeout=1)
def nothing(job, ctx):
    return None


@handler("bench.began", timeout=1)
def began(job, ctx):
    return time.time()

// graphile-worker with its local queue of 1,000, completing and failing in batches, 24 jobs at once.
import { Logger, run, runMigrations } from "graphile-worker";
import pg from "pg";

const BATCH = 10_000;
const HOUR = 3600;
const ADD = `
  select count(*) from graphile_worker.add_jobs((
    select array_agg(('nothing', json_build_object('x', repeat('a', 180)), null, null, null, null, null, null)
      ::graphile_worker.job_spec)
    from generate_series(1, $1)))`;

const quiet = new Logger(() => () => {});

export async function ready(url, count) {
  const pool = new pg.Pool({ connectionString: url, max: 12 });
  await runMigrations({ pgPool: pool, logger: quiet });
  const [what, number] = (process.env.BENCH_BESIDE ?? "nothing").split(":");
  if (what === "churned") {
    const keeper = await pool.connect();
    await keeper.query("begin isolation level repeatable read; select count(*) from graphile_worker._private_jobs");
    await fill(pool, Number(number));
    await drain(pool, Number(number), HOUR);
  } else if (what !== "nothing") {
    throw new Error(`graphile-worker keeps no ${what} jobs`);
  }
  await fill(pool, count);
  await pool.query("vacuum analyze");
  return () => drain(pool, count, Number(process.env.BENCH_SECONDS ?? HOUR));
}

// One add_job for each would scan the table each time.
async function fill(pool, count) {
  for (let made = 0; made < count; made += BATCH) {
    await pool.query(ADD, [Math.min(BATCH, count - made)]);
  }
}

async function drain(pool, count, seconds) {
  let done = 0;
  let finish;
  const finished = new Promise((resolve) => (finish = resolve));
  const options = {
    pgPool: pool,
    logger: quiet,
    noHandleSignals: true,
    taskList: {
      nothing: () => {
        if (++done === count) finish();
      },
    },
    preset: {
      worker: {
        concurrentJobs: 24,
        pollInterval: 500,
        localQueue: { size: 1000 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  };
  setTimeout(finish, seconds * 1000);
  const runner = await run(options);
  await finished;
  await runner.stop();
  return done;
}

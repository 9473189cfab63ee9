// pg-boss by its own fetch and complete, 1,000 jobs at a time.
import { PgBoss } from "pg-boss";

const BATCH = 1000;

export async function ready(url, count) {
  const boss = new PgBoss({ connectionString: url, max: 4 });
  boss.on("error", () => {});
  await boss.start();
  await boss.createQueue("nothing");
  const data = { x: "a".repeat(180) };
  for (let made = 0; made < count; made += BATCH) {
    await boss.insert("nothing", Array.from({ length: BATCH }, () => ({ data })));
  }
  return async () => {
    let done = 0;
    for (;;) {
      const jobs = await boss.fetch("nothing", { batchSize: BATCH });
      if (!jobs?.length) return done;
      await boss.complete("nothing", jobs.map((job) => job.id));
      done += jobs.length;
    }
  };
}

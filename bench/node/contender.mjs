// One contender in a process of its own: `node contender.mjs NAME COUNT`, with DATABASE_URL; the same words on stdin and stdout
// as bench/contenders/__main__.py.
import { createInterface } from "node:readline";

const [name, count] = [process.argv[2], Number(process.argv[3])];
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { ready } = await import(`./${name}.mjs`);
const drain = await ready(process.env.DATABASE_URL, count);
console.log("ready");
await lines.next();
const began = process.hrtime.bigint();
const done = await drain();
const seconds = Number(process.hrtime.bigint() - began) / 1e9;
console.log(JSON.stringify({ seconds, done }));
await lines.next();
process.exit(0);

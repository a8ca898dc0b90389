// `npm run test:crash`: 200 kills, or CRASH_KILLS of them, and what the run saw.

import { crashRun } from './crash-run.ts';

const kills = Number(process.env['CRASH_KILLS'] ?? 200);
const start = Date.now();
const report = await crashRun(kills, (done, { receipts }) => {
  if (done % 10 === 0) console.error(`${String(done)} kills, ${String(receipts)} receipts hold`);
});
console.log(JSON.stringify({ ...report, seconds: Math.round((Date.now() - start) / 1000) }));

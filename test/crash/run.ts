// `npm run test:crash`: 200 kills at random moments, or CRASH_KILLS, and a report.
// `npm run test:crash -- --aimed`: 30 kills, or CRASH_KILLS, at each of the points in aimed.ts, or only at those that
// the further arguments name.

import { AIMS, aimedRun } from './aimed.ts';
import { crashRun } from './crash-run.ts';

const [aimed, ...chosen] = process.argv.slice(2);
const kills = Number(process.env['CRASH_KILLS'] ?? (aimed === '--aimed' ? 30 : 200));
const start = Date.now();
const seconds = (): number => Math.round((Date.now() - start) / 1000);

if (aimed === '--aimed') {
  for (const aim of AIMS) {
    if (chosen.length > 0 && !chosen.includes(aim)) continue;
    const attempts = await aimedRun(aim, kills, (hits) => {
      if (hits % 10 === 0) console.error(`${aim}: ${String(hits)} kills, nothing lost`);
    });
    console.log(JSON.stringify({ aim, kills, attempts, lost: 0, seconds: seconds() }));
  }
} else {
  const report = await crashRun(kills, (done, { receipts }) => {
    if (done % 10 === 0) console.error(`${String(done)} kills, ${String(receipts)} receipts hold`);
  });
  console.log(JSON.stringify({ ...report, seconds: seconds() }));
}

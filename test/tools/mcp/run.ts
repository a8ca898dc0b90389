// `npm run test:mcp -- --kills 500 --seed 1`: kills the proxy, the service or the server behind it so many times (kills.ts).

import { parseArgs } from 'node:util';
import { killRun } from './kills.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '500' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const [kills, seed] = [Number(values.kills), Number(values.seed)];
console.log(`${String(kills)} kills with seed ${String(seed)}`);
const begun = Date.now();
const report = await killRun(kills, {
  seed,
  told(kill) {
    if (kill % 25 === 0) console.log(`${String(kill)} kills`);
  },
});
console.log(JSON.stringify({ ...report, seconds: Math.round((Date.now() - begun) / 1000) }));

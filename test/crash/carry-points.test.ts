// A month of acts with a succession in the middle, whose process dies at every commit point: after the closing entry,
// the first entry of the successor, its types, and each group of carried state. Later answers must be as if there had
// been one log and no crash, and everything must be carried once. gateway/carry.ts.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { ok, run } from '../gateway/running.ts';
import type { Running } from '../gateway/running.ts';
import { Month } from '../plugins/month.ts';
import { childArgs } from '../support/child.ts';

const child = new URL('carry-child.ts', import.meta.url);
/** Assets of another tenant: more state than fits into one group. */
const ASSETS = 150;
/** More than the number of commit points; a process that dies at the same point each time would never finish. */
const MOST = 60;

/** Runs the process; returns whether it exited normally. */
async function ends(data: string): Promise<boolean> {
  const process_ = spawn(process.execPath, [...(await childArgs(child)), data]);
  const [errors, [code, signal]] = await Promise.all([
    text(process_.stderr),
    once(process_, 'exit') as Promise<[number | null, NodeJS.Signals | null]>,
    text(process_.stdout),
  ]);
  if (signal === 'SIGKILL') return false;
  assert.equal(code, 0, errors);
  return true;
}

describe('a succession whose process dies at every commit point', function () {
  this.timeout(600_000);
  let deaths = 0;
  let last: Running | undefined;
  after(() => last?.close());

  /** Attests all assets concurrently. */
  async function under(running: Running, key: string): Promise<void> {
    const asked = Array.from({ length: ASSETS }, (_, n) => {
      const event = { event_type: 'tokenize', quantity: String(n + 1) };
      return running.post(
        '/api/v1/custody/attest',
        { asset_id: `a-${String(n)}`, ...event },
        { key },
      );
    });
    for (const answer of await Promise.all(asked)) assert.equal(ok(answer).parity.holds, true);
  }

  async function crashing(running: Running): Promise<Running> {
    const { data, gateway } = running;
    if (gateway.logs.live.number > 1) return running;
    const { key } = await gateway.tenants.issue({ tenant: 'issuer', kind: 'live' });
    await under(running, key);
    await running.close(true);
    while (!(await ends(data))) {
      deaths += 1;
      assert.ok(deaths < MOST, 'it dies at the same point each time');
    }
    const again = await run({ DATA_DIR: data });
    const tried = Array.from({ length: ASSETS }, (_, n) => {
      const event = { event_type: 'tokenize', quantity: '1' };
      return again.post(
        '/api/v1/custody/attest',
        { asset_id: `a-${String(n)}`, ...event },
        { key },
      );
    });
    for (const answer of await Promise.all(tried)) {
      assert.equal(ok(answer).parity.breach, 'already_tokenized');
    }
    return again;
  }

  it('leads to the same answers as one log without a crash', async () => {
    const whole = new Month(await run());
    const one = await whole.run((running) => Promise.resolve(running));
    await whole.running.close();
    const month = new Month(await run());
    last = month.running;
    const two = await month.run(crashing);
    last = month.running;
    assert.ok(deaths >= 7, `${String(deaths)} deaths`);
    assert.equal(month.running.gateway.logs.live.number, 2);
    // The acts of the other tenant are in the sums over all tenants.
    const network = ([name]: readonly unknown[]) => name !== 'network';
    assert.deepEqual(two.filter(network), one.filter(network));
    const { live } = month.running.gateway.logs;
    const said = Array.from({ length: live.size() }, (_, i) => live.entry(i) ?? '')
      .filter((entry) => /\.carried\.v\d+","value"/.test(entry))
      .map((entry) => JSON.parse(entry))
      .map(({ type, what, value, tenant_ref }) => JSON.stringify([type, what, value, tenant_ref]));
    assert.ok(said.length > 2 * ASSETS);
    assert.equal(new Set(said).size, said.length, 'twice');
  });
});

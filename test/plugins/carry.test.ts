// A month that is spread over three logs gives the same answers as in one log: what a tenant owns, owes or is limited to
// is carried into each successor, and a replay of the successor alone gives the same rows. plugins/contract/carry.ts.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { fsck } from '../../log/operate/fsck/fsck.ts';
import { reindex } from '../../log/operate/reindex.ts';
import { broughtTypes } from '../../tools/brought-types.ts';
import { run } from '../gateway/running.ts';
import type { Running } from '../gateway/running.ts';
import type { Body } from '../support/body.ts';
import { Month } from './month.ts';
import type { Told } from './month.ts';
import { succeeded } from './succeeded.ts';

const CARRIED = /"type":"[a-z-]+\.carried\.v\d+"/;

describe('a month with a succession in the middle', function () {
  this.timeout(180_000);
  let one: readonly Told[];
  let three: readonly Told[];
  let month: Month;

  before(async () => {
    const whole = new Month(await run());
    one = await whole.run((running) => Promise.resolve(running));
    await whole.running.close();
    month = new Month(await run());
    three = await month.run((running) => succeeded(running));
  });
  after(() => month.running.close());

  const carriedIn = (running: Running, number: number): Body[] => {
    const log = running.gateway.served.live.find((served) => served.number === number);
    assert.ok(log !== undefined);
    return Array.from({ length: log.size() }, (_, i) => log.entry(i) ?? '')
      .filter((text) => CARRIED.test(text))
      .map((text) => JSON.parse(text));
  };

  it('gives the same answers as a month in one log', () => {
    assert.deepEqual(
      three.filter((told, i) => !isDeepStrictEqual(told, one[i])),
      one.filter((told, i) => !isDeepStrictEqual(told, three[i])),
    );
    assert.deepEqual(three, one);
  });

  it('has each carried item once, with an existing entry of the closed log', () => {
    const { running } = month;
    for (const number of [2, 3]) {
      const carried = carriedIn(running, number);
      const kinds = new Set(carried.map(({ type, what }) => `${String(type)} ${String(what)}`));
      for (const kind of [
        ...['clear.carried.v1 month', 'clear.carried.v1 ceiling', 'clearing.carried.v1 credit'],
        ...['clearing.carried.v1 order', 'foundry.carried.v2 supply', 'foundry.carried.v2 balance'],
        ...['foundry.carried.v2 trigger', 'foundry.carried.v2 dispute', 'gate.carried.v1 policy'],
        ...['gate.carried.v1 hold', 'gate.carried.v1 act', 'carrier.carried.v2 mandate'],
        ...['relay.carried.v1 partner', 'succession.carried.v1 claim'],
        ...['issuer-pays.carried.v1 listing'],
        ...['succession.carried.v1 manifest'],
      ]) {
        assert.ok(kinds.has(kind), `${kind} in log ${String(number)}: ${[...kinds].join(', ')}`);
      }
      const said = carried.map(({ type, what, value, tenant_ref }) =>
        JSON.stringify([type, what, value, tenant_ref]),
      );
      assert.equal(new Set(said).size, said.length, 'twice');
      for (const { rests_on } of carried) {
        const { log_number, index, entry_id, leaf_hash } = rests_on;
        assert.ok(log_number < number);
        const from = running.gateway.served.live.find((log) => log.number === log_number);
        assert.ok(from !== undefined);
        assert.equal(from.indexOfEntry(entry_id), index);
        assert.equal(Buffer.from(from.leafHash(index)).toString('hex'), leaf_hash);
      }
    }
  });

  it('has no other entry of a tenant before the carried ones', () => {
    const log = month.running.gateway.logs.live;
    const texts = Array.from({ length: log.size() }, (_, i) => log.entry(i) ?? '');
    const done = texts.findIndex((text) => text.includes('"state":"done"'));
    const before = texts.slice(0, done).filter((text) => text.includes('"tenant_ref"'));
    const allowed =
      /"type":"(log\.tenant|astl\.(entity|manifest)|gate\.policy|[a-z-]+\.carried)\.v\d+"/;
    for (const text of before) assert.match(text, allowed);
    const after = texts.slice(done).filter((text) => CARRIED.test(text));
    assert.deepEqual(after, []);
  });

  it('is rebuilt from the entries of each log alone', async () => {
    const { data } = month.running;
    await month.running.close(true);
    const types = await broughtTypes({ PLUGINS: [] });
    for (const number of [1, 2, 3]) {
      const folder = join(data, 'live', String(number));
      const { differences } = await fsck({ folder, types });
      assert.deepEqual(differences, []);
      await reindex({ folder, types });
    }
    month.running = await run({ DATA_DIR: data });
    const carried = carriedIn(month.running, 3).length;
    await month.running.close(true);
    month.running = await run({ DATA_DIR: data });
    assert.equal(carriedIn(month.running, 3).length, carried, 'a later start carries nothing');
  });
});

// GET /signal/patterns.json: sums over tenants and logs for closed weeks, without sums below ten. gateway/API.md
// §6.6.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { reindex } from '../../../log/operate/reindex.ts';
import { broughtTypes } from '../../../tools/brought-types.ts';
import { codeOf } from '../../gateway/http/envelope.ts';
import { Clock, ok, run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';
import type { Body } from '../../support/body.ts';
import { succeeded } from '../succeeded.ts';

const PATH = '/signal/patterns.json';
const WEEK_MS = 7 * 86_400_000;
const TEN = 'Reject her because she is pregnant.';
const NINE = 'Deny the loan because he is Black.';

describe('the pattern feed', function () {
  this.timeout(120_000);
  let running: Running;
  let one: string;
  let other: string;
  let ten: Body;
  let nine: Body;

  const classify = async (key: string, times: number, body: object): Promise<Body> => {
    let result: Body;
    for (let i = 0; i < times; i += 1) {
      result = ok(await running.post('/api/v1/classify', body, { key }));
    }
    return result;
  };
  const patterns = async (query = ''): Promise<Body> => ok(await running.get(PATH + query));

  before(async () => {
    running = await run();
    one = running.live;
    other = (await running.gateway.tenants.issue({ tenant: 'other', kind: 'live' })).key;
    await classify(one, 5, { message: TEN, domain: 'hiring' });
    running = await succeeded(running);
    ten = await classify(other, 5, { message: TEN, domain: 'hiring' });
    nine = await classify(other, 4, { message: NINE, domain: 'lending' });
    await classify(one, 5, { message: NINE, domain: 'lending' });
  });
  after(() => running.close());

  it('shows no week before it has ended', async () => {
    const { schema, minimum_acts, data, has_more, next_cursor } = await patterns();
    assert.deepEqual([schema, minimum_acts], ['svc-signal-patterns-v1', 10]);
    assert.deepEqual([data, has_more, next_cursor], [[], false, null]);
  });

  it('sums a closed week over tenants and logs, and shows no sum below ten', async () => {
    running.clock.pass(WEEK_MS);
    await classify(one, 10, { message: TEN, domain: 'hiring' });
    const { data } = await patterns();
    assert.ok(ten.rule_ids.length > 0 && nine.rule_ids.length > 0, 'both messages match a rule');
    const week = data[0]?.week as string;
    assert.match(week, /^\d{4}-W\d\d$/);
    assert.deepEqual(
      data,
      [...ten.rule_ids].sort().map((rule_id) => ({ week, domain: 'hiring', rule_id, acts: 10 })),
    );
  });

  it('names no tenant, and is the same for every caller', async () => {
    const bare = await running.get(PATH);
    const keyed = await running.get(PATH, { key: one });
    assert.equal(bare.text, keyed.text);
    assert.doesNotMatch(bare.text, /tenant|pregnant|other/);
    assert.equal(bare.headers.get('cache-control'), 'no-cache');
  });

  it('is separate for the sandbox', async () => {
    assert.deepEqual((await patterns('?log=sandbox')).data, []);
  });

  it('filters by week, domain and rule, and has pages', async () => {
    const { data } = await patterns();
    const [{ week, rule_id }] = data;
    for (const [query, found] of [
      [`?week=${week}`, data],
      ['?week=1999-W01', []],
      ['?domain=hiring', data],
      ['?domain=lending', []],
      [`?rule=${rule_id}`, data.filter((row: Body) => row.rule_id === rule_id)],
      ['?rule=none', []],
    ] as const) {
      assert.deepEqual((await patterns(query)).data, found, query);
    }
    const seen: Body[] = [];
    let next = '';
    do {
      const page = await patterns(`?limit=1${next}`);
      seen.push(...page.data);
      next = `&cursor=${String(page.next_cursor)}`;
      if (page.has_more !== true) {
        const later = await patterns(`?week=${week}${next}`);
        assert.deepEqual([later.data, later.next_cursor], [[], page.next_cursor]);
        assert.deepEqual((await patterns(`?week=1999-W01${next}`)).data, []);
        break;
      }
    } while (seen.length <= data.length);
    assert.deepEqual(seen, data);
    assert.equal(codeOf(await running.get(`${PATH}?week=2026-54`), 400), 'parameter_invalid');
    assert.equal(codeOf(await running.get(`${PATH}?cursor=AAAA`), 400), 'parameter_invalid');
    assert.equal(codeOf(await running.get(`${PATH}?weeks=1`), 400), 'parameter_unknown');
  });

  it('is the same after actlog reindex', async () => {
    const before = await patterns();
    await running.close(true);
    const types = await broughtTypes({ PLUGINS: [] });
    for (const number of ['1', '2']) {
      await reindex({ folder: join(running.data, 'live', number), types });
    }
    const clock = new Clock();
    clock.pass(WEEK_MS);
    running = await run({ DATA_DIR: running.data }, { clock });
    assert.deepEqual(await patterns(), before);
  });
});

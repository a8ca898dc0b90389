// tools/verify/kit.ts: compares a kit with a pinned one; other keys of a known log are refused.

import assert from 'node:assert/strict';
import type { JsonObject } from '../../../log/index.ts';
import { trustFromKit } from '../../../log/verify.ts';
import type { Finding } from '../../../plugins/verifiers.ts';
import { checkKit } from '../../../tools/verify/kit.ts';
import type { Body } from '../../support/body.ts';
import { run } from '../../gateway/running.ts';

describe('a kit compared with a pinned one', () => {
  let kit: Body;
  let forged: Body;

  before(async () => {
    const one = await run();
    const two = await run();
    try {
      const get = async (running: typeof one): Promise<Body> =>
        (await running.get('/export/offline-verify-kit.json')).json;
      kit = await get(one);
      forged = JSON.parse(
        JSON.stringify(await get(two)).replaceAll(two.gateway.base_url, one.gateway.base_url),
      );
    } finally {
      await one.close();
      await two.close();
    }
  });

  const checked = (shown: Body, pinned: Body): Promise<Finding> => {
    const trusts = shown.logs.map(({ origin }: Body) => trustFromKit(shown, origin as string));
    return checkKit(shown as JsonObject, trusts, pinned as JsonObject | null);
  };
  const changed = (change: (copy: Body) => unknown): Body => {
    const copy = structuredClone(kit);
    change(copy);
    return copy;
  };
  const pinnedLine = ({ checks }: Finding) => checks.find(({ name }) => name === 'pinned_kit');
  const own = (jwk: Body): boolean => jwk.purpose === undefined;

  it('is valid if it is the same, and the result says so', async () => {
    const { valid, summary } = await checked(kit, kit);
    assert.equal(valid, true, summary);
    assert.match(summary, /with the pinned one/);
    assert.equal(pinnedLine(await checked(kit, null)), undefined);
  });

  it('is refused with the keys of another service under the same origin', async () => {
    assert.deepEqual(
      forged.logs.map(({ origin }: Body) => origin),
      kit.logs.map(({ origin }: Body) => origin),
    );
    const outcome = await checked(forged, kit);
    assert.equal(outcome.valid, false);
    assert.match(outcome.summary, /^pinned kit failed: .* another checkpoint key for/);
  });

  it('is refused with another key of any kind', async () => {
    const other = (jwk: Body, keys: readonly Body[]): void => {
      Object.assign(
        jwk,
        keys.find(({ purpose }) => purpose === jwk.purpose),
      );
    };
    for (const [said, change] of [
      [/another checkpoint key/, (copy: Body) => (copy.logs = forged.logs)],
      [
        /no longer names the receipt key/,
        (copy: Body) => other(copy.keys.keys.find(own), forged.keys.keys),
      ],
      [
        /no such key for air/,
        (copy: Body) => {
          const air = ({ purpose }: Body): boolean => purpose === 'air';
          const { x, y } = forged.keys.keys.find(air);
          Object.assign(copy.keys.keys.find(air), { x, y });
        },
      ],
      [/no such key for (air|cose)/, (copy: Body) => (copy.cose_keys = forged.cose_keys)],
    ] as const) {
      const line = pinnedLine(await checked(changed(change), kit));
      assert.equal(line?.outcome, 'failed', said.source);
      assert.match(line.detail, said);
    }
  });

  it('may be newer or older: one of the two contains the other', async () => {
    const key = { ...kit.keys.keys.find(own), kid: 'newer' };
    const newer = changed((copy) => copy.keys.keys.push(key));
    assert.equal(pinnedLine(await checked(newer, kit))?.outcome, 'ok');
    assert.match(pinnedLine(await checked(kit, newer))?.detail ?? '', /is newer$/);
  });
});

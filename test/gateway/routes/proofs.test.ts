// Tests of gateway/routes/proofs.ts.

import assert from 'node:assert/strict';
import { fromBase64, native } from '../../../log/index.ts';
import type { Json, JsonObject, Log } from '../../../log/index.ts';
import { checkConsistency } from '../../../log/merkle/check.ts';
import {
  openEntry,
  verifyAbsence,
  verifyCheckpoint,
  verifyConsistency,
} from '../../../log/verify.ts';
import type { Trust } from '../../../log/verify.ts';
import { Clock } from '../running.ts';
import { problem, serve } from './served.ts';
import type { Served } from './served.ts';

const trustOf = (log: Log): Trust => {
  const { origin, vkey } = log;
  return { origin, vkey, keys: log.receiptKeys().map(({ kid, jwk }) => ({ kid, jwk })) };
};

const suite = native;
const text = (value: Json | undefined): string => value as string;

describe('gateway/routes/proofs', () => {
  let served: Served;
  let log: Log;
  const receipts: JsonObject[] = [];
  /** Every published size of the log. */
  const sizes: number[] = [];

  before(async () => {
    served = await serve();
    log = served.gateway.logs.live;
    sizes.push(log.published().size);
    log.onPublished(({ size }) => sizes.push(size));
    for (let i = 0; i < 5; i++) {
      receipts.push(await served.classify(served.live, { session_id: 'a session' }));
      await log.whenPublished(log.size());
    }
  });

  after(() => served.close());

  const inclusion = (query: string) => served.get(`/log/live/proof/inclusion?${query}`);
  const consistency = (query: string) => served.get(`/log/live/1/proof/consistency?${query}`);
  const lookup = (key: Json, more = '', headers = {}) =>
    served.get(
      `/log/live/proof/lookup?key=${encodeURIComponent(JSON.stringify(key))}${more}`,
      undefined,
      headers,
    );
  const sessionKey = (): string[] => ['session', text(receipts[0]?.['session_ref'])];

  describe('inclusion', () => {
    it('is proven for every entry under every published size', async () => {
      const [oldest = 0] = sizes;
      const newest = log.published().size;
      for (const size of new Set([oldest, ...sizes, newest])) {
        for (let index = 0; index < size; index++) {
          const answer = await inclusion(`index=${String(index)}&size=${String(size)}`);
          const { checkpoint, ...opened } = answer.json();
          const tree = verifyCheckpoint(text(checkpoint), trustOf(log), { suite });
          assert.equal(tree.size, size);
          assert.equal(openEntry(opened, tree, trustOf(log), { suite }).index, index);
        }
      }
    });

    it('is found by the entry hash', async () => {
      const [receipt] = receipts;
      const answer = await inclusion(`entry_hash=${text(receipt?.['entry_hash'])}`);
      assert.equal(answer.json()['index'], receipt?.['index']);
    });

    it('refuses a request that names no entry, and names the parameter', async () => {
      const past = String(log.size() + 50);
      const cases: [string, number, string, string][] = [
        ['', 400, 'parameter_missing', 'index'],
        [`index=1&entry_hash=${'0'.repeat(64)}`, 400, 'parameter_invalid', 'entry_hash'],
        ['index=-1', 400, 'parameter_invalid', 'index'],
        ['index=1.0', 400, 'parameter_invalid', 'index'],
        ['index=01', 400, 'parameter_invalid', 'index'],
        ['index=9007199254740992', 400, 'parameter_invalid', 'index'],
        ['index=1&index=2', 400, 'parameter_invalid', 'index'],
        ['entry_hash=00', 400, 'parameter_invalid', 'entry_hash'],
        [`entry_hash=${'0'.repeat(64)}`, 404, 'resource_missing', 'entry_hash'],
        [`index=${past}`, 404, 'resource_missing', 'index'],
        ['index=1&size=1', 400, 'parameter_invalid', 'size'],
        [`index=1&size=${past}`, 400, 'parameter_invalid', 'size'],
        [`index=5&size=2`, 400, 'parameter_invalid', 'size'],
      ];
      for (const [query, status, code, param] of cases) {
        assert.deepEqual(problem(await inclusion(query)), { status, code, param }, query);
      }
    });
  });

  describe('consistency', () => {
    it('is proven between any two published sizes', async () => {
      const all = [...new Set(sizes)];
      for (const from of all) {
        for (const to of all.filter((size) => size >= from)) {
          const answer = await consistency(`from=${String(from)}&to=${String(to)}`);
          const { path, checkpoint } = answer.json();
          const older = log.checkpointAt(from) ?? '';
          const shown = verifyConsistency(older, text(checkpoint), path ?? null, trustOf(log), {
            suite,
          });
          assert.deepEqual([shown.from.size, shown.to.size], [from, to]);
        }
      }
    });

    it('is proven from every past size, published or not', async () => {
      const to = log.published();
      for (let from = 1; from <= to.size; from++) {
        const answer = await consistency(`from=${String(from)}&to=${String(to.size)}`);
        const path = (answer.json()['path'] as string[]).map((hash) => fromBase64(hash, 32));
        const roots = { fromRoot: log.rootAt(from), toRoot: to.root };
        checkConsistency(suite, { from, to: to.size, ...roots, path });
      }
    });

    it('is empty from the empty tree', async () => {
      const { from, to, path } = (await consistency('from=0')).json();
      assert.deepEqual([from, to, path], [0, log.published().size, []]);
    });

    it('refuses sizes that the log never had, and ends that were never published', async () => {
      const newest = log.published().size;
      const between = sizes.find((size, i) => i > 0 && size - 1 !== sizes[i - 1]) ?? 0;
      const cases: [string, string, string][] = [
        ['', 'parameter_missing', 'from'],
        [`from=${String(newest + 1000)}`, 'parameter_invalid', 'from'],
        ['from=02', 'parameter_invalid', 'from'],
        [`from=2&to=${String(between - 1)}`, 'parameter_invalid', 'to'],
        [`from=${String(newest)}&to=2`, 'parameter_invalid', 'from'],
        [`from=2&to=${String(newest + 1000)}`, 'parameter_invalid', 'to'],
      ];
      for (const [query, code, param] of cases) {
        const answer = await consistency(query);
        assert.equal(answer.status, 400, query);
        assert.deepEqual(problem(answer), { status: 400, code, param }, query);
      }
    });
  });

  describe('lookup', () => {
    const verdict = (document: JsonObject, page: { readonly after?: number } = {}): string => {
      const { key, from_ms, to_ms } = document['question'] as {
        readonly key: string[];
        readonly from_ms: number;
        readonly to_ms: number;
      };
      return verifyAbsence(document, { key, from_ms, to_ms, ...page }, trustOf(log), { suite })
        .verdict;
    };

    it('shows every entry of a chain, by a document that verifies', async () => {
      const document = (await lookup(sessionKey())).json();
      assert.equal(verdict(document), 'PRESENT');
      const entries = document['entries'] as unknown as { index: number }[];
      assert.deepEqual(
        entries.map(({ index }) => index),
        receipts.map(({ index }) => index),
      );
    });

    it('pages through a chain, and each page is valid', async () => {
      const seen: number[] = [];
      for (let more = true; more;) {
        const last = seen.at(-1);
        const after = last === undefined ? '' : `&after=${String(last)}`;
        const document = (await lookup(sessionKey(), `&limit=2${after}`)).json();
        assert.equal(verdict(document, last === undefined ? {} : { after: last }), 'PRESENT');
        const indexes = (document['entries'] as unknown as { index: number }[]).map((e) => e.index);
        seen.push(...indexes);
        more = document['more'] === true;
      }
      assert.deepEqual(
        seen,
        receipts.map(({ index }) => index),
      );
    });

    it('proves that an unused chain has no entry', async () => {
      const document = (await lookup(['session', 'A'.repeat(43)])).json();
      assert.equal(verdict(document), 'ABSENT');
    });

    it('ends the window with the map head of an older size', async () => {
      const size = sizes.find((one) => one > Number(receipts[1]?.['index'])) ?? 0;
      const document = (await lookup(sessionKey(), `&size=${String(size)}`)).json();
      const head = JSON.parse(log.entry(size - 1) ?? '') as { issued_at_ms: number };
      assert.equal((document['question'] as JsonObject)['to_ms'], head.issued_at_ms);
      assert.equal(verdict(document), 'PRESENT');
      const entries = document['entries'] as unknown as { index: number }[];
      assert.ok(entries.every(({ index }) => index < size));
      assert.ok(entries.length < receipts.length);
    });

    it('refuses an invalid question and names the parameter', async () => {
      const key = sessionKey();
      const cases: [Json, string, string, string][] = [
        [['nothing', 'x'], '', 'parameter_invalid', 'key'],
        [['session', 'short'], '', 'parameter_invalid', 'key'],
        ['session', '', 'parameter_invalid', 'key'],
        [[1], '', 'parameter_invalid', 'key'],
        [key, '&from_ms=5&to_ms=4', 'parameter_invalid', 'from_ms'],
        [key, '&to_ms=x', 'parameter_invalid', 'to_ms'],
        [key, '&limit=0', 'parameter_invalid', 'limit'],
        [key, '&limit=101', 'parameter_invalid', 'limit'],
        [key, '&size=1', 'parameter_invalid', 'size'],
      ];
      for (const [asked, more, code, param] of cases) {
        assert.deepEqual(problem(await lookup(asked, more)), { status: 400, code, param }, more);
      }
      const torn = await served.get('/log/live/proof/lookup?key=%5B%22session%22');
      assert.deepEqual(problem(torn), { status: 400, code: 'parameter_invalid', param: 'key' });
    });

    it('reports when an open window will be closed', async () => {
      const asked = served.clock.wall();
      const to_ms = asked + 20_000;
      const answer = await lookup(sessionKey(), `&to_ms=${String(to_ms)}`);
      const expected = { status: 409, code: 'window_not_closed', param: 'to_ms' };
      assert.deepEqual(problem(answer), expected);
      const wait = Number(answer.headers.get('retry-after'));
      const took = Math.ceil((served.clock.wall() - asked) / 1000);
      assert.ok(Number.isInteger(wait) && wait >= 20 - took && wait <= 22, String(wait));
    });

    it('waits for the window to close if the request prefers it', async () => {
      const to_ms = served.clock.wall() + 100;
      const more = `&to_ms=${String(to_ms)}`;
      const document = (await lookup(sessionKey(), more, { Prefer: 'wait=10' })).json();
      assert.equal((document['question'] as JsonObject)['to_ms'], to_ms);
      assert.equal(verdict(document), 'PRESENT');
    });

    it('closes the window at a later request', async () => {
      const more = `&to_ms=${String(log.published().map_head_ms + 1)}`;
      const next = log.whenPublished(log.published().size + 1);
      const first = await lookup(sessionKey(), more);
      if (first.status === 409) {
        assert.equal(problem(first)['code'], 'window_not_closed');
        await next;
      }
      assert.equal((await lookup(sessionKey(), more)).status, 200);
    });
  });

  it('publishes at once for a proof of an entry that no checkpoint covers', async () => {
    const slow = await serve({ CHECKPOINT_INTERVAL_MS: '60000' }, { clock: new Clock() });
    try {
      const receipt = await slow.classify(slow.live);
      const index = receipt['index'] as number;
      assert.ok(slow.gateway.logs.live.published().size <= index, 'not published yet');
      const answer = await slow.get(`/log/live/proof/inclusion?index=${String(index)}`);
      assert.equal(answer.status, 200);
    } finally {
      await slow.close();
    }
  });
});

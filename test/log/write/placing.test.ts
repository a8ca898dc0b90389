// The drafts that the sequencer accepts and refuses: it writes nothing that a replay would report as a violation.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { FORMAT, LogError, parseJson, receiptOf, toHex } from '../../../log/index.ts';
import type { Draft, EntryType, Json, JsonObject } from '../../../log/index.ts';
import { verifyReceipt } from '../../../log/verify.ts';
import { code, KeptLog, note, NOTE, OTHER_TENANT, START_MS, TENANT, withLog } from './kept-log.ts';
import { act, LOOSE } from './placing-drafts.ts';

describe('placing: the table', () => {
  it(
    'accepts event times within the limits and refuses others',
    withLog(async (kept) => {
      const { issued_at_ms: now } = (await kept.append(note('a')))[0]!;
      const at = (event_at_ms: number): Draft => ({ ...note('a'), event_at_ms });
      for (const event_at_ms of [now - FORMAT.max_lag_ms, now, now + FORMAT.skew_ms]) {
        const [entry] = await kept.append(at(event_at_ms));
        assert.equal(entry!.statement.event_at_ms, event_at_ms);
      }
      for (const off of [-FORMAT.max_lag_ms - 1, FORMAT.skew_ms + 1, Infinity, -Infinity]) {
        await assert.rejects(kept.append(at(now + off)), code('event_time_out_of_range'));
      }
      for (const bad of [now - 0.5, NaN]) await assert.rejects(kept.append(at(bad)), LogError);
    }),
  );

  it(
    'writes tolls and refuses malformed ones',
    withLog(async (kept) => {
      const [entry] = await kept.append({
        ...note('a'),
        toll: { id: 'hold', micro_usd: 2000, cleared_micro_usd: 1000 },
      });
      const { toll, toll_micro_usd, cleared_micro_usd } = entry!.statement;
      assert.deepEqual([toll, toll_micro_usd, cleared_micro_usd], ['hold', 2000, 1000]);
      for (const bad of [
        { id: 'on hold', micro_usd: 1 },
        { id: 'hold', micro_usd: 1.5 },
        { id: 'hold', micro_usd: 1, cleared_micro_usd: NaN },
      ]) {
        await assert.rejects(kept.append({ ...note('a'), toll: bad }), LogError);
      }
    }),
  );

  it(
    'commits to private values, and the disclosures match the commitments',
    withLog(async (kept) => {
      const values = { message: 'We should not hire her', score: 0.25, parts: { a: [1.5, null] } };
      const [entry, same] = await kept.append(
        { ...note('a'), private: values },
        { ...note('a'), private: values },
      );
      const { disclosures, statement } = entry!;
      assert.deepEqual(
        Object.fromEntries(Object.entries(disclosures).map(([name, { value }]) => [name, value])),
        values,
      );
      assert.ok(!entry!.text.includes('hire'));
      assert.notDeepEqual(statement.commitments, same!.statement.commitments);
      const receipt = receiptOf(
        entry!,
        { base_url: 'https://log.example', sandbox: false },
        disclosures,
      );
      const outcome = (json: Json): unknown => {
        const { valid, checks } = verifyReceipt(json, kept.trust());
        return [valid, checks.find(({ name }) => name === 'disclosures')?.outcome];
      };
      assert.deepEqual(outcome(receipt), [true, 'ok']);
      const lied = {
        ...receipt,
        disclosures: { message: { ...disclosures.message!, value: 'no' } },
      };
      assert.deepEqual(outcome(lied), [false, 'failed']);
    }),
  );

  it(
    'refuses commitments with a free-text name, and writes none without private values',
    withLog(async (kept) => {
      await assert.rejects(kept.append({ ...note('a'), private: { 'a b': 1 } }), LogError);
      const [entry] = await kept.append({ ...note('a'), private: {} });
      assert.ok(!('commitments' in entry!.statement));
    }),
  );

  it(
    'refuses entries of the log itself out of their order',
    withLog(async (kept) => {
      const { jwk } = kept.log.receiptKeys()[0]!;
      const key = { kty: jwk.kty, crv: jwk.crv, x: jwk.x };
      const root = '0'.repeat(64);
      const drafts: Draft[] = [
        { type: 'log.open.v1', members: { ...FORMAT, jwk: key, predecessor: null } },
        {
          type: 'log.map_head.v1',
          members: ({ index }) => ({ covered: index, map_root: root, prev_map_head: 1 }),
        },
        { type: 'log.key.v1', members: { key, status: 'active' } },
        { type: 'log.closed.v1', members: { successor: 'log.example/log/live/3' } },
        { type: 'log.closed.v1', members: { successor: 'log.example/log/sandbox/2' } },
      ];
      for (const draft of drafts) await assert.rejects(kept.append(draft), LogError);
    }),
  );
});

describe('placing: rows', () => {
  it(
    'of one plugin cannot be written by another',
    withLog(async (kept) => {
      const thief: EntryType = {
        name: 'other.note.v1',
        schema: { type: 'object' },
        keys: [],
        project: (_entry, rows) => {
          rows.put('gate/case/a', 1);
        },
      };
      await kept.log.declare([thief]);
      const size = kept.log.size();
      await assert.rejects(kept.append(act(thief.name, {})), /row gate\/case\/a of another/);
      assert.equal(kept.log.size(), size);
      assert.equal(kept.log.row('gate/case/a'), undefined);
    }),
  );
});

describe('placing: hostile drafts', () => {
  it('are never written if a replay would refuse them', async () => {
    const kept = await KeptLog.open();
    try {
      await kept.log.declare([LOOSE]);
      const name = fc.oneof(
        fc.constantFrom('text', 'list', 'id', 'entity', 'surface', 'session_ref', 'signature'),
        fc.constantFrom('__proto__', 'constructor', 'links', 'case_id', 'amount', 'entry_id'),
        fc.string({ maxLength: 5, unit: 'binary' }),
      );
      const value = fc.oneof(
        fc.jsonValue({ maxDepth: 3, noUnicodeString: false }) as fc.Arbitrary<Json>,
        fc.constantFrom<Json>('ok', 'acme', 'a b', '12.5', -0, 1.5, NaN, null, 2 ** 60),
      );
      const members = fc.dictionary(name, value, { maxKeys: 3, noNullPrototype: true });
      const rarely = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
        fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
      const draft: fc.Arbitrary<Draft> = fc
        .record({
          type: fc.constantFrom(LOOSE.name, NOTE.name, NOTE.name, 'astl.entity.v1'),
          tenant_ref: fc.constantFrom(TENANT, TENANT, TENANT, OTHER_TENANT, ''),
          base: fc.constantFrom<JsonObject>({ case_id: 'a' }, { entity: 'acme', action: 'claim' }),
          members,
          values: rarely(members),
          event_at_ms: rarely(
            fc.oneof(fc.constant(kept.time.wall()), fc.double(), fc.constant(0.5 + START_MS)),
          ),
          toll: rarely(
            fc.record({
              id: fc.constantFrom('hold', 'on hold', ''),
              micro_usd: fc.oneof(fc.integer(), fc.double()),
            }),
          ),
        })
        .map(({ type, tenant_ref, base, members: own, values, event_at_ms, toll }) => ({
          type,
          tenant_ref,
          members: { ...base, ...own },
          ...(values === undefined ? {} : { private: values }),
          ...(event_at_ms === undefined ? {} : { event_at_ms }),
          ...(toll === undefined ? {} : { toll }),
        }));
      let taken = 0;
      await fc.assert(
        fc.asyncProperty(draft, async (hostile) => {
          const size = kept.log.size();
          try {
            const [entry] = await kept.append(hostile);
            taken += 1;
            assert.deepEqual(parseJson(entry!.text), JSON.parse(entry!.text));
            assert.equal(toHex(entry!.leaf_hash), toHex(kept.log.leafHash(entry!.index)));
          } catch (error) {
            assert.ok(error instanceof LogError, String(error));
            assert.equal(kept.log.size(), size);
          }
        }),
        { numRuns: 1500 },
      );
      assert.ok(taken > 20, `${String(taken)} were taken`);
    } finally {
      await kept.end();
    }
  });
});

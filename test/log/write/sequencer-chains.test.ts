// Links, ids and times of entries, in any order of groups, rounds and map heads.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Appended, Draft } from '../../../log/index.ts';
import { code, KeptLog, note, statementOf, TENANT, withLog } from './kept-log.ts';

/** A draft that the sequencer refuses. */
const refused: Draft = { type: 'gate.note.v1', tenant_ref: TENANT, members: { outcome: 'PERMIT' } };

describe('sequencer: chains', () => {
  it('writes the links of a model of the chains, for any history', async () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ notes: fc.array(fc.nat(5), { maxLength: 5 }) }) },
      { weight: 2, arbitrary: fc.record({ bad: fc.array(fc.nat(5), { maxLength: 3 }) }) },
      { weight: 1, arbitrary: fc.constant({ wait: true as const }) },
      { weight: 1, arbitrary: fc.constant({ publish: true as const }) },
      { weight: 1, arbitrary: fc.constant({ restart: true as const }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const kept = await KeptLog.open();
        try {
          const chains = new Map<string, { index: number; ms: number }[]>();
          let under: Promise<unknown>[] = [];
          const expected: Promise<readonly Appended[]>[] = [];
          for (const one of steps) {
            kept.time.advance(1);
            if ('notes' in one) {
              const appended = kept.append(...one.notes.map((n) => note(`case-${String(n)}`)));
              expected.push(appended);
              under.push(appended);
            } else if ('bad' in one) {
              const drafts = [...one.bad.map((n) => note(`case-${String(n)}`)), refused];
              under.push(assert.rejects(kept.append(...drafts), code('entry_invalid')));
            } else if ('wait' in one) {
              await Promise.all(under);
              under = [];
            } else if ('publish' in one) {
              under.push(kept.publish());
            } else {
              await Promise.all(under);
              under = [];
              await kept.restart();
            }
          }
          await Promise.all(under);
          for (const { index, issued_at_ms, statement, links } of (
            await Promise.all(expected)
          ).flat()) {
            const name = statement.case_id as string;
            const before = chains.get(name) ?? [];
            const last = before.at(-1);
            assert.deepEqual(links, [
              {
                key: ['gate.case', name],
                seq: before.length,
                prev_index: last?.index ?? null,
                prev_ms: last?.ms ?? null,
              },
            ]);
            chains.set(name, [...before, { index, ms: issued_at_ms }]);
          }
          for (const [name, entries] of chains) {
            const { index } = entries.at(-1)!;
            assert.deepEqual(kept.log.row(`gate/case/${name}`), {
              count: entries.length,
              last: index,
            });
          }
        } finally {
          await kept.end();
        }
      }),
      { numRuns: 25 },
    );
  });

  it(
    'assigns strictly increasing ids within a millisecond, and times that never go back',
    withLog(async (kept) => {
      const entries = (
        await Promise.all(Array.from({ length: 300 }, (_, i) => kept.append(note(String(i)))))
      ).flat();
      const [first] = entries;
      assert.ok(entries.every(({ issued_at_ms }) => issued_at_ms === first!.issued_at_ms));
      const ids = entries.map(({ entry_id }) => entry_id);
      assert.deepEqual(ids, [...new Set(ids)].sort());
    }),
  );

  it(
    'continues with any overlap of rounds and map heads',
    withLog(async (kept) => {
      const all: Promise<unknown>[] = [];
      for (let i = 0; i < 30; i += 1) {
        for (let n = 0; n < 20; n += 1) all.push(kept.append(note(`case-${String(n % 7)}`)));
        if (i % 3 === 0) all.push(kept.log.whenPublished(kept.log.size()));
        await new Promise(setImmediate);
      }
      await Promise.all(all);
      assert.equal(kept.log.health().waiting, kept.log.size() - kept.log.published().size);
      const last = kept.log.size() - 1;
      assert.ok(Number(statementOf(kept.log, last).index) === last);
    }),
  );
});

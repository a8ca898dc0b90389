// Order, groups, rounds in flight: what the one writer promises to those who append.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Appended, Draft, Json, Sequenced } from '../../log/index.ts';
import { code, KeptLog, note, statementOf, TENANT, withLog } from './kept-log.ts';

/** A draft that is refused at the sequence point. */
const refused: Draft = { type: 'gate.note.v1', tenant_ref: TENANT, members: { outcome: 'PERMIT' } };

describe('sequencer: groups', () => {
  it(
    'gives the entries of a group consecutive places, in order',
    withLog(async (kept) => {
      const [a, b] = await Promise.all([
        kept.append(note('a'), note('b'), note('c')),
        kept.append(note('d'), note('e')),
      ]);
      const places = [...a, ...b].map(({ index }) => index);
      assert.deepEqual(
        places,
        places.map((_, i) => places[0]! + i),
      );
      for (const { index, text } of [...a, ...b]) assert.equal(kept.log.entry(index), text);
    }),
  );

  for (const place of [0, 1, 2]) {
    it(
      `leaves nothing of a group whose draft ${String(place)} is refused`,
      withLog(async (kept) => {
        await kept.append(note('seen'));
        const size = kept.log.size();
        const drafts = [note('seen'), note('new'), note('seen')];
        drafts.splice(place, 1, refused);
        await assert.rejects(kept.append(...drafts), code('entry_invalid'));
        assert.equal(kept.log.size(), size);
        assert.deepEqual(kept.log.row('gate/case/seen'), { count: 1, last: size - 1 });
        assert.equal(kept.log.row('gate/case/new'), undefined);
        const [next] = await kept.append(note('seen'));
        assert.equal(next?.index, size);
        assert.equal(next.links[0]?.seq, 1);
        assert.deepEqual(kept.log.row('gate/case/seen'), { count: 2, last: size });
      }),
    );
  }

  it(
    'leaves nothing of a refused group between groups of the same round',
    withLog(async (kept) => {
      const claim = (action: string): Draft => ({
        type: 'astl.entity.v1',
        tenant_ref: TENANT,
        members: { entity: 'acme', action },
      });
      const size = kept.log.size();
      const [first, second, third] = await Promise.allSettled([
        kept.append(note('x'), claim('claim')),
        kept.append(claim('release'), note('x', { outcome: 'on hold' }), note('x'), refused),
        kept.append(note('x'), claim('release')),
      ]);
      assert.equal(first.status, 'fulfilled');
      assert.equal(second.status, 'rejected');
      assert.equal(third.status, 'fulfilled');
      assert.equal(third.value[0]?.index, size + 2);
      assert.equal(third.value[0].links[0]?.seq, 1);
      assert.deepEqual(kept.log.row('gate/case/x'), { count: 2, last: size + 2 });
      assert.equal(kept.log.surfaces().owner('acme'), null);
    }),
  );

  it(
    'appends an empty group as nothing',
    withLog(async (kept) => {
      const size = kept.log.size();
      assert.deepEqual(await kept.append(), []);
      assert.equal(kept.log.size(), size);
    }),
  );

  it(
    'takes a group that is larger than a round',
    withLog(async (kept) => {
      const entries = await kept.append(...Array.from({ length: 700 }, () => note('long')));
      assert.equal(entries.length, 700);
      assert.equal(entries.at(-1)?.links[0]?.seq, 699);
    }),
  );

  it(
    'refuses groups over the limit of those that wait, and only those',
    withLog(
      async (kept) => {
        const all = await Promise.allSettled(
          Array.from({ length: 40 }, (_, i) => kept.append(note(`case-${String(i)}`))),
        );
        const taken = all.filter(({ status }) => status === 'fulfilled');
        assert.equal(taken.length, 8);
        for (const result of all) {
          if (result.status === 'rejected') code('log_busy')(result.reason);
        }
        assert.equal((await kept.append(note('later'))).length, 1);
      },
      { max_waiting: 8 },
    ),
  );
});

describe('sequencer: the sequence point', () => {
  it(
    'shows members the place, the group so far and the rows as of the entry before',
    withLog(async (kept) => {
      const seen: { index: number; group: readonly Sequenced[]; row: Json | undefined }[] = [];
      const draft: Draft = {
        type: 'gate.note.v1',
        tenant_ref: TENANT,
        members: ({ index, entry_id, issued_at_ms, group, rows }) => {
          assert.ok(entry_id.startsWith(issued_at_ms.toString(16).padStart(12, '0').slice(0, 8)));
          seen.push({ index, group: [...group], row: rows.get('gate/case/a') });
          return { case_id: 'a', amount: index };
        },
      };
      const size = kept.log.size();
      const groups = await Promise.all([
        kept.append(draft, draft),
        kept.append(note('b'), draft),
        kept.append(draft),
      ]);
      assert.deepEqual(
        seen.map(({ index, group }) => [index, group.map((entry) => entry.index)]),
        [
          [size, []],
          [size + 1, [size]],
          [size + 3, [size + 2]],
          [size + 4, []],
        ],
      );
      assert.deepEqual(
        seen.map(({ row }) => row),
        [
          undefined,
          { count: 1, last: size },
          { count: 2, last: size + 1 },
          { count: 3, last: size + 3 },
        ],
      );
      for (const { index, statement } of groups.flat()) {
        if (statement.case_id === 'a') assert.equal(statement.amount, index);
      }
    }),
  );

  it(
    'shows check what earlier groups of the same round wrote',
    withLog(async (kept) => {
      const once = (who: string): Promise<readonly Appended[]> =>
        kept.log.append([note('taken', { amount: who.length })], {
          check: ({ rows }) => {
            if (rows.get('gate/case/taken') !== undefined) throw new Error(`${who} is late`);
          },
        });
      const results = await Promise.allSettled(['a', 'bb', 'ccc'].map(once));
      assert.deepEqual(
        results.map(({ status }) => status),
        ['fulfilled', 'rejected', 'rejected'],
      );
      assert.match(String((results[1] as PromiseRejectedResult).reason), /bb is late/);
      assert.deepEqual(kept.log.row('gate/case/taken'), {
        count: 1,
        last: kept.log.size() - 1,
      });
    }),
  );

  it(
    'shows check the time and the owners',
    withLog(async (kept) => {
      kept.time.advance(5000);
      let seen: unknown;
      await kept.append({
        type: 'astl.entity.v1',
        tenant_ref: TENANT,
        members: { entity: 'acme', action: 'claim' },
      });
      await kept.log.append([note('a')], {
        check: ({ surfaces, now_ms }) => {
          seen = [surfaces.owner('acme'), now_ms];
        },
      });
      assert.deepEqual(seen, [TENANT, kept.time.wall()]);
    }),
  );

  it(
    'tells a refusal only when what it rests on is durable',
    withLog(async (kept) => {
      const told: string[] = [];
      const first = kept.append(note('a')).then(() => told.push('entry'));
      const second = kept.log
        .append([note('a')], {
          check: ({ rows }) => {
            assert.ok(rows.get('gate/case/a') !== undefined);
            assert.equal(kept.log.row('gate/case/a'), undefined, 'not durable yet');
            throw new Error('there is one');
          },
        })
        .catch(() => {
          assert.ok(kept.log.row('gate/case/a') !== undefined, 'durable when told');
          told.push('refusal');
        });
      await Promise.all([first, second]);
      assert.deepEqual(told.sort(), ['entry', 'refusal']);
    }),
  );

  it(
    'shows no entry, row or size of a round before it is durable',
    withLog(async (kept) => {
      const size = kept.log.size();
      let place = (): void => {};
      const placed = new Promise<void>((resolve) => {
        place = resolve;
      });
      const appended = kept.log.append([note('a')], {
        attach: () => {
          place();
          return [{ key: 'idem/1', value: Buffer.from('x') }];
        },
      });
      await placed;
      assert.equal(kept.log.size(), size);
      assert.equal(kept.log.entry(size), null);
      await appended;
      assert.equal(kept.log.size(), size + 1);
      assert.equal(Buffer.from(kept.log.attached('idem/1')!).toString(), 'x');
    }),
  );
});

describe('sequencer: attached rows', () => {
  it(
    'stand with their entries, written from their places and disclosures',
    withLog(async (kept) => {
      const [entry] = await kept.log.append(
        [{ ...note('a'), private: { message: 'hello there' } }],
        {
          attach: ([{ entry_id } = { entry_id: '' }], [disclosures]) => [
            { key: `idem/${entry_id}`, value: Buffer.from(JSON.stringify(disclosures)) },
          ],
        },
      );
      const row = kept.log.attached(`idem/${entry!.entry_id}`);
      assert.deepEqual(JSON.parse(Buffer.from(row!).toString()), entry!.disclosures);
    }),
  );

  it(
    'are missing with a refused group, and an attach that throws refuses its group',
    withLog(async (kept) => {
      const size = kept.log.size();
      const attach = () => [{ key: 'idem/2', value: Buffer.from('x') }];
      await assert.rejects(kept.log.append([note('a'), refused], { attach }));
      const failing = () => {
        throw new Error('cannot seal');
      };
      const [bad, good] = await Promise.allSettled([
        kept.log.append([note('a')], { attach: failing }),
        kept.log.append([note('a')]),
      ]);
      assert.equal(bad.status, 'rejected');
      assert.equal(good.status, 'fulfilled');
      assert.equal(kept.log.attached('idem/2'), undefined);
      assert.equal(kept.log.size(), size + 1);
      assert.deepEqual(kept.log.row('gate/case/a'), { count: 1, last: size });
    }),
  );

  it(
    'of a group without entries are written too',
    withLog(async (kept) => {
      const size = kept.log.size();
      const attach = () => [{ key: 'idem/4', value: Buffer.from('x') }];
      assert.deepEqual(await kept.log.append([], { attach }), []);
      assert.equal(Buffer.from(kept.log.attached('idem/4')!).toString(), 'x');
      assert.equal(kept.log.size(), size);
    }),
  );

  it(
    'of null delete',
    withLog(async (kept) => {
      await kept.log.putAttached([{ key: 'idem/3', value: Buffer.from('x') }]);
      await kept.log.append([note('a')], { attach: () => [{ key: 'idem/3', value: null }] });
      assert.equal(kept.log.attached('idem/3'), undefined);
    }),
  );
});

describe('sequencer: chains', () => {
  it('writes links that a model of the chains gives, for any history', async () => {
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
    'keeps ids strictly increasing within a millisecond, and times from going back',
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
    'goes on in whatever order rounds overlap with map heads',
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

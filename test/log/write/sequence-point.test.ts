// What drafts and checks see when the sequencer places them, and that no reader sees a round before it is durable.

import assert from 'node:assert/strict';
import type { Appended, Draft, Json, Sequenced } from '../../../log/index.ts';
import { note, TENANT, withLog } from './kept-log.ts';

describe('sequencer: the sequence point', () => {
  it(
    'gives members the index, the group so far and the rows after the previous entry',
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
    'gives check the writes of earlier groups in the same round',
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
    'gives check the time and the owners of entities',
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
    'rejects only after the rows that caused the refusal are durable',
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
          assert.ok(
            kept.log.row('gate/case/a') !== undefined,
            'durable when the append is rejected',
          );
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

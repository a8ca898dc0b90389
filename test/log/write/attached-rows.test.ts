// Rows that are written with the entries of a group, computed from their indexes and disclosures.

import assert from 'node:assert/strict';
import type { Draft } from '../../../log/index.ts';
import { note, TENANT, withLog } from './kept-log.ts';

/** A draft that the sequencer refuses. */
const refused: Draft = { type: 'gate.note.v1', tenant_ref: TENANT, members: { outcome: 'PERMIT' } };

describe('sequencer: attached rows', () => {
  it(
    'are written with their entries, from their indexes and disclosures',
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
    'are not written with a refused group; an attach that throws refuses its group',
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
    'are also written for a group without entries',
    withLog(async (kept) => {
      const size = kept.log.size();
      const attach = () => [{ key: 'idem/4', value: Buffer.from('x') }];
      assert.deepEqual(await kept.log.append([], { attach }), []);
      assert.equal(Buffer.from(kept.log.attached('idem/4')!).toString(), 'x');
      assert.equal(kept.log.size(), size);
    }),
  );

  it(
    'are deleted by a null value',
    withLog(async (kept) => {
      await kept.log.putAttached([{ key: 'idem/3', value: Buffer.from('x') }]);
      await kept.log.append([note('a')], { attach: () => [{ key: 'idem/3', value: null }] });
      assert.equal(kept.log.attached('idem/3'), undefined);
    }),
  );
});

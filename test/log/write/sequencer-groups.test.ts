// Groups of entries: appended together or not at all, in order, and limited in number.

import assert from 'node:assert/strict';
import type { Draft } from '../../../log/index.ts';
import { code, note, TENANT, withLog } from './kept-log.ts';

/** A draft that the sequencer refuses. */
const refused: Draft = { type: 'gate.note.v1', tenant_ref: TENANT, members: { outcome: 'PERMIT' } };

describe('sequencer: groups', () => {
  it(
    'assigns consecutive indexes to the entries of a group, in order',
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
      `appends nothing of a group whose draft ${String(place)} is refused`,
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
    'appends nothing of a refused group between groups of the same round',
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
    'appends nothing for an empty group',
    withLog(async (kept) => {
      const size = kept.log.size();
      assert.deepEqual(await kept.append(), []);
      assert.equal(kept.log.size(), size);
    }),
  );

  it(
    'appends a group that is larger than a round',
    withLog(async (kept) => {
      const entries = await kept.append(...Array.from({ length: 700 }, () => note('long')));
      assert.equal(entries.length, 700);
      assert.equal(entries.at(-1)?.links[0]?.seq, 699);
    }),
  );

  it(
    'refuses groups beyond the limit of waiting ones, and only those',
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

// The publisher: when it publishes, what a checkpoint covers, and that there are no two notes of one size.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { native } from '../../../log/crypto/native.ts';
import type { Cosign, Log, Published } from '../../../log/index.ts';
import { toBase64 } from '../../../log/encoding/bytes.ts';
import { openCheckpoint, parseCheckpoint } from '../../../log/note/checkpoint.ts';
import { checkConsistency } from '../../../log/merkle/check.ts';
import {
  code,
  intervals,
  KeptLog,
  note,
  OTHER_TENANT,
  statementOf,
  TENANT,
  withLog,
} from './kept-log.ts';

/** The next published checkpoint. */
const next = (log: Log): Promise<Published> =>
  new Promise((resolve) => {
    const stop = log.onPublished((published) => {
      stop();
      resolve(published);
    });
  });

const fileOf = async (
  kept: KeptLog,
): Promise<{ note: string; acknowledged: { size: number; root: string } }> =>
  JSON.parse(await readFile(join(kept.folder, 'checkpoints', 'live-1.checkpoint'), 'utf8'));

const sizeOf = (text: string): number =>
  parseCheckpoint(text.slice(0, text.indexOf('\n\n') + 1)).size;

describe('publisher', () => {
  it(
    'publishes a new log with entry 0 and its map head',
    withLog(
      async (kept) => {
        const { size, note: text, map_head_ms, cosignatures } = kept.log.published();
        assert.equal(size, 2);
        assert.equal(kept.log.size(), 2);
        assert.equal(statementOf(kept.log, 1).type, 'log.map_head.v1');
        assert.equal(statementOf(kept.log, 1).issued_at_ms, map_head_ms);
        assert.equal(cosignatures, 0);
        assert.equal(openCheckpoint(native, text, kept.log).size, 2);
      },
      { bare: true },
    ),
  );

  it(
    'publishes new entries at its interval, and nothing if there are none',
    withLog(
      async (kept) => {
        const [entry] = await kept.append(note('a'));
        // No call requests a checkpoint; one in progress when the entry came may not include it.
        while (kept.log.published().size <= entry!.index) await next(kept.log);
        while (kept.log.published().size < kept.log.size()) await next(kept.log);
        const still = kept.log.size();
        await intervals(5, 5);
        // Ends with the checkpoint in progress, if there were one.
        await kept.restart();
        assert.equal(kept.log.size(), still);
      },
      { checkpoint_interval_ms: 5 },
    ),
  );

  it(
    'publishes on request, long before its interval',
    withLog(async (kept) => {
      const [entry] = await kept.append(note('a'));
      const { size, root } = await kept.log.whenPublished(entry!.index + 1);
      assert.equal(size, entry!.index + 2);
      assert.deepEqual(Buffer.from(kept.check().root()), Buffer.from(root));
      assert.equal(await kept.log.whenPublished(entry!.index + 1), kept.log.published());
    }),
  );

  it(
    'appends a new map head if a caller waits for one entry more than there is',
    withLog(async (kept) => {
      await kept.publish();
      for (let i = 0; i < 5; i += 1) {
        const size = kept.log.size();
        const [a, b] = await Promise.all([
          kept.log.whenPublished(size + 1),
          kept.log.whenPublished(size + 1),
        ]);
        assert.equal(a, b);
        assert.equal(a.size, size + 1);
      }
    }),
  );

  it(
    'serves a request that arrives while a checkpoint is in progress',
    withLog(async (kept) => {
      for (let i = 0; i < 20; i += 1) {
        await kept.append(note('a'));
        const first = kept.log.whenPublished(kept.log.size());
        const seen = kept.log.size();
        // The map head is durable, but its checkpoint is not published yet.
        while (kept.log.size() === seen) await new Promise(setImmediate);
        assert.ok(kept.log.published().size < kept.log.size());
        await kept.log.whenPublished(kept.log.size() + 1);
        await first;
      }
    }),
  );

  it(
    'serves others while one caller waits for an entry that does not exist',
    withLog(async (kept) => {
      const far = new AbortController();
      const never = kept.log.whenPublished(1_000_000, far.signal);
      const [entry] = await kept.append(note('a'));
      await kept.log.whenPublished(entry!.index + 1);
      far.abort();
      await assert.rejects(never, code('log_unavailable'));
    }),
  );

  it(
    'publishes an idle log repeatedly, each time with a new map head',
    withLog(
      async (kept) => {
        // From here on there are only idle checkpoints, with one entry each.
        let size = await kept.publish();
        for (let i = 0; i < 3; i += 1) {
          if (kept.log.published().size === size) await next(kept.log);
          size += 1;
          assert.equal(statementOf(kept.log, size - 1).type, 'log.map_head.v1');
          assert.notEqual(kept.log.checkpointAt(size), null);
        }
      },
      { checkpoint_interval_ms: 5, idle_ms: 20 },
    ),
  );

  it(
    'counts the idle time from the last map head, also across a restart',
    withLog(async (kept) => {
      const size = await kept.publish();
      kept.time.advance(600_000);
      const log = await kept.restart({ checkpoint_interval_ms: 5 });
      while (log.published().size === size) await next(log);
      assert.equal(log.size(), size + 1);
      assert.equal(statementOf(log, size).type, 'log.map_head.v1');
    }),
  );

  it(
    'ends each checkpoint with the map head whose time it has, under load',
    withLog(
      async (kept) => {
        const seen: Published[] = [];
        const stop = kept.log.onPublished((published) => seen.push(published));
        const all: Promise<unknown>[] = [];
        while (seen.length < 12) {
          kept.time.advance(3);
          for (let n = 0; n < 10; n += 1) all.push(kept.append(note(String(n))));
          await new Promise(setImmediate);
          if (all.length % 50 === 0) await Promise.all(all);
        }
        stop();
        await Promise.all(all);
        for (const [i, { size, root, note: text, map_head_ms }] of seen.entries()) {
          const head = statementOf(kept.log, size - 1);
          assert.equal(head.type, 'log.map_head.v1');
          assert.equal(head.issued_at_ms, map_head_ms);
          assert.equal(kept.log.checkpointAt(size), text);
          const before = seen[i - 1];
          if (before === undefined) continue;
          assert.ok(before.size < size);
          assert.ok(before.map_head_ms < map_head_ms);
          checkConsistency(native, {
            from: before.size,
            to: size,
            fromRoot: before.root,
            toRoot: root,
            path: [...kept.log.consistency(before.size, size)],
          });
        }
      },
      { checkpoint_interval_ms: 5 },
    ),
  );

  it(
    'stops waiting when the signal of the caller is aborted, before or during the wait',
    withLog(async (kept) => {
      const gone = AbortSignal.abort();
      await assert.rejects(kept.log.whenPublished(1000, gone), code('log_unavailable'));
      const [entry] = await kept.append(note('a'));
      const leaving = new AbortController();
      const waits = kept.log.whenPublished(entry!.index + 1, leaving.signal);
      leaving.abort();
      await assert.rejects(waits, code('log_unavailable'));
      await once(AbortSignal.timeout(1), 'abort');
      await kept.log.whenPublished(entry!.index + 1);
    }),
  );

  it(
    'writes each note to the checkpoint file before it publishes it',
    withLog(async (kept) => {
      for (let i = 0; i < 3; i += 1) {
        await kept.append(note('a'));
        const published = await kept.log.whenPublished(kept.log.size());
        const { note: text, acknowledged } = await fileOf(kept);
        assert.equal(text, published.note);
        assert.deepEqual(acknowledged, { size: published.size, root: toBase64(published.root) });
      }
    }),
  );

  it(
    'calls no listener after its removal',
    withLog(async (kept) => {
      let calls = 0;
      const stop = kept.log.onPublished(() => (calls += 1));
      await kept.log.whenPublished(kept.log.size() + 1);
      stop();
      await kept.log.whenPublished(kept.log.size() + 1);
      assert.equal(calls, 1);
    }),
  );
});

describe('publisher: witnesses', () => {
  it(
    'are offered the same size again while no entry follows, and it is published once they cosign',
    withLog(
      async (kept) => {
        const size = kept.log.size();
        assert.equal(kept.log.published().size, 0, 'no quorum yet');
        assert.deepEqual([...new Set(offers.map((offer) => offer.size))], [size]);
        agreed = true;
        const { note: text } = await kept.log.whenPublished(size);
        assert.equal(text, offers[0]!.note);
        assert.equal(sizeOf(text), size);
      },
      {
        bare: true,
        checkpoint_interval_ms: 5,
        cosign: (offer) => {
          offers.push(offer);
          return Promise.resolve(agreed ? { note: offer.note, cosignatures: 0 } : null);
        },
      },
    ),
  );

  it('have the signed note in the checkpoint file after a start, though it was never published', async () => {
    const signed: string[] = [];
    const cosign: Cosign = ({ note: text }) => {
      signed.push(text);
      return Promise.resolve(signed.length === 1 ? { note: text, cosignatures: 0 } : null);
    };
    const kept = await KeptLog.open({ bare: true, cosign });
    await kept.log.registerTenant(TENANT, '0'.repeat(64));
    const asked = kept.log.whenPublished(kept.log.size());
    asked.catch(() => undefined);
    while (signed.length < 2) await new Promise(setImmediate);
    const image = await kept.image();
    await kept.end();
    await assert.rejects(asked, code('log_unavailable'));

    const again = await KeptLog.open({ bare: true, cosign }, image);
    assert.equal(again.log.published().size, 2, 'the witnesses have not cosigned yet');
    await again.log.registerTenant(OTHER_TENANT, '0'.repeat(64));
    const size = again.log.size();
    // The file is written again for the acknowledged size, long before any interval ends.
    while ((await fileOf(again)).acknowledged.size < size) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.equal((await fileOf(again)).note, signed[1]);
    await again.end();
  });

  it('may add cosignatures after the note is published', async () => {
    const coming: ((joined: boolean) => void)[] = [];
    const cosign: Cosign = ({ note: text }) =>
      Promise.resolve({
        note: text,
        cosignatures: 0,
        later: () =>
          new Promise((resolve) => {
            coming.push((joined) => {
              resolve(joined ? { note: `${text}— late AAAAAAAAAAAA\n`, cosignatures: 0 } : null);
            });
          }),
      });
    const kept = await KeptLog.open({ bare: true, cosign });
    const first = kept.log.published();
    await kept.log.registerTenant(TENANT, '0'.repeat(64));
    const second = await kept.log.whenPublished(kept.log.size());
    assert.equal(kept.log.published(), second);
    // A cosignature of the older note is added to it, and nothing else changes.
    coming[0]?.(true);
    while (kept.log.checkpointAt(first.size) === first.note) await new Promise(setImmediate);
    assert.equal(kept.log.checkpointAt(first.size), `${first.note}— late AAAAAAAAAAAA\n`);
    assert.equal(kept.log.published(), second);
    coming[1]?.(true);
    while (kept.log.published() === second) await new Promise(setImmediate);
    assert.deepEqual(kept.log.published(), {
      ...second,
      note: `${second.note}— late AAAAAAAAAAAA\n`,
    });
    // The later promise may also resolve to null, or after the end.
    await kept.log.registerTenant(OTHER_TENANT, '0'.repeat(64));
    const third = await kept.log.whenPublished(kept.log.size());
    coming[2]?.(false);
    await new Promise(setImmediate);
    assert.equal(kept.log.published(), third);
    await kept.end();
  });

  const offers: { note: string; size: number }[] = [];
  let agreed = false;
});

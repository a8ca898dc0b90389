// Starts that a log accepts and refuses: entry 0, origins, predecessors, and databases behind their checkpoint file.

import assert from 'node:assert/strict';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FORMAT, openLog, openThreads, toHex } from '../../../log/index.ts';
import type { JsonObject, Predecessor } from '../../../log/index.ts';
import { code, KeptLog, note, statementOf, withLog } from './kept-log.ts';

const file = async (kept: KeptLog): Promise<JsonObject> =>
  JSON.parse(await readFile(kept.checkpointFile, 'utf8')) as JsonObject;

/** Changes the checkpoint file of a stopped log, and returns the error of its start. */
async function refusedStart(
  kept: KeptLog,
  change: (file: JsonObject) => JsonObject | null,
): Promise<unknown> {
  await kept.stop();
  const text = await readFile(kept.checkpointFile, 'utf8');
  const changed = change(JSON.parse(text) as JsonObject);
  if (changed === null) await rm(kept.checkpointFile);
  else await writeFile(kept.checkpointFile, JSON.stringify(changed));
  let found: unknown = null;
  await assert.rejects(kept.start(), (error) => {
    found = error;
    return true;
  });
  await writeFile(kept.checkpointFile, text);
  await kept.start();
  return found;
}

describe('engine: a new log', () => {
  it(
    'begins with log.open.v1 and its constants',
    withLog(
      async (kept) => {
        const { jwk, kid } = kept.log.receiptKeys()[0]!;
        const opened = statementOf(kept.log, 0);
        assert.deepEqual(
          { type: opened.type, jwk: opened.jwk, kid: opened.kid, predecessor: opened.predecessor },
          { type: 'log.open.v1', jwk, kid, predecessor: null },
        );
        for (const [name, value] of Object.entries(FORMAT)) assert.equal(opened[name], value);
        assert.equal(kept.log.origin, 'log.example/log/live/1');
        assert.ok(kept.log.vkey.startsWith('log.example/log/live/1+'));
      },
      { bare: true },
    ),
  );

  it(
    'writes private keys that only the owner can read',
    withLog(async (kept) => {
      await kept.log.operator.rotateKey();
      const keys = join(kept.folder, 'keys');
      const names = await readdir(keys);
      assert.equal(names.length, 3);
      for (const name of names) assert.equal((await stat(join(keys, name))).mode & 0o077, 0);
    }),
  );

  it(
    'can encrypt its keys with a passphrase, and opens with no other',
    withLog(
      async (kept) => {
        await kept.append(note('a'));
        await kept.stop();
        await assert.rejects(kept.start({ passphrase: 'wrong' }), code('key_invalid'));
        await kept.start();
        await kept.append(note('a'));
      },
      { passphrase: 'right' },
    ),
  );

  it('of number 2 names the last checkpoint of its predecessor, in hex', async () => {
    const first = await KeptLog.open({ bare: true });
    const { size, root } = await first.log.operator.closeForGood('log.example/log/live/2');
    const predecessor = { origin: first.log.origin, size, root: toHex(root) };
    await first.end();
    const second = await KeptLog.open({ bare: true, number: 2, predecessor });
    assert.deepEqual(statementOf(second.log, 0).predecessor, predecessor);
    assert.equal(second.log.origin, 'log.example/log/live/2');
    await second.end();
  });

  it('requires a predecessor if and only if its number is above 1, and it must be the log before', async () => {
    const of = (origin: string): Predecessor => ({ origin, size: 2, root: '0'.repeat(64) });
    const cases: readonly (readonly [number, Predecessor | undefined])[] = [
      [2, undefined],
      [1, of('log.example/log/live/1')],
      [3, of('log.example/log/live/1')],
      [2, of('log.example/log/sandbox/1')],
      [2, { ...of('log.example/log/live/1'), root: 'AAAA' }],
    ];
    for (const [number, predecessor] of cases) {
      await assert.rejects(
        KeptLog.open({
          bare: true,
          number,
          ...(predecessor === undefined ? {} : { predecessor }),
        }),
        code('entry_invalid'),
      );
    }
  });
});

describe('engine: a start', () => {
  it(
    'keeps the origin at any address, and refuses a different fixed origin',
    withLog(async (kept) => {
      await kept.restart({ origin_base: 'new.example' });
      assert.equal(kept.log.origin, 'log.example/log/live/1');
      await kept.append(note('a'));
      await kept.stop();
      await assert.rejects(
        kept.start({ origin_base: 'new.example', origin_fixed: true }),
        code('entry_invalid'),
      );
      await kept.start({ origin_base: 'log.example', origin_fixed: true });
    }),
  );

  it(
    'changes nothing: the checkpoint, size and keys are the same',
    withLog(async (kept) => {
      await kept.append(note('a'));
      await kept.publish();
      const keys = kept.log.receiptKeys();
      const { size, note: text } = kept.log.published();
      for (let again = 0; again < 3; again += 1) {
        await kept.restart();
        assert.equal(kept.log.published().note, text);
        assert.equal(kept.log.size(), size);
        assert.deepEqual(kept.log.receiptKeys(), keys);
        assert.ok(kept.log.vkey.length > 0);
      }
    }),
  );

  it(
    'continues within the millisecond of the last entry',
    withLog(async (kept) => {
      await kept.append(note('a'), note('b'));
      await kept.restart();
      const [next] = await kept.append(note('c'));
      assert.equal(next!.links[0]?.seq, 0);
    }),
  );

  it(
    'uses different keys for two logs in one process',
    withLog(async (kept) => {
      const threads = openThreads({ inline: true });
      const sandbox = await openLog({
        data: kept.folder,
        checkpoints: join(kept.folder, 'checkpoints'),
        kind: 'sandbox',
        origin_base: 'log.example',
        threads,
      });
      try {
        assert.notEqual(sandbox.vkey.split('+')[2], kept.log.vkey.split('+')[2]);
        assert.notEqual(sandbox.receiptKeys()[0]!.kid, kept.log.receiptKeys()[0]!.kid);
      } finally {
        await sandbox.close();
        await threads.close();
      }
    }),
  );

  it(
    'is read-only without the checkpoint key or the receipt key in force',
    withLog(async (kept) => {
      const keys = join(kept.folder, 'keys');
      await kept.stop();
      for (const name of await readdir(keys)) {
        const path = join(keys, name);
        const pem = await readFile(path);
        await rm(path);
        await kept.start();
        const { lost_key, writable } = kept.log.health();
        assert.equal(lost_key, name.includes('checkpoint') ? 'checkpoint' : 'receipt');
        assert.equal(writable, false);
        await kept.stop();
        await writeFile(path, pem, { mode: 0o600 });
      }
      await kept.start();
    }),
  );
});

describe('engine: a database behind its checkpoint file', () => {
  const behind = code('log_rolled_back');

  it(
    'is refused if the file has a larger size, another root or another origin, or is missing',
    withLog(async (kept) => {
      await kept.append(note('a'));
      await kept.publish();
      const acknowledged = (await file(kept)).acknowledged as JsonObject;
      const size = acknowledged.size as number;
      const changes: readonly ((text: JsonObject) => JsonObject | null)[] = [
        (text) => ({ ...text, acknowledged: { ...acknowledged, size: size + 1 } }),
        (text) => ({ ...text, acknowledged: { ...acknowledged, root: 'A'.repeat(43) + '=' } }),
        (text) => ({ ...text, origin: 'log.example/log/live/7' }),
        () => null,
      ];
      for (const change of changes) {
        const error = await refusedStart(kept, change);
        behind(error);
        assert.match(String(error), /actlog restore/);
      }
      await kept.append(note('a'));
    }),
  );

  it(
    'is refused if it is an older copy',
    withLog(async (kept) => {
      await kept.append(note('a'));
      const old = await kept.image();
      await kept.append(note('b'));
      await kept.publish();
      const newest = await readFile(kept.checkpointFile, 'utf8');
      await writeFile(join(old.folder, 'checkpoints', 'live-1.checkpoint'), newest);
      await assert.rejects(KeptLog.open({}, old), behind);
    }),
  );

  it(
    'is refused if it is missing',
    withLog(async (kept) => {
      await kept.append(note('a'));
      const image = await kept.image();
      await rm(join(image.folder, 'live'), { recursive: true });
      await assert.rejects(KeptLog.open({}, image), code('data_not_adopted'));
    }),
  );

  it(
    'is detected for an acknowledged entry before any checkpoint',
    withLog(async (kept) => {
      const old = await kept.image();
      await kept.append(note('a'));
      // The file has the size within a second.
      const size = kept.log.size();
      while (((await file(kept)).acknowledged as { size: number }).size < size) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      assert.ok(kept.log.published().size < size);
      const newest = await readFile(kept.checkpointFile, 'utf8');
      await writeFile(join(old.folder, 'checkpoints', 'live-1.checkpoint'), newest);
      await assert.rejects(KeptLog.open({}, old), behind);
    }),
  );

  it(
    'is reported as store_corrupt if the file is not a checkpoint file',
    withLog(async (kept) => {
      code('store_corrupt')(await refusedStart(kept, () => ({ size: 1 })));
    }),
  );
});

// The log as a whole: closing, waiting, calls after close, backup and attached rows.

import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LogError, tenantKeyHash, toHex } from '../../log/index.ts';
import type { Appended } from '../../log/index.ts';
import { code, KeptLog, note, withLog } from './write/kept-log.ts';

describe('log: close', () => {
  it(
    'appends and publishes what was passed in before',
    withLog(async (kept) => {
      const handed = Array.from({ length: 300 }, (_, i) => kept.append(note(String(i % 9))));
      const closed = kept.stop();
      const entries = (await Promise.all(handed)).flat();
      await closed;
      await kept.start();
      assert.equal(kept.log.published().size, kept.log.size());
      for (const { index, text } of entries) assert.equal(kept.log.entry(index), text);
    }),
  );

  it(
    'refuses later calls, and rejects every pending wait',
    withLog(async (kept) => {
      const never = kept.log.whenPublished(1_000_000);
      never.catch(() => undefined);
      const { log } = kept;
      await Promise.all([kept.stop(), log.close()]);
      await assert.rejects(never, code('log_unavailable'));
      await assert.rejects(log.append([note('a')]), code('log_unavailable'));
      await assert.rejects(log.whenPublished(1_000_000), code('log_unavailable'));
      await assert.rejects(log.putAttached([{ key: 'x', value: null }]), LogError);
      await log.close();
      await kept.start();
    }),
  );

  it(
    'resolves a wait for an entry that is already appended',
    withLog(async (kept) => {
      const [entry] = await kept.append(note('a'));
      const waits = kept.log.whenPublished(entry!.index + 1);
      await kept.stop();
      assert.ok((await waits).size > entry!.index);
      await kept.start();
    }),
  );

  it(
    'keeps the entries of a log with an untrusted clock for the next checkpoint',
    withLog(async (kept) => {
      const [entry] = await kept.append(note('a'));
      kept.time.jump(kept.time.wall() + 3_600_000);
      await kept.restart();
      assert.ok(kept.log.published().size <= entry!.index);
      assert.equal(kept.log.entry(entry!.index), entry!.text);
      await kept.publish();
      assert.ok(kept.log.published().size > entry!.index);
    }),
  );
});

describe('log: backup', () => {
  it(
    'is consistent under load, and has the same entries and roots',
    withLog(async (kept) => {
      const under: Promise<readonly Appended[]>[] = [];
      const target = await mkdtemp(join(tmpdir(), 'actlog-backup-'));
      try {
        const file = await readFile(kept.checkpointFile);
        for (let i = 0; i < 200; i += 1) under.push(kept.append(note(String(i % 11))));
        const copying = kept.log.operator.backup(join(target, 'live', '1'));
        for (let i = 0; i < 200; i += 1) under.push(kept.append(note(String(i % 13))));
        const { size } = await copying;
        await Promise.all(under);
        assert.ok(size > 0 && size <= kept.log.size());
        assert.deepEqual(
          await readFile(kept.checkpointFile),
          file,
          'a backup does not advance the checkpoint file',
        );
        await cp(join(kept.folder, 'keys'), join(target, 'keys'), { recursive: true });
        await mkdir(join(target, 'checkpoints'));
        await writeFile(join(target, 'checkpoints', 'live-1.checkpoint'), file);
        const image = { folder: target, notes: new Map(kept.notes), now_ms: kept.time.wall() };
        const copy = await KeptLog.open({}, image);
        assert.equal(copy.log.size(), size);
        assert.equal(toHex(copy.log.rootAt(size)), toHex(kept.log.rootAt(size)));
        for (let index = 0; index < size; index += 1) {
          assert.equal(copy.log.entry(index), kept.log.entry(index));
        }
        assert.equal(copy.log.published().note, kept.log.published().note);
        await copy.end();
      } finally {
        await rm(target, { recursive: true, force: true });
      }
    }),
  );

  it(
    'requires a new folder, and contains neither keys nor checkpoint file',
    withLog(async (kept) => {
      const { folder } = await kept.image();
      try {
        await assert.rejects(
          kept.log.operator.backup(join(folder, 'live', '1')),
          code('out_of_range'),
        );
        await rm(join(folder, 'keys'), { recursive: true });
        await rm(join(folder, 'checkpoints'), { recursive: true });
        const image = { folder, notes: new Map<number, string>(), now_ms: kept.time.wall() };
        await assert.rejects(KeptLog.open({}, image), code('data_not_adopted'));
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    }),
  );
});

describe('log: attached rows', () => {
  it(
    'survive a restart, and change no entry',
    withLog(async (kept) => {
      const size = kept.log.size();
      await kept.log.putAttached([
        { key: 'k/1', value: Uint8Array.of(1, 0, 255) },
        { key: 'k/2', value: new Uint8Array(0) },
      ]);
      assert.equal(kept.log.size(), size);
      await kept.restart();
      assert.deepEqual([...kept.log.attached('k/1')!], [1, 0, 255]);
      assert.deepEqual([...kept.log.attached('k/2')!], []);
      assert.equal(kept.log.attached('k/3'), undefined);
    }),
  );
});

describe('log: tenants', () => {
  it('names a tenant key by the SHA-256 in hex', () => {
    assert.equal(
      tenantKeyHash(Buffer.from('abc')),
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
  });
});

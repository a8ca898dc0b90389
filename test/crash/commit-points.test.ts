// A process killed at each named commit point (log/write/sequencer.ts, log/write/publisher.ts): acknowledged entries
// are unchanged, no size has two roots, the log continues, and fsck finds no difference.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { native } from '../../log/crypto/native.ts';
import { fsck } from '../../log/operate/fsck/fsck.ts';
import { openLog, openThreads } from '../../log/index.ts';
import { FileRegister } from '../../log/store/register.ts';
import { verifyCheckpoint, verifyConsistency } from '../../log/verify.ts';
import { toBase64 } from '../../log/encoding/bytes.ts';
import { note, NOTE, TENANT } from '../log/write/kept-log.ts';
import { childArgs } from '../support/child.ts';

const child = new URL('point-child.ts', import.meta.url);

/** Each point, and at which of its occurrences the process dies. */
const POINTS: readonly (readonly [string, readonly number[]])[] = [
  ['before-first-batch', [1]],
  ['after-first-batch', [1]],
  ['before-round', [1, 3, 40]],
  ['after-round', [1, 3, 40]],
  ['before-map-head', [1, 2, 5]],
  ['after-map-head', [1, 2, 5]],
  ['witness', [1, 4]],
  ['before-note', [1, 4]],
  ['after-note', [1, 4]],
  ['before-close', [1]],
  ['after-close', [1]],
];

interface Said {
  readonly entries: ReadonlyMap<number, string>;
  readonly notes: readonly string[];
}

/** Runs the process until it dies at the point, and returns what it had acknowledged. */
async function runUntil(folder: string, point: string, nth: number): Promise<Said> {
  const dying = spawn(process.execPath, [
    ...(await childArgs(child)),
    ...[folder, point, String(nth)],
  ]);
  const [output, errors, [, signal]] = await Promise.all([
    text(dying.stdout),
    text(dying.stderr),
    once(dying, 'exit') as Promise<[number | null, NodeJS.Signals | null]>,
  ]);
  assert.equal(signal, 'SIGKILL', `it did not reach ${point}: ${errors}`);
  const entries = new Map<number, string>();
  const notes: string[] = [];
  for (const line of output.split('\n').slice(0, -1)) {
    const said = JSON.parse(line) as { index?: number; text?: string; note?: string };
    if (said.note !== undefined) notes.push(said.note);
    else if (said.index !== undefined) entries.set(said.index, said.text ?? '');
  }
  return { entries, notes };
}

/** Opens the log after the crash, compares it with what was acknowledged, and appends. */
async function goOn(folder: string, said: Said): Promise<void> {
  const threads = openThreads({ inline: true });
  const log = await openLog({
    data: folder,
    checkpoints: join(folder, 'checkpoints'),
    kind: 'live',
    origin_base: 'log.example',
    types: [NOTE],
    threads,
  });
  const { origin, vkey } = log;
  const trust = { origin, vkey, keys: [] };
  try {
    for (const [index, entry] of said.entries) {
      assert.equal(log.entry(index), entry, `entry ${String(index)}`);
    }
    await log.declare([NOTE]);
    await log.registerTenant(TENANT, '0'.repeat(64));
    const [last] = await log.append([note('after')]);
    const published = await log.whenPublished(last!.index + 1);
    for (const seen of said.notes) {
      const { size, root } = verifyCheckpoint(seen, trust, { suite: native });
      assert.equal(log.checkpointAt(size), seen, `the note of size ${String(size)}`);
      const path = log.consistency(size, published.size).map((hash) => toBase64(hash));
      const { from } = verifyConsistency(seen, published.note, path, trust, { suite: native });
      assert.deepEqual(from.root, root);
    }
  } finally {
    await log.close();
    await threads.close();
  }
  const result = await fsck({
    folder: join(folder, 'live', '1'),
    outside: { register: new FileRegister(join(folder, 'checkpoints')), name: 'live-1' },
    vkey,
    types: [NOTE],
  });
  assert.deepEqual(result.differences, []);
  assert.deepEqual(result.unchecked, []);
}

describe('a process killed at a commit point', function () {
  this.timeout(240_000);
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-point-'));
  });

  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  for (const [point, times] of POINTS) {
    it(`${point}: nothing acknowledged is lost, and the log continues`, async () => {
      // All crashes happen on the same folder, one after the other.
      const said = { entries: new Map<number, string>(), notes: [] as string[] };
      for (const nth of times) {
        const { entries, notes } = await runUntil(folder, point, nth);
        for (const [index, entry] of entries) said.entries.set(index, entry);
        said.notes.push(...notes);
      }
      await goOn(folder, said);
    });
  }

  it('ignores an unfinished checkpoint file', async () => {
    const said = await runUntil(folder, 'before-note', 3);
    await writeFile(join(folder, 'checkpoints', 'live-1.checkpoint.new'), '{"origin":"log.ex');
    await goOn(folder, said);
  });
});

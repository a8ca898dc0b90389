// Flipped bits on disk are detected and reported, and no wrong data is served. gateway/API.md §13. Each file of a
// database is damaged at many positions, one at a time, and the answers are compared with the undamaged content.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { blocksOf } from '../../log/store/tables.ts';
import { KeptLog, note } from '../log/write/kept-log.ts';
import { childArgs } from '../support/child.ts';
import { copyUnnoticed } from '../support/copy-unnoticed.ts';
import { intoTables } from '../support/into-tables.ts';
import type { Found, Good, Told } from './damage-reader.ts';

/** Positions in each file; the last ones of a table are in its index and footer. */
const PLACES = 24;

const program = new URL('damage-reader.ts', import.meta.url);
const db = (data: string): string => join(data, 'live', '1', 'db');

/** A stopped log with two full tiles, all of it in tables or all of it in the write-ahead log. */
async function good(compacted: boolean): Promise<Good & { readonly data: string }> {
  const kept = await KeptLog.open();
  for (let i = 0; i < 30; i += 1) {
    await kept.append(
      ...Array.from({ length: 20 }, (_, n) => note(`case-${String((i * n) % 37)}`)),
    );
  }
  await kept.publish();
  const entries = Array.from({ length: kept.log.size() }, (_, i) => kept.log.entry(i) ?? '');
  const notes = [...kept.notes];
  await kept.stop();
  if (compacted) await intoTables(db(kept.folder));
  return { data: kept.folder, entries, notes, now_ms: kept.time.wall() };
}

/** Readers in child processes: LevelDB aborts a process that reads a block with impossible lengths. */
class Readers {
  readonly #goodFile: string;
  #child: ChildProcess | undefined;
  #said = '';

  constructor(goodFile: string) {
    this.#goodFile = goodFile;
  }

  /** The report of a reader about a data folder, or null if LevelDB aborted it. */
  async read(data: string): Promise<Told | null> {
    const child = this.#child ?? (await this.#start());
    const told = once(child, 'message').then(([one]) => one as Told);
    const ended = once(child, 'close').then(([, signal]) => ({ signal: signal as string | null }));
    child.send(data);
    const first = await Promise.race([told, ended]);
    if (!('signal' in first)) return first;
    this.#child = undefined;
    assert.equal(first.signal, 'SIGABRT', this.#said);
    assert.match(this.#said, /leveldb.*Assertion/);
    return null;
  }

  async #start(): Promise<ChildProcess> {
    this.#said = '';
    const args = ['--no-warnings', ...(await childArgs(program)), this.#goodFile];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'pipe', 'ipc'] });
    child.stderr?.on('data', (text: Buffer) => (this.#said += text.toString()));
    this.#child = child;
    return child;
  }

  async end(): Promise<void> {
    if (this.#child === undefined) return;
    const gone = once(this.#child, 'exit');
    this.#child.disconnect();
    await gone;
  }
}

for (const compacted of [true, false]) {
  const what = compacted ? 'tables' : 'the write-ahead log';
  describe(`a damaged block in ${what}`, function () {
    this.timeout(240_000);
    let folder: string;
    let log: Awaited<ReturnType<typeof good>>;
    let readers: Readers;

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'actlog-damaged-'));
      log = await good(compacted);
      const file = join(folder, 'good.json');
      await writeFile(file, JSON.stringify(log));
      readers = new Readers(file);
    });

    after(async () => {
      await readers.end();
      await rm(log.data, { recursive: true, force: true });
      await rm(folder, { recursive: true, force: true });
    });

    const filesOf = async (): Promise<string[]> => {
      const ending = compacted ? '.ldb' : '.log';
      const names = (await readdir(db(log.data))).filter((name) => name.endsWith(ending));
      assert.ok(names.length > 0, 'there is a file to damage');
      return names;
    };

    /** Changes a file in a copy of the data, and has it read until a reader reports the damage. */
    async function damaged(name: string, bend: (bytes: Buffer) => void): Promise<Found | 'ended'> {
      const data = join(folder, 'data');
      await rm(data, { recursive: true, force: true });
      await copyUnnoticed(log.data, data);
      const bytes = await readFile(join(db(data), name));
      bend(bytes);
      await writeFile(join(db(data), name), bytes);
      const told = await readers.read(data);
      if (told !== null) {
        assert.ok('found' in told, 'wrong' in told ? told.wrong : '');
        return told.found;
      }
      const next = await readers.read(data);
      assert.ok(next !== null && 'found' in next, 'the next start reports the damage');
      assert.equal(next.found, 'refused to open');
      assert.match(next.message ?? '', new RegExp(`${name} .*damaged block at byte [0-9]+`));
      return 'ended';
    }

    it('is reported or harmless at any position', async () => {
      const tally = new Map<string, number>();
      for (const name of await filesOf()) {
        const { length } = await readFile(join(db(log.data), name));
        for (let place = 0; place < PLACES && length > 0; place += 1) {
          const at = Math.floor((length * (place + 0.5)) / PLACES);
          const found = await damaged(name, (bytes) => (bytes[at]! ^= 0x10)).catch(
            (error: unknown) => {
              const where = `${name} at byte ${String(at)} of ${String(length)}`;
              throw new Error(`${where}: ${String(error)}`, { cause: error });
            },
          );
          tally.set(found, (tally.get(found) ?? 0) + 1);
        }
      }
      // Most positions are in use, so most of the damage must be detected.
      const places = [...tally.values()].reduce((sum, count) => sum + count, 0);
      assert.ok((tally.get('nothing was lost') ?? 0) < places / 2, JSON.stringify([...tally]));
    });

    if (!compacted) return;
    it('that aborts the process is reported by the next start', async () => {
      const [name = ''] = await filesOf();
      const shorten = (bytes: Buffer): void => {
        // The second byte of a block is the length of its first key, to which LevelDB adds eight bytes.
        for (const { offset } of blocksOf(bytes)) bytes[offset + 1] = 1;
      };
      assert.equal(await damaged(name, shorten), 'ended');
    });
  });
}

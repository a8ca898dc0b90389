// The data folder of an older build, commit d08cf9c, as test/data/folder-d08cf9c.tar.gz holds it: two tenants in the
// live log, one in the sandbox log, and entries of every type that a request or a command of that build appended. The
// build ran at a fixed clock with seeded randomness; the JSON file beside the archive has its API keys and the ids of
// what was made.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { LOG_KINDS } from '../../log/index.ts';
import { reindex } from '../../log/operate.ts';
import { broughtTypes } from '../../tools/brought-types.ts';
import { Clock, run } from '../gateway/running.ts';
import type { Running } from '../gateway/running.ts';

const ARCHIVE = join(import.meta.dirname, '..', 'data', 'folder-d08cf9c');

/** What is known of the folder. */
interface Facts {
  /** Time at which the older build stopped. */
  readonly now_ms: number;
  readonly keys: Readonly<Record<'live' | 'second' | 'sandbox', string>>;
  /** Of tenant `first` in the live log. */
  readonly ids: Readonly<
    Record<
      | 'session_id'
      | 'entity'
      | 'entry_id'
      | 'mandate_id'
      | 'trigger_id'
      | 'permit_id'
      | 'released_hold_id'
      | 'hold_id'
      | 'aggregate_entry_id'
      | 'twin'
      | 'slug'
      | 'partner'
      | 'subscription'
      | 'manifest'
      | 'subject_key',
      string
    >
  >;
  readonly sizes: Readonly<Record<'live' | 'sandbox', number>>;
}

/** Its facts. */
export const olderFacts = async (): Promise<Facts> =>
  JSON.parse(await readFile(`${ARCHIVE}.json`, 'utf8')) as Facts;

/** Unpacks the folder into a temporary one, which the caller removes. */
export async function olderFolder(): Promise<string> {
  const data = await mkdtemp(join(tmpdir(), 'actlog-older-'));
  await promisify(execFile)('tar', ['-xzf', `${ARCHIVE}.tar.gz`, '-C', data]);
  return data;
}

/** Rebuilds the rows of plugins in both logs, as CHANGELOG.md asks of whoever has a folder of that build. */
export async function reindexed(data: string): Promise<void> {
  const types = await broughtTypes({ PLUGINS: [] });
  for (const kind of LOG_KINDS) await reindex({ folder: join(data, kind, '1'), types });
}

/** A clock that begins at a time, and from there runs as time does. */
class ClockFrom extends Clock {
  constructor(now_ms: number) {
    super();
    this.jump(now_ms - Date.now());
  }
}

/** Opens such a folder with this build, a minute after the older one stopped. */
export async function runOlder(data: string): Promise<Running> {
  const { now_ms } = await olderFacts();
  return run({ DATA_DIR: data }, { clock: new ClockFrom(now_ms + 60_000) });
}

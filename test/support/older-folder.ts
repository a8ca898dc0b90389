// The data folder of an earlier build, commit d08cf9c, in test/data/folder-d08cf9c.tar.gz: two tenants in the live
// log, one in the sandbox log, and entries of every type that this build could append. It ran with a fixed clock and
// seeded randomness; the JSON file next to the archive has its API keys and the ids that it created.

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

/** The facts about the folder. */
interface Facts {
  /** The time at which the earlier build stopped. */
  readonly now_ms: number;
  readonly keys: Readonly<Record<'live' | 'second' | 'sandbox', string>>;
  /** For tenant `first` in the live log. */
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

/** The facts from the JSON file. */
export const olderFacts = async (): Promise<Facts> =>
  JSON.parse(await readFile(`${ARCHIVE}.json`, 'utf8')) as Facts;

/** Unpacks the folder into a temporary one, which the caller must remove. */
export async function olderFolder(): Promise<string> {
  const data = await mkdtemp(join(tmpdir(), 'actlog-older-'));
  await promisify(execFile)('tar', ['-xzf', `${ARCHIVE}.tar.gz`, '-C', data]);
  return data;
}

/** Rebuilds the rows of plugins in both logs, as CHANGELOG.md demands for a folder of that build. */
export async function reindexed(data: string): Promise<void> {
  const types = await broughtTypes({ PLUGINS: [] });
  for (const kind of LOG_KINDS) await reindex({ folder: join(data, kind, '1'), types });
}

/** A clock that starts at a given time and runs in real time. */
class ClockFrom extends Clock {
  constructor(now_ms: number) {
    super();
    this.jump(now_ms - Date.now());
  }
}

/** Opens such a folder with the present build, a minute after the earlier one stopped. */
export async function runOlder(data: string): Promise<Running> {
  const { now_ms } = await olderFacts();
  return run({ DATA_DIR: data }, { clock: new ClockFrom(now_ms + 60_000) });
}

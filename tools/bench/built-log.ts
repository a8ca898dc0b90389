// Large logs take minutes to write, so they are kept from run to run in the system's temporary folder. A
// measurement gets a copy, which shares the database's unchanging tables with the one that is kept.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, link, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Draft } from '../../log/index.ts';
import {
  inFlight,
  openBenchLog,
  rowDraft,
  temporaryFolder,
  wideDraft,
  WIDE_LINKS,
} from './bench-log.ts';
import { firstKeys } from './child.ts';

/** How large a log is wanted. */
export interface BuiltSize {
  readonly entries: number;
  /** Keys in the map; `one each` makes every entry open a chain. */
  readonly keys: number | 'one each';
}

/** A copy of a large log's data folder. */
export interface BuiltLog {
  readonly path: string;
  readonly entries: number;
  /** An API key of its live log. */
  readonly key: string;
  close(): Promise<void>;
}

/** Ending of the modules that `layoutId` hashes. Sources and build have different ids, so each keeps logs of its own. */
const ENDING = import.meta.url.endsWith('.ts') ? 'ts' : 'js';

/** Drafts of one append while a log is built. */
const GROUP = 64;

/** A data folder with a live log of that size. */
export async function builtLog(size: BuiltSize): Promise<BuiltLog> {
  const { entries, keys } = size;
  const name = `${String(entries)}-entries-${String(keys).replace(' ', '-')}-keys-${ENDING}-`;
  const kept = join(tmpdir(), 'actlog-bench-kept', `${name}${await layoutId()}`);
  if (!existsSync(kept)) await build(kept, name, size);
  const folder = await temporaryFolder();
  await copyLinked(kept, folder.path);
  const key = await firstKeys(folder.path);
  return { path: folder.path, entries, key, close: () => folder.remove() };
}

/** Logs that another layout of the database wrote are other logs. */
async function layoutId(): Promise<string> {
  const hash = createHash('sha256');
  for (const module of ['store/layout', 'store/store', 'map/snapshot', 'write/integrate']) {
    hash.update(await readFile(new URL(`../../log/${module}.${ENDING}`, import.meta.url)));
  }
  return hash.digest('hex').slice(0, 12);
}

async function build(kept: string, name: string, size: BuiltSize): Promise<void> {
  const folder = dirname(kept);
  await mkdir(folder, { recursive: true });
  // Of this size, what another layout wrote is of no use any more.
  for (const other of await readdir(folder)) {
    if (other.startsWith(name)) await rm(join(folder, other), { recursive: true, force: true });
  }
  const unfinished = `${kept}.unfinished`;
  const { log, close } = await openBenchLog(unfinished);
  const next = draftsOf(size);
  let left = size.entries;
  await inFlight(
    Math.ceil(size.entries / GROUP),
    async () => {
      const drafts = Array.from({ length: Math.min(GROUP, left) }, next);
      left -= drafts.length;
      if (drafts.length > 0) await log.append(drafts);
    },
    8,
  );
  await close();
  await rename(unfinished, kept);
}

/** First the entries that open the chains, eight each, then entries on chains that are there. */
function draftsOf({ keys }: BuiltSize): () => Draft {
  let n = -1;
  return () => {
    n += 1;
    if (keys === 'one each') return rowDraft({ item: `i-${String(n)}` });
    const opening = Math.ceil(keys / WIDE_LINKS);
    return n < opening ? wideDraft(String(n)) : wideDraft(String((n * 7919) % opening));
  };
}

/**
 * Tables and the marker file of the folder are linked, everything else is copied. LevelDB never changes a table once it is
 * written, and the service takes a folder for a copy, and refuses it, by the inode of its marker file.
 */
async function copyLinked(from: string, to: string): Promise<void> {
  for (const file of await readdir(from, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    const source = join(file.parentPath, file.name);
    const target = join(to, source.slice(from.length));
    await mkdir(dirname(target), { recursive: true });
    if (file.name.endsWith('.ldb') || file.name === 'folder.json') await link(source, target);
    else await cp(source, target);
  }
}

// Ties a checkpoint register to one data folder, and says where the register is (log/FORMAT.md §5.4).
//
// Two processes that write to two copies of one database sign two trees. The register therefore names the data folder
// that it belongs to: by a random id in the marker file `folder.json`, and by the inode and the creation time of that
// file. A copy and a restored backup have the id, but another inode or creation time; a rename within a file system
// keeps both. A snapshot of a whole disk keeps both too: only witnesses, or a register on another disk, find that.

import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, readdir, readFile, stat, statfs } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { makeFolder, writeDurableFile } from './durable-file.ts';
import { isJsonObject, parseJson } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { isLogError, LogError } from '../errors.ts';
import { LOG_KINDS } from '../types.ts';
import type { Kind } from '../types.ts';
import { FileRegister, registerName } from './register.ts';
import type { FolderRegister, Register } from './register.ts';

/** A data folder, and the settings that say where its register is: DATABASE_URL, else CHECKPOINT_DIR. */
export interface RegisterPlace {
  readonly data: string;
  /** Address of a PostgreSQL database that holds the register; empty or absent when a folder does. */
  readonly database?: string;
  /** Folder of the register; when it is empty or absent, one in the platform's state folder. */
  readonly checkpoints?: string;
  /** Whether independent witnesses cosign the checkpoints; then a fork cannot stay unseen. */
  readonly witnessed?: boolean;
}

/** The register of a data folder, and what the operator should know about it. */
export interface OpenedRegister {
  /** The caller must close it after the last `advance`. */
  readonly register: FolderRegister;
  readonly notices: readonly Notice[];
}

/** A message for the operator, and whether it is a warning. */
export interface Notice {
  readonly level: 'info' | 'warn';
  readonly text: string;
}

/** The name under which a register holds the identity of its data folder. */
const FOLDER = 'folder';

/** The name under which a register holds the identity of a cluster. */
export const CLUSTER = 'cluster';

/** The file in the data folder of a node of a cluster (gateway/cluster/). */
export const clusterMarker = (data: string): string => join(data, 'cluster.json');

/** The place of the register in earlier releases: inside the data folder. */
const oldFolder = (data: string): string => join(data, 'checkpoints');

const markerOf = (data: string): string => join(data, 'folder.json');

/** The numbers of the logs of a kind in a data folder, oldest first. Only the last one takes entries. */
export function logNumbers(data: string, kind: Kind): number[] {
  const folder = join(data, kind);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names
    .filter((name) => /^[1-9][0-9]{0,8}$/u.test(name))
    .map(Number)
    .sort((a, b) => a - b);
}

/** The names in the register of the logs of a data folder. */
export function logNames(data: string): string[] {
  return LOG_KINDS.flatMap((kind) => logNumbers(data, kind).map((n) => registerName(kind, n)));
}

/** The folder for the registers of this user: in XDG_STATE_HOME, or in the platform's folder for application data. */
export function stateFolder(): string {
  const { XDG_STATE_HOME = '', LOCALAPPDATA = '' } = process.env;
  if (XDG_STATE_HOME !== '') return join(XDG_STATE_HOME, 'actlog');
  if (process.platform === 'win32' && LOCALAPPDATA !== '') return join(LOCALAPPDATA, 'actlog');
  const home = homedir();
  if (process.platform === 'darwin') return join(home, 'Library', 'Application Support', 'actlog');
  return join(home, '.local', 'state', 'actlog');
}

/**
 * Opens the register of a data folder for a process that writes. A new data folder gets its id and its register; a
 * register that was elsewhere before (in the data folder, as earlier releases had it, or where the settings said)
 * moves to the place that the settings name.
 *
 * @throws LogError `data_not_adopted` when the folder is a copy or its register is missing; `log_unavailable` when
 *   the register does not take writes; `log_locked` when another process uses it
 */
export async function openRegister(place: RegisterPlace): Promise<OpenedRegister> {
  await makeFolder(place.data);
  const named = await namedRegister(place);
  try {
    return await open(place, named);
  } catch (error) {
    await named?.close();
    throw error;
  }
}

async function open(place: RegisterPlace, named: FolderRegister | null): Promise<OpenedRegister> {
  const { data } = place;
  if (existsSync(clusterMarker(data)) || (named !== null && (await named.read(CLUSTER)) !== null)) {
    throw new LogError(
      'data_not_adopted',
      `${existsSync(clusterMarker(data)) ? data : (named?.place ?? '')} belongs to a cluster: set CLUSTER=on. ` +
        'A process that writes beside a cluster would fork its logs',
    );
  }
  const logs = logNames(data);
  let id = await readMarker(data);
  if (id === null) {
    await refuseUnmarked(place, named, logs);
    id = await makeMarker(data);
  }
  const register = named ?? new FileRegister(join(stateFolder(), id));
  await register.prepare();
  let held = await register.read(FOLDER);
  const former = await formerRegisters(place, register, id);
  if (held === null) {
    for (const from of former) await copyValues(from, register);
    if (logs.length > 0 && (await lacksAll(register, logs))) throw missing(place, register);
    held = await bind(register, data, id, null);
  }
  for (const from of former) await from.clear();
  const { identity, why } = await identityOf(data);
  if (held['id'] !== id) throw foreign(place, register);
  const known = held['marker'] ?? null;
  if (known !== null && !sameIdentity(known, identity)) throw copied(place, register);
  // A newer kernel may give reliable inodes and creation times for a file system that had none before.
  if (known === null && identity !== null) held = await bind(register, data, id, held);
  return { register, notices: await noticesOf(place, register, held, why) };
}

/** The register that the settings name; null when it is in the state folder, under the id of the data folder. */
async function namedRegister({
  database = '',
  checkpoints = '',
}: RegisterPlace): Promise<FolderRegister | null> {
  if (database !== '') {
    const { PostgresRegister } = await import('./postgres-register.ts');
    return PostgresRegister.open({ url: database });
  }
  return checkpoints === '' ? null : new FileRegister(checkpoints);
}

/**
 * Finds the register of a data folder for reading, without making or changing anything. It may be empty.
 */
export async function findRegister(place: RegisterPlace): Promise<FolderRegister> {
  const named = await namedRegister(place);
  if (named !== null) return named;
  const { data } = place;
  const id = await readMarker(data);
  const byId = id === null ? null : new FileRegister(join(stateFolder(), id));
  if (byId !== null && (await byId.names()).length > 0) return byId;
  const old = new FileRegister(oldFolder(data));
  return byId === null || (await old.names()).length > 0 ? old : byId;
}

/** Why a start would refuse the register for this data folder; null if the register belongs to it. */
export async function refusalOf(place: RegisterPlace): Promise<string | null> {
  const register = await findRegister(place);
  const held = await register.read(FOLDER);
  // Not tied to any folder yet: the next start does that.
  if (held === null) return null;
  if (held['id'] !== (await readMarker(place.data))) return foreign(place, register).message;
  const { identity } = await identityOf(place.data);
  const known = held['marker'] ?? null;
  return known === null || sameIdentity(known, identity) ? null : copied(place, register).message;
}

/** Whether the register is tied to a data folder, this one or another. */
export async function isTied(place: RegisterPlace): Promise<boolean> {
  return (await (await findRegister(place)).read(FOLDER)) !== null;
}

/** Whether a data folder has its marker file, which names its register. */
export const isMarked = (data: string): boolean => existsSync(markerOf(data));

/** All registers in the state folder, for finding the one that a restored data folder belonged to. */
export async function knownRegisters(): Promise<FileRegister[]> {
  const names = await readdir(stateFolder()).catch(() => []);
  return names
    .filter((name) => /^[0-9a-f]{32}$/.test(name))
    .map((name) => new FileRegister(join(stateFolder(), name)));
}

/**
 * Ties a register to a data folder, after the caller has compared the logs. It does not matter what the register was
 * tied to before.
 *
 * @param found the register of these logs, for a data folder that has lost its marker file; else null
 * @param values the values that the register gets
 */
export async function adoptFolder(
  place: RegisterPlace,
  found: FileRegister | null,
  values: ReadonlyMap<string, JsonObject>,
): Promise<FolderRegister> {
  const { data } = place;
  const id =
    (await readMarker(data)) ??
    (await makeMarker(data, found === null ? undefined : relative(stateFolder(), found.folder)));
  const register = (await namedRegister(place)) ?? new FileRegister(join(stateFolder(), id));
  await register.prepare();
  // The identity is written last: until then a start refuses the folder.
  for (const [name, value] of values) {
    await register.advance(name, await register.read(name), value);
  }
  await bind(register, data, id, await register.read(FOLDER));
  return register;
}

/**
 * Refuses a data folder without a marker file unless it is new, or an earlier release made it. A folder that was
 * restored without the file is recognised by its logs.
 */
async function refuseUnmarked(
  place: RegisterPlace,
  named: FolderRegister | null,
  logs: readonly string[],
): Promise<void> {
  if (named !== null) {
    const names = await named.names();
    if (names.includes(FOLDER)) throw foreign(place, named);
    const known = names.filter((name) => /^(?:live|sandbox)-\d+$/.test(name));
    if (logs.length === 0 && known.length > 0) throw foreign(place, named);
    if (known.length > 0) return;
  }
  if (logs.length === 0) return;
  const register = new FileRegister(oldFolder(place.data));
  if ((await register.names()).length === 0) throw missing(place, register);
  for (const name of logs) {
    const signer = signerOf(await register.read(name));
    if (signer === null) continue;
    for (const other of await knownRegisters()) {
      if (signerOf(await other.read(name)) === signer) throw copied(place, other);
    }
  }
}

/** Origin and key id of the note of a log in a register. They identify the log. */
function signerOf(value: JsonObject | null): string | null {
  const note = value?.['note'];
  const [, origin = '', signature = ''] =
    typeof note === 'string' ? (/\n\n— (\S+) (\S+)\n/u.exec(note) ?? []) : [];
  if (origin === '') return null;
  return `${origin} ${Buffer.from(signature, 'base64').subarray(0, 4).toString('hex')}`;
}

async function readMarker(data: string): Promise<string | null> {
  const path = markerOf(data);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  let value: Json = null;
  try {
    value = parseJson(text);
  } catch {
    // Reported below, as is a text that is JSON of something else.
  }
  const id = isJsonObject(value) ? value['id'] : undefined;
  if (typeof id !== 'string' || !/^[0-9a-f]{32}$/.test(id)) {
    throw new LogError('store_corrupt', `${path} is not the marker file of a data folder`);
  }
  return id;
}

/** Writes the marker file with the id of a data folder. If another process writes it first, that id is used. */
async function makeMarker(data: string, id = randomBytes(16).toString('hex')): Promise<string> {
  await writeDurableFile(markerOf(data), `${JSON.stringify({ id })}\n`, { replace: false }).catch(
    (error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    },
  );
  return (await readMarker(data)) ?? id;
}

/** Ties the register to a data folder: stores its id and identity in the register. */
async function bind(
  register: Register,
  data: string,
  id: string,
  held: JsonObject | null,
): Promise<JsonObject> {
  const { identity } = await identityOf(data);
  const next = { id, marker: identity, told: [] };
  await changeFolder(register, held, next);
  return (await register.read(FOLDER)) ?? next;
}

/** Replaces the identity in the register. If another process replaces it first, that value stays. */
async function changeFolder(
  register: Register,
  held: JsonObject | null,
  next: JsonObject,
): Promise<void> {
  await register.advance(FOLDER, held, next).catch((error: unknown) => {
    if (!isLogError(error) || error.code !== 'log_locked') throw error;
  });
}

/** File systems of Linux whose inode numbers and creation times outlive a mount; the number is that of statfs(2). */
const RELIABLE: ReadonlyMap<bigint, string> = new Map([
  [0xef53n, 'ext4'],
  [0x58465342n, 'xfs'],
  [0x9123683en, 'btrfs'],
  [0x2fc12fc1n, 'zfs'],
  [0xf2f52010n, 'f2fs'],
  [0xca451a4en, 'bcachefs'],
  [0x01021994n, 'tmpfs'],
]);

/** How long the file system may take to show a changed time. */
const SETTLE_MS = 1000;

/**
 * Inode and creation time of the marker file; null, with the reason, if the file system does not keep them reliably.
 */
async function identityOf(data: string): Promise<{ identity: JsonObject | null; why: string }> {
  const path = markerOf(data);
  const unreliable = (why: string) => ({ identity: null, why });
  if (process.platform === 'linux') {
    const { type } = await statfs(path, { bigint: true });
    if (!RELIABLE.has(type))
      return unreliable(`its file system (0x${type.toString(16)}) is unknown`);
  }
  const before = await stat(path, { bigint: true });
  if (before.birthtimeNs === 0n) return unreliable('its file system keeps no creation times');
  // Some file systems report the time of the last change as the creation time. Changing the file reveals that.
  const until = performance.now() + SETTLE_MS;
  let after = before;
  while (after.ctimeNs === before.birthtimeNs && performance.now() < until) {
    await chmod(path, Number(before.mode & 0o777n));
    after = await stat(path, { bigint: true });
    if (after.ctimeNs === before.birthtimeNs) await setTimeout(2);
  }
  if (after.ctimeNs === after.birthtimeNs || after.birthtimeNs !== before.birthtimeNs) {
    return unreliable('its file system keeps no creation times');
  }
  const identity = { inode: String(after.ino), created_ns: String(after.birthtimeNs) };
  return { identity, why: '' };
}

function sameIdentity(known: Json, found: JsonObject | null): boolean {
  return (
    isJsonObject(known) &&
    found !== null &&
    known['inode'] === found['inode'] &&
    known['created_ns'] === found['created_ns']
  );
}

/** Whether the register has none of these names. */
async function lacksAll(register: Register, names: readonly string[]): Promise<boolean> {
  for (const name of names) if ((await register.read(name)) !== null) return false;
  return true;
}

/**
 * The other registers of this data folder: in the data folder, from an earlier release, or at the place that earlier
 * settings named.
 */
async function formerRegisters(
  { data, checkpoints = '' }: RegisterPlace,
  register: FolderRegister,
  id: string,
): Promise<FileRegister[]> {
  const elsewhere = (folder: string): boolean => resolve(folder) !== resolve(register.place);
  const former: FileRegister[] = [];
  const old = new FileRegister(oldFolder(data));
  if (elsewhere(old.folder) && (await old.names()).length > 0) former.push(old);
  const folders = [checkpoints, join(stateFolder(), id)];
  for (const folder of folders.filter((name) => name !== '' && elsewhere(name))) {
    const other = new FileRegister(folder);
    const held = await other.read(FOLDER);
    if (held !== null && sameIdentity(held['marker'] ?? null, (await identityOf(data)).identity)) {
      former.push(other);
    }
  }
  return former;
}

/** Copies the values of a register to another one that does not have them. */
async function copyValues(from: FileRegister, to: FolderRegister): Promise<void> {
  for (const name of await from.names()) {
    const value = name === FOLDER ? null : await from.read(name);
    // An earlier start may have copied some values before it crashed.
    if (value !== null && (await to.read(name)) === null) await to.advance(name, null, value);
  }
}

async function noticesOf(
  { data, witnessed = false }: RegisterPlace,
  register: FolderRegister,
  held: JsonObject,
  why: string,
): Promise<Notice[]> {
  const notices: Notice[] = [];
  if (held['marker'] === null) {
    notices.push({
      level: 'warn',
      text:
        `a copy of ${data} would not be recognised by the inode and creation time of its marker file: ${why}. ` +
        'Use witnesses, and never start a second copy',
    });
  }
  const told = held['told'];
  if (!register.shared && !witnessed && Array.isArray(told) && !told.includes('same-file-system')) {
    const [one, other] = [await stat(data), await stat(register.place)];
    if (one.dev === other.dev) {
      notices.push({
        level: 'info',
        text:
          `the checkpoint register ${register.place} is on the same file system as ${data}, and no witnesses are ` +
          'configured: after a snapshot of that file system is restored, nothing shows that the logs had more ' +
          'entries. Set CHECKPOINT_DIR to another disk, or configure WITNESS_POLICY. This message is shown once',
      });
      await changeFolder(register, held, { ...held, told: ['same-file-system'] });
    }
  }
  return notices;
}

const ADOPT =
  'Make sure that no other copy is in use, then run "actlog adopt", which compares the logs with a mirror ' +
  '(--from) or with the witnesses of WITNESS_POLICY before this folder may go on';

const refused = (message: string): LogError =>
  new LogError('data_not_adopted', `${message}. ${ADOPT}`);

const copied = ({ data }: RegisterPlace, { place }: FolderRegister): LogError =>
  refused(
    `${data} is a copy or was restored from one: the checkpoint register ${place} belongs to the folder that it ` +
      'was copied from, which may have signed more entries since, so that writing here could fork the log',
  );

const foreign = ({ data }: RegisterPlace, { place }: FolderRegister): LogError =>
  refused(
    `the checkpoint register ${place} belongs to another data folder than ${data}. For new logs, set ` +
      'CHECKPOINT_DIR to an empty folder or DATABASE_URL to an empty database. Otherwise this folder was restored',
  );

const missing = ({ data, checkpoints = '' }: RegisterPlace, { place }: FolderRegister): LogError =>
  refused(
    `${data} has logs, but their checkpoint register is missing in ${place}, so that nothing shows whether they ` +
      `had more entries${checkpoints === '' ? '. If CHECKPOINT_DIR was set before, set it again' : ''}`,
  );

// The logs of a data folder, for commands that work on them while no server has them open.

import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { registerPlace } from '../gateway/config.ts';
import type { Config } from '../gateway/config.ts';
import { passphraseOf } from '../gateway/passphrase.ts';
import { clusterMarker, LOG_KINDS, logNumbers, native, readKeyFile } from '../log/index.ts';
import type { FolderRegister, Kind } from '../log/index.ts';
import {
  findRegister,
  formatVkey,
  LOG_KEY,
  readRemembered,
  registerName,
  Signer,
} from '../log/operate.ts';
import { CommandError, EXIT } from './command-line.ts';

/** One log of a data folder. */
export interface DataLog {
  readonly kind: Kind;
  readonly number: number;
  /** Folder of the log, with `db/` in it. */
  readonly folder: string;
  readonly register: FolderRegister;
}

/** All logs that the configuration's data folder has, of one kind or of both, oldest first. */
export async function dataLogs(config: Config, only?: string): Promise<DataLog[]> {
  const logs: DataLog[] = [];
  for (const kind of LOG_KINDS) {
    if (only !== undefined && only !== 'both' && only !== kind) continue;
    for (const number of logNumbers(config.DATA_DIR, kind)) {
      logs.push(await dataLog(config, kind, number));
    }
  }
  if (logs.length === 0) {
    throw new CommandError(`${config.DATA_DIR} has no log: is it the data folder?`, EXIT.unknown);
  }
  return logs;
}

/** Whether the data folder is that of a node of a cluster, whose database has the register. */
export const isNode = ({ DATA_DIR }: Config): boolean => existsSync(clusterMarker(DATA_DIR));

/**
 * For a command that writes to the logs of a service of one process.
 *
 * @throws CommandError if the data folder is that of a node
 */
export function refuseNode(config: Config): void {
  if (!isNode(config)) return;
  throw new CommandError(
    `${config.DATA_DIR} is that of a node, whose copies are what the database of the cluster has: a node fills them ` +
      'again when it starts on an empty DATA_DIR',
  );
}

/** Where a log is, whether it is there or not. */
export async function dataLog(config: Config, kind: Kind, number: number): Promise<DataLog> {
  return {
    kind,
    number,
    folder: join(config.DATA_DIR, kind, String(number)),
    register: await findRegister(registerPlace(config)),
  };
}

/** The file of a log's checkpoint key. */
export const keyNameOf = (
  { DATA_DIR }: Config,
  { kind, number }: Pick<DataLog, 'kind' | 'number'>,
): string => join(DATA_DIR, 'keys', `${kind}-${String(number)}-checkpoint.pem`);

/** The verifier key of a log, from its checkpoint key; or why it cannot be had here. */
export async function vkeyOf(
  config: Config,
  { kind, number, register }: DataLog,
): Promise<{ readonly vkey?: string; readonly why?: string }> {
  const file = keyNameOf(config, { kind, number });
  try {
    const remembered = await readRemembered(register, registerName(kind, number));
    if (remembered === null) return { why: `its checkpoint file is missing` };
    const key = new Signer(await readKeyFile(file, passphraseOf(config)));
    return { vkey: formatVkey(native, remembered.origin, LOG_KEY, key.publicKey) };
  } catch (error) {
    return { why: `${basename(file)}: ${(error as Error).message}` };
  }
}

// Starts a witness process: key, database, server, and a stop that finishes what it began.

import { existsSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { dirname, join } from 'node:path';
import {
  generateKey,
  isMapCosigner,
  makeFolder,
  native,
  readKeyFile,
  writeKeyFile,
} from '../../log/index.ts';
import { COSIGNER_KEY, formatVkey, isKeyName, Signer } from '../../log/operate.ts';
import { CommandError } from '../command-line.ts';
import { serveStatus } from '../status.ts';
import { Webhook, webhookAddress } from '../webhook.ts';
import { witnessReport } from './report.ts';
import { serveWitness } from './server.ts';
import { Witness, type WitnessOptions } from './witness.ts';

/** Where and for whom a witness runs. */
export interface WitnessStart {
  readonly name: string;
  /** Verifier keys of logs. */
  readonly log: readonly string[];
  readonly data: string;
  readonly host: string;
  readonly port: number;
  /** Address to post conflicts to. */
  readonly webhook?: string;
  /** `host:port` of /metrics and /health. */
  readonly metrics?: string;
}

/** What is still on its way to the webhook at the end has this long. */
const LAST_WORDS_MS = 10_000;

/** Runs until SIGINT or SIGTERM; prints the policy line once it listens. */
export async function startWitness(start: WitnessStart): Promise<void> {
  const { name, data, host, port } = start;
  if (!isKeyName(name)) throw new CommandError('the name is empty or has a space or +');
  if (isMapCosigner(name)) {
    throw new CommandError(
      'names in /map are of monitors that check every rule before they cosign',
    );
  }
  await makeFolder(data, 0o700);
  const folder = join(data, 'cosigned');
  const keyFile = join(data, 'cosigner.pem');
  checkMemory(keyFile, folder);
  // The database before the key, so that a key never exists without its record of what it cosigned.
  const url = start.webhook === undefined ? undefined : webhookAddress(start.webhook);
  const say = (line: string): void => {
    process.stderr.write(`${line}\n`);
  };
  // Its messages are signed with the key of the witness.
  let webhook: Webhook | undefined;
  const report = witnessReport(say, {
    send(type, data) {
      webhook?.send(type, data);
    },
  });
  const onConflict = report.conflict;
  const witness = await openWitness({ vkeys: start.log, folder, onConflict }, name, keyFile);
  const { signer } = witness;
  const onTrouble = (reason: string): void => {
    say(`webhook  ${reason}`);
  };
  if (url !== undefined) webhook = new Webhook({ url, signer, onTrouble });
  const { metrics } = start;
  const status =
    metrics === undefined ? null : await serveStatus(metrics, report.status(witness.witness));
  const server = await serveWitness(witness.witness, { host, port });
  process.stdout.write(
    `witness ${name} ${witness.vkey} http://${isIPv6(host) ? `[${host}]` : host}:${String(server.port)}\n`,
  );
  await new Promise<void>((resolve) => {
    process.once('SIGINT', resolve);
    process.once('SIGTERM', resolve);
  });
  await server.close();
  await status?.close();
  await webhook?.close(LAST_WORDS_MS);
  await witness.witness.close();
}

/** A key without the memory of what it has cosigned could cosign a fork now. */
export function checkMemory(keyFile: string, folder: string): void {
  if (!existsSync(keyFile) || existsSync(folder)) return;
  throw new CommandError(
    `${dirname(folder)} has the key of a witness, but not what it cosigned: it could cosign a fork now. ` +
      'Bring the folder cosigned/ back, or retire the key and start in a new folder',
  );
}

/** Opens the memory of a witness and its key, which is made on first use. */
export async function openWitness(
  opened: Pick<WitnessOptions, 'vkeys' | 'folder' | 'gate' | 'onConflict'>,
  name: string,
  keyFile: string,
): Promise<{ readonly witness: Witness; readonly signer: Signer; readonly vkey: string }> {
  await makeFolder(opened.folder, 0o700);
  const signer = await signerOf(keyFile);
  const witness = await Witness.open({ name, signer, ...opened });
  return { witness, signer, vkey: formatVkey(native, name, COSIGNER_KEY, signer.publicKey) };
}

async function signerOf(path: string): Promise<Signer> {
  try {
    return new Signer(await readKeyFile(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const key = generateKey();
    await writeKeyFile(path, key);
    return new Signer(key);
  }
}

// A monitor that cosigns what it has checked, as a C2SP witness with a key named `<name>/map`. log/FORMAT.md §5.

import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { makeFolder } from '../../log/index.ts';
import { formatCheckpoint, isKeyName } from '../../log/operate.ts';
import type { Checkpoint, Signer } from '../../log/operate.ts';
import { CommandError } from '../command-line.ts';
import { hostAndPort } from '../status.ts';
import { serveWitness } from '../witness/server.ts';
import { checkMemory, openWitness } from '../witness/start.ts';
import { refuse, type WitnessAnswer } from '../witness/witness.ts';
import type { Verified } from './verified.ts';

/** How a monitor cosigns. */
export interface CosignOptions {
  /** With or without `/map` at its end. */
  readonly name: string;
  /** In the state folder unless given. */
  readonly keyFile?: string;
  /** `host:port`. */
  readonly serve: string;
  readonly state: string;
  readonly verified: Verified;
  /** Told of a signed head whose root is not that of the entries. */
  readonly onAnotherRoot: (head: Checkpoint, note: string) => void;
  /** How long a log is kept waiting for the replay. */
  readonly wait_ms?: number;
}

/** A monitor's cosigner that is being served. */
export interface Cosigner {
  /** The line of a policy file that names it with its address. */
  readonly line: string;
  readonly signer: Signer;
  /** Cosigns for this log too. */
  know(vkey: string): void;
  close(): Promise<void>;
}

/** A second less than publishers usually give a witness would be too short for a replay; more holds them up. */
const WAIT_MS = 5000;

/** Opens the key (made on first use) and the memory of what was cosigned, and listens. */
export async function openCosigner(options: CosignOptions): Promise<Cosigner> {
  const name = options.name.endsWith('/map') ? options.name : `${options.name}/map`;
  if (!isKeyName(name)) throw new CommandError('the name is empty or has a space or +');
  const { host, port } = hostAndPort('--cosign-serve', options.serve);
  const folder = join(options.state, 'cosigned');
  const keyFile = options.keyFile ?? join(options.state, 'cosigner.pem');
  await makeFolder(options.state);
  checkMemory(keyFile, folder);
  const { verified, onAnotherRoot, wait_ms = WAIT_MS } = options;
  const gate = async (head: Checkpoint, note: string): Promise<WitnessAnswer | null> => {
    // Exactly three lines: further ones would be signed without having been checked.
    if (!note.startsWith(`${formatCheckpoint(head)}\n`)) {
      return refuse(422, 'the checkpoint has extension lines');
    }
    switch (await verified.standing(head, wait_ms)) {
      case 'verified':
        return null;
      case 'another_root':
        onAnotherRoot(head, note);
        return refuse(422, 'the entries of this size have another root');
      case 'not_reached':
        return refuse(503, 'the entries of this size are not checked yet');
    }
  };
  const { witness, signer, vkey } = await openWitness({ vkeys: [], folder, gate }, name, keyFile);
  try {
    const server = await serveWitness(witness, { host, port });
    const at = `http://${isIPv6(host) ? `[${host}]` : host}:${String(server.port)}`;
    return {
      line: `witness ${name} ${vkey} ${at}`,
      signer,
      know: (log) => {
        witness.know(log);
      },
      async close() {
        await server.close();
        await witness.close();
      },
    };
  } catch (error) {
    await witness.close();
    throw error;
  }
}

// Witnesses for tests: real ones in this process, and small servers with wrong answers.

import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { native } from '../../../log/crypto/native.ts';
import { parseAddCheckpoint } from '../../../log/note/checkpoint.ts';
import type { AddCheckpoint } from '../../../log/note/checkpoint.ts';
import { signCosignature, splitNote, COSIGNER_KEY, formatVkey } from '../../../log/note/note.ts';
import { serveWitness } from '../../../tools/witness/server.ts';
import { Witness } from '../../../tools/witness/witness.ts';
import { listening } from '../../support/listening.ts';
import type { Listening } from '../../support/listening.ts';
import { seededSigner } from '../../log/note/seeded-signer.ts';

/** A real witness; it keeps no state after it is closed. */
export async function realWitness(
  name: string,
  seed: number,
  vkeys: readonly string[],
  now_s?: () => number,
): Promise<Listening> {
  const folder = await mkdtemp(join(tmpdir(), 'actlog-witness-'));
  const signer = seededSigner(seed);
  const clock = now_s === undefined ? {} : { now_s };
  const witness = await Witness.open({ name, signer, vkeys, folder, ...clock });
  const server = await serveWitness(witness, { host: '127.0.0.1', port: 0 });
  return {
    url: `http://127.0.0.1:${String(server.port)}`,
    async close() {
      await server.close();
      await witness.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** How a false witness answers a request, which is already parsed. */
export type Answer = (
  request: AddCheckpoint,
  response: ServerResponse,
  incoming: IncomingMessage,
) => void;

/** A server whose answer to every request the test determines. */
export async function falseWitness(
  answer: Answer,
): Promise<Listening & { readonly requests: AddCheckpoint[] }> {
  const requests: AddCheckpoint[] = [];
  const server = await listening((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const request = parseAddCheckpoint(Buffer.concat(chunks).toString());
      requests.push(request);
      answer(request, response, incoming);
    });
  });
  return { ...server, requests };
}

/** The signature line of the witness with the key of `seed`. */
export function cosignatureOf(note: string, name: string, seed: number, time_s: number): string {
  return signCosignature(native, seededSigner(seed), name, splitNote(note).text, time_s);
}

/** The verifier key of the witness of a seed. */
export function cosignerKey(name: string, seed: number): string {
  return formatVkey(native, name, COSIGNER_KEY, seededSigner(seed).publicKey);
}

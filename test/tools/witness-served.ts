// Serves a witness with a temporary folder, for tests.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { native } from '../../log/crypto/native.ts';
import { COSIGNER_KEY, formatVkey } from '../../log/note/note.ts';
import { serveWitness } from '../../tools/witness/server.ts';
import { Witness } from '../../tools/witness/witness.ts';
import { seededSigner } from '../log/note/seeded-signer.ts';

/** The log, the witness and its time. */
export const ORIGIN = 'log.example/log/live/1';
export const NAME = 'witness.example/one';
export const NOW_S = 1_790_000_000;
/** The key of the witness. */
export const signer = seededSigner(40);
export const vkey = formatVkey(native, NAME, COSIGNER_KEY, signer.publicKey);
/** The content type of the size in a 409. */
const SIZE_TYPE = 'text/x.tlog.size';

/** A witness served over its own folder. */
export class Served {
  folder = '';
  url = '';
  #close: () => Promise<void> = async () => {};
  readonly vkeys: string[];

  constructor(...vkeys: string[]) {
    this.vkeys = vkeys;
  }

  async start(): Promise<void> {
    this.folder ||= await mkdtemp(join(tmpdir(), 'actlog-witness-'));
    const { folder, vkeys } = this;
    const options = { name: NAME, signer, vkeys, folder, now_s: () => NOW_S };
    const witness = await Witness.open(options);
    const server = await serveWitness(witness, { host: '127.0.0.1', port: 0 });
    this.url = `http://127.0.0.1:${String(server.port)}`;
    this.#close = async () => {
      await server.close();
      await witness.close();
    };
  }

  stop(): Promise<void> {
    return this.#close();
  }

  async end(): Promise<void> {
    await this.stop();
    await rm(this.folder, { recursive: true });
  }

  post(body: string | Uint8Array<ArrayBuffer>): Promise<Response> {
    return fetch(`${this.url}/add-checkpoint`, { method: 'POST', body });
  }

  /** Status and body, and the content type if the body is a size. */
  async answer(body: string | Uint8Array<ArrayBuffer>): Promise<[number, string]> {
    const response = await this.post(body);
    const text = await response.text();
    const type = response.headers.get('content-type');
    if (type === SIZE_TYPE) return [response.status, `size ${text}`];
    assert.equal(type, 'text/plain; charset=utf-8');
    return [response.status, text];
  }
}

/** The SHA-256 of an origin in hex, which is its path at the witness. */
export const hashOf = (origin: string): string =>
  Buffer.from(native.sha256(Buffer.from(origin))).toString('hex');

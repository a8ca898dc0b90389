// What one caller can hold a log to: every receipt that it was given, every checkpoint that it has seen.
// log/FORMAT.md §5, §7; gateway/API.md §1.1, §5. Whatever does not fit is a WrongAnswer.

import { canonical, isJsonObject, native, parseJson, toBase64 } from '../../log/index.ts';
import type { Json, JsonObject, Kind } from '../../log/index.ts';
import {
  trustFromKit,
  verifyCheckpoint,
  verifyConsistency,
  verifyReceipt,
} from '../../log/verify.ts';
import type { Trust } from '../../log/verify.ts';
import { WrongAnswer } from './client.ts';
import type { Answer, Client } from './client.ts';

/** A request that was answered, and with what. */
export interface Told {
  readonly idempotency_key: string;
  readonly body: string;
  /** The exact text of the answer. */
  readonly text: string;
  readonly entry_id: string;
  readonly index: number;
}

const KIT = '/export/offline-verify-kit.json';

/** How it asks: a client of one service, or of several nodes that serve the same log. */
export type Asking = Pick<Client, 'get' | 'post'>;

/** Holds one log to what it said. */
export class Auditor {
  readonly #client: Asking;
  readonly #prefix: string;
  readonly #kind: Kind;
  readonly trust: Trust;
  /** Every note seen, by its size; two roots for one size end it. */
  readonly #notes = new Map<number, { note: string; root: string }>();
  #newest = 0;

  private constructor(client: Asking, kind: Kind, prefix: string, trust: Trust) {
    this.#client = client;
    this.#kind = kind;
    this.#prefix = prefix;
    this.trust = trust;
  }

  /** Takes keys and origin of the newest log of a kind from the service's kit, once and for all. */
  static async open(client: Asking, kind: Kind): Promise<Auditor> {
    const { text } = expect(await client.get(`/log/${kind}/checkpoint`), 200, 'the checkpoint');
    const [origin = ''] = text.split('\n', 1);
    const kit = expect(await client.get(KIT), 200, 'the kit');
    const number = origin.split('/').at(-1) ?? '1';
    return new Auditor(client, kind, `/log/${kind}/${number}`, trustFromKit(kit.text, origin));
  }

  /** How many different sizes it has seen a checkpoint of. */
  get checkpoints(): number {
    return this.#notes.size;
  }

  get size(): number {
    return this.#newest;
  }

  /** Fetches the newest checkpoint and holds it against the newest one seen before. */
  async look(): Promise<void> {
    const answer = await this.#client.get(`${this.#prefix}/checkpoint`);
    await this.see(expect(answer, 200, 'the checkpoint').text);
  }

  /** Takes a note in: one root for each size, and a consistency proof with what was seen before. */
  async see(note: string): Promise<void> {
    const { size, root } = verifyCheckpoint(note, this.trust, { suite: native });
    const seen = this.#notes.get(size);
    if (seen !== undefined) {
      if (seen.root !== toBase64(root)) {
        throw new WrongAnswer(`two roots for size ${String(size)}:\n${seen.note}\n${note}`);
      }
      return;
    }
    this.#notes.set(size, { note, root: toBase64(root) });
    const before = this.#newest;
    if (size > before) this.#newest = size;
    // A reader may get an answer late: then it is the older of the two.
    if (before > 0) await this.#compare(Math.min(before, size), Math.max(before, size));
  }

  /** Holds every checkpoint ever seen against the next larger one. */
  async lookBack(): Promise<void> {
    const sizes = [...this.#notes.keys()].sort((a, b) => a - b);
    for (const [i, size] of sizes.entries()) {
      const next = sizes[i + 1];
      if (next !== undefined) await this.#compare(size, next);
    }
  }

  /** The receipt is served unchanged, verifies, and is in the tree. */
  async checkReceipt(told: Told): Promise<void> {
    const query = this.#kind === 'sandbox' ? '?log=sandbox' : '';
    const answer = await this.#client.get(`/r/${told.entry_id}${query}`);
    const found = parsed(expect(answer, 200, `the receipt of entry ${String(told.index)}`).text);
    const said = parsed(told.text);
    if (withoutPlace(found) !== withoutPlace(said)) {
      throw new WrongAnswer(`a receipt changed:\n${told.text}\n${answer.text}`);
    }
    const result = verifyReceipt(found, this.trust, { suite: native });
    if (!result.valid || result.size === undefined || result.index !== told.index) {
      const failed = result.checks.filter(({ outcome }) => outcome !== 'ok');
      throw new WrongAnswer(
        `a receipt does not verify:\n${answer.text}\n${JSON.stringify(failed)}`,
      );
    }
    // What verified was this note, so it is a text.
    const { checkpoint } = found['log'] as { readonly checkpoint: string };
    await this.see(checkpoint);
  }

  /** The same request again gives the same answer, marked as replayed. */
  async checkReplay(path: string, told: Told): Promise<void> {
    const answer = await this.#client.post(path, told.body, told.idempotency_key);
    if (answer.status !== 200 || answer.text !== told.text || !answer.replayed) {
      throw new WrongAnswer(
        `idempotency key ${told.idempotency_key} answered before:\n${told.text}\nand now ${String(answer.status)}:\n${answer.text}`,
      );
    }
  }

  async #compare(from: number, to: number): Promise<void> {
    const path = `${this.#prefix}/proof/consistency?from=${String(from)}&to=${String(to)}`;
    const answer = expect(await this.#client.get(path), 200, path);
    const older = this.#notes.get(from)?.note ?? '';
    const newer = this.#notes.get(to)?.note ?? '';
    try {
      verifyConsistency(older, newer, parsed(answer.text)['path'] as Json, this.trust, {
        suite: native,
      });
    } catch (error) {
      throw new WrongAnswer(`no consistency: ${String(error)}\n${older}\n${newer}\n${answer.text}`);
    }
  }
}

/** What a write was answered with, to be held against what comes later. */
export function toldOf(idempotency_key: string, body: string, { text }: Answer): Told {
  const { entry_id, index } = parsed(text);
  if (typeof entry_id !== 'string' || typeof index !== 'number') {
    throw new WrongAnswer(`an answer is no receipt:\n${text}`);
  }
  return { idempotency_key, body, text, entry_id, index };
}

/** The answer when its status is the one that it must be. */
export function expect(answer: Answer, status: number, what: string): Answer {
  if (answer.status === status) return answer;
  throw new WrongAnswer(
    `${what}: ${String(answer.status)} instead of ${String(status)}\n${answer.text}`,
  );
}

function parsed(text: string): JsonObject {
  const value = parseJson(text, { fractions: true, maxDepth: 24, maxBytes: 4 * 1024 * 1024 });
  if (!isJsonObject(value)) throw new WrongAnswer(`an answer is no JSON object:\n${text}`);
  return value;
}

/** A receipt without its proof, which is not known at first. */
function withoutPlace(receipt: JsonObject): string {
  const { log: _log, ...rest } = receipt;
  return canonical(rest);
}

// A C2SP witness: cosigns a checkpoint only when it is consistent with the last one it cosigned of that
// origin. What it cosigned is on disk before the answer leaves; comparing and storing is one step.

import { Level } from 'level';
import {
  equal,
  fromBase64,
  isLogError,
  LogError,
  native,
  parseCheckpoint,
  parseVkey,
  toBase64,
  toHex,
  Turns,
} from '../../log/index.ts';
import type { JsonObject } from '../../log/index.ts';
import {
  checkConsistency,
  EMPTY_ROOT,
  formatNote,
  LOG_KEY,
  ML_DSA_KEY,
  openNote,
  parseAddCheckpoint,
  signatureLine,
  signCosignature,
  splitNote,
} from '../../log/operate.ts';
import type { AddCheckpoint, Checkpoint, Signer, Verifier } from '../../log/operate.ts';
import { fromUtf8, utf8 } from '../../log/verify.ts';
import { Conflicts, type Cosigned } from './conflicts.ts';

/** An HTTP answer of tlog-witness. */
export interface WitnessAnswer {
  readonly status: number;
  readonly body: string;
  readonly type: string;
}

/**
 * Asked of each head that a log has signed, before it is compared: an answer other than null is given in
 * place of a cosignature.
 */
export type Gate = (head: Checkpoint, note: string) => Promise<WitnessAnswer | null>;

const TEXT = 'text/plain; charset=utf-8';
const SIZE_TYPE = 'text/x.tlog.size';

/** What a request asks to be cosigned: the head of its tree and the whole text that would be signed. */
interface Submitted extends AddCheckpoint, Checkpoint {
  readonly text: string;
}

/** What a witness is made of. */
export interface WitnessOptions {
  readonly name: string;
  readonly signer: Signer;
  /** Verifier keys of the logs that are cosigned; the name of a key is its log's origin. */
  readonly vkeys: readonly string[];
  /** Folder of the database. */
  readonly folder: string;
  /** Seconds; the system's clock unless given. */
  readonly now_s?: () => number;
  readonly gate?: Gate;
  /** Called with each new finding of a checkpoint that contradicts the cosigned one, once it is on disk. */
  readonly onConflict?: (finding: JsonObject) => void;
}

/** One witness with one cosigner key. */
export class Witness {
  readonly name: string;
  readonly #signer: Signer;
  /** The keys of each origin: a log that changes its key has two for a while. */
  readonly #logs: Map<string, readonly Verifier[]>;
  readonly #db: Level<string, Cosigned>;
  readonly #now_s: () => number;
  readonly #gate: Gate | null;
  readonly #conflicts: Conflicts;
  readonly #onConflict: (finding: JsonObject) => void;
  /** One request after the other for an origin: two that race cannot both be consistent with one size. */
  readonly #turns = new Turns();

  private constructor(
    name: string,
    signer: Signer,
    logs: Map<string, readonly Verifier[]>,
    db: Level<string, Cosigned>,
    {
      now_s,
      gate,
      onConflict,
    }: Required<Pick<WitnessOptions, 'now_s' | 'onConflict'>> & {
      readonly gate: Gate | null;
    },
  ) {
    this.name = name;
    this.#signer = signer;
    this.#logs = logs;
    this.#db = db;
    this.#now_s = now_s;
    this.#gate = gate;
    this.#conflicts = new Conflicts(db, () => now_s() * 1000);
    this.#onConflict = onConflict;
  }

  /** @throws LogError `key_invalid` if it is not the verifier key of a log, `log_locked` */
  static async open(options: WitnessOptions): Promise<Witness> {
    const logs = byOrigin(options.vkeys);
    const db = new Level<string, Cosigned>(options.folder, { valueEncoding: 'json' });
    try {
      await db.open();
    } catch (cause) {
      const message = `${options.folder} does not open: does another witness run on it?`;
      throw new LogError('log_locked', message, { cause });
    }
    const now_s = options.now_s ?? (() => Math.floor(Date.now() / 1000));
    const { gate = null, onConflict = () => undefined } = options;
    return new Witness(options.name, options.signer, logs, db, { now_s, gate, onConflict });
  }

  /** `POST <prefix>/add-checkpoint`: the checks of tlog-witness in their order. */
  async addCheckpoint(body: Uint8Array): Promise<WitnessAnswer> {
    let submitted: Submitted;
    try {
      submitted = parseSubmitted(body);
    } catch (error) {
      if (isLogError(error)) return refuse(400, error.message);
      throw error;
    }
    const { origin, old, size, note } = submitted;
    if (old > size) return refuse(400, 'old is over the size of the checkpoint');
    const keys = this.#logs.get(origin);
    if (keys === undefined) return refuse(404, 'this witness does not know the log');
    try {
      openNote(native, note, keys);
    } catch (error) {
      if (isLogError(error)) return refuse(403, error.message);
      throw error;
    }
    const refused = await this.#gate?.(submitted, note);
    if (refused !== undefined && refused !== null) return refused;
    return this.#turns.run(() => this.#compareAndStore(submitted), origin);
  }

  /** Cosigns for one more log, or by one more key of a log; `key_invalid` as in `open`. */
  know(vkey: string): void {
    const key = logKey(vkey);
    const known = this.#logs.get(key.name) ?? [];
    if (known.some(({ publicKey }) => equal(publicKey, key.publicKey))) return;
    this.#logs.set(key.name, [...known, key]);
  }

  /** `GET <prefix>/<hex of SHA-256 of the origin>/checkpoint`: what was cosigned last; null for never. */
  async checkpoint(originHash: string): Promise<string | null> {
    for (const origin of this.#logs.keys()) {
      if (toHex(native.sha256(utf8(origin))) === originHash)
        return (await this.#last(origin))?.note ?? null;
    }
    return null;
  }

  /** Findings of checkpoints that contradict what was cosigned (log/FORMAT.md §7.1). */
  conflicts(): Promise<JsonObject[]> {
    return this.#conflicts.list();
  }

  /** The logs that are cosigned, each with the size of the newest checkpoint that was; 0 for none. */
  async sizes(): Promise<ReadonlyMap<string, number>> {
    const sizes = new Map<string, number>();
    for (const origin of this.#logs.keys()) {
      sizes.set(origin, (await this.#last(origin))?.size ?? 0);
    }
    return sizes;
  }

  async close(): Promise<void> {
    await this.#turns.settled();
    await this.#db.close();
  }

  async #compareAndStore(submitted: Submitted): Promise<WitnessAnswer> {
    const { origin, old, size, root, path, text, note } = submitted;
    const last = await this.#last(origin);
    const known = last?.size ?? 0;
    // Only the log's own lines go on: what others signed was not checked here.
    const logLines = splitNote(note)
      .signatures.filter(({ name, key_id }) => this.#trusts(origin, name, key_id))
      .map(({ name, key_id, signature }) => signatureLine(name, key_id, signature));
    // Before the answer, which is the same as for a mistake.
    if (last !== undefined) {
      const keys = this.#logs.get(origin) ?? [];
      const logNote = formatNote(text, logLines);
      const finding = await this.#conflicts.compare(last, submitted, logNote, keys);
      if (finding !== null) this.#onConflict(finding);
    }
    if (old !== known) return { status: 409, body: `${String(known)}\n`, type: SIZE_TYPE };
    const fromRoot = last === undefined ? EMPTY_ROOT : fromBase64(last.root, 32);
    if (old === size && !equal(fromRoot, root)) return refuse(422, 'another root of the same size');
    try {
      checkConsistency(native, { from: old, to: size, fromRoot, toRoot: root, path });
    } catch (error) {
      if (isLogError(error)) return refuse(422, error.message);
      throw error;
    }
    const line = signCosignature(native, this.#signer, this.name, text, this.#now_s());
    const cosigned = formatNote(text, [...logLines, line]);
    // On disk before anybody sees it: after a crash an answered size must still be known.
    await this.#db.put(origin, { size, root: toBase64(root), note: cosigned }, { sync: true });
    return { status: 200, body: line, type: TEXT };
  }

  #last(origin: string): Promise<Cosigned | undefined> {
    return this.#db.get(origin);
  }

  #trusts(origin: string, name: string, key_id: number): boolean {
    const keys = this.#logs.get(origin) ?? [];
    return keys.some((key) => key.name === name && key.key_id === key_id);
  }
}

function byOrigin(vkeys: readonly string[]): Map<string, readonly Verifier[]> {
  const logs = new Map<string, readonly Verifier[]>();
  for (const key of vkeys.map(logKey)) logs.set(key.name, [...(logs.get(key.name) ?? []), key]);
  return logs;
}

function logKey(vkey: string): Verifier {
  const key = parsedKey(vkey);
  if (key.type !== LOG_KEY && key.type !== ML_DSA_KEY)
    throw new LogError('key_invalid', `${key.name} is no key of a log`);
  return key;
}

function parsedKey(vkey: string): Verifier {
  try {
    return parseVkey(native, vkey);
  } catch (cause) {
    if (!isLogError(cause)) throw cause;
    throw new LogError('key_invalid', `${vkey} is no verifier key: ${cause.message}`, { cause });
  }
}

/** The body may be anything. Other logs than ours may put extension lines behind the root; they are signed too. */
function parseSubmitted(body: Uint8Array): Submitted {
  const request = parseAddCheckpoint(fromUtf8(body));
  const { text } = splitNote(request.note);
  const lines = text.slice(0, -1).split('\n');
  if (lines.slice(3).includes('')) throw new LogError('note_invalid', 'extension line is empty');
  const head = parseCheckpoint(`${lines.slice(0, 3).join('\n')}\n`);
  return { ...request, ...head, text };
}

/** An answer that says why there is no cosignature. */
export const refuse = (status: number, reason: string): WitnessAnswer => ({
  status,
  body: `${reason}\n`,
  type: TEXT,
});

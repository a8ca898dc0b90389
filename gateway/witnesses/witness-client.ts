// The client of one witness (C2SP tlog-witness). A witness answers 409 with the size that it has cosigned, and the
// client asks again from that size. Witnesses that follow an earlier text of the specification answer 403 for an
// unknown log and 409 without a size for a different root; the client accepts both.

import { FORMAT, formatAddCheckpoint, NotePool } from '../../log/index.ts';
import type { Cosigned, Offer, PolicyKey } from '../../log/index.ts';

/** The longest answer that is read. */
const MAX_ANSWER_BYTES = 16 * 1024;
/** The most lines of an answer that are tried one by one. */
const MAX_LINES = 4;
/** Requests for one checkpoint: the first, and one after each 409 that names another size. */
const ATTEMPTS = 3;

/** A witness of a policy that has an address. */
export type AskedWitness = PolicyKey & { readonly url: string };

/** The last result of a witness, for `/health` and the operator. */
export interface WitnessState {
  /** Its name inside the policy. */
  readonly name: string;
  /** The size that it cosigned last; 0 if none since the start. */
  readonly cosigned_size: number;
  readonly cosigned_at_ms: number | null;
  /** Why the last request failed; null if it did not. */
  readonly problem: string | null;
}

/** How a witness is asked. */
export interface AskOptions {
  readonly timeout_ms: number;
  /** The wall clock of the log. */
  now(): number;
  /** Verifies cosignatures; the calling thread does so unless given. */
  readonly notes?: NotePool;
}

/** A cosignature that a witness gave. */
export interface Given {
  readonly line: string;
  readonly cosigned: Cosigned;
}

/** Verifies on the calling thread. */
const INLINE = new NotePool({ threads: false });

/** Asks one witness of a policy, one request at a time. */
export class WitnessClient {
  readonly #key: AskedWitness;
  readonly #url: string;
  readonly #options: AskOptions;
  /** The size that the witness has, as it said last. */
  #known = 0;
  #state: WitnessState;
  /** How far our wall clock was ahead of the time in its last cosignature; null if none came. */
  #ahead_ms: number | null = null;
  #asking: Promise<unknown> = Promise.resolve();
  #newest: Offer | null = null;

  constructor(key: AskedWitness, options: AskOptions) {
    this.#key = key;
    this.#url = `${key.url.replace(/\/$/, '')}/add-checkpoint`;
    this.#options = options;
    this.#state = { name: key.name, cosigned_size: 0, cosigned_at_ms: null, problem: null };
  }

  get ahead_ms(): number | null {
    return this.#ahead_ms;
  }

  get state(): WitnessState {
    return this.#state;
  }

  /**
   * Returns the cosignature of an offer; null if the witness did not give a valid one in time. Offers that come
   * during a request wait for its answer. Then only the newest of them is asked; the others get null.
   */
  cosign(offer: Offer): Promise<Given | null> {
    this.#newest = offer;
    const answer = this.#asking.then(() => (this.#newest === offer ? this.#cosign(offer) : null));
    this.#asking = answer;
    return answer;
  }

  async #cosign(offer: Offer): Promise<Given | null> {
    try {
      const given = await this.#ask(offer);
      this.#known = offer.size;
      this.#state = {
        ...this.#state,
        cosigned_size: offer.size,
        cosigned_at_ms: this.#options.now(),
        problem: null,
      };
      return given;
    } catch (error) {
      this.#state = { ...this.#state, problem: reasonOf(error) };
      return null;
    }
  }

  async #ask(offer: Offer): Promise<Given> {
    const signal = AbortSignal.timeout(this.#options.timeout_ms);
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const old = Math.min(this.#known, offer.size);
      const response = await fetch(this.#url, {
        method: 'POST',
        headers: { 'content-type': 'text/plain; charset=utf-8' },
        body: formatAddCheckpoint({ old, path: offer.consistency(old), note: offer.note }),
        redirect: 'error',
        signal,
      });
      const answer = await readCapped(response);
      if (response.status === 200) return this.#checked(offer, answer);
      if (response.status !== 409) throw new Error(refusal(response.status));
      const has = sizeOf(answer);
      if (has === null) throw new Error('answered 409 without its size: another root, or a fork');
      if (has > offer.size) {
        throw new Error(`has cosigned ${String(has)} entries, more than offered`);
      }
      if (has === old) throw new Error('answered 409 for the size that it names');
      this.#known = has;
    }
    throw new Error('its size kept changing');
  }

  /** Returns the newest valid cosignature by the witness's key. All other lines of its answer are dropped. */
  async #checked(offer: Offer, answer: string): Promise<Given> {
    if (!answer.endsWith('\n')) throw new Error('answered no signature line');
    const { verifier } = this.#key;
    const keys = { origin: offer.origin, vkey: offer.vkey, cosigners: [verifier] };
    const notes = this.#options.notes ?? INLINE;
    // The whole answer first: a line of the key that is not valid refuses all of it.
    const [newest] = await notes.cosignatures(offer.note + answer, keys);
    if (newest === undefined) throw new Error('answered without a cosignature of its key');
    // Verifiers compare the time of a cosignature, so a wrong one would make it useless to them.
    this.#ahead_ms = this.#options.now() - newest.time_s * 1000;
    if (Math.abs(this.#ahead_ms) > FORMAT.skew_ms) {
      throw new Error('its clock is more than a minute away from ours');
    }
    const lines = answer
      .slice(0, -1)
      .split('\n')
      .filter((candidate) => candidate.startsWith(`\u2014 ${verifier.name} `))
      .map((candidate) => `${candidate}\n`);
    for (const line of lines.slice(0, MAX_LINES)) {
      // A line by another key of the same name yields no cosignature.
      const [cosigned] = await notes.cosignatures(offer.note + line, keys);
      if (cosigned?.time_s === newest.time_s) return { line, cosigned };
    }
    throw new Error('answered without a cosignature of its key');
  }
}

function refusal(status: number): string {
  if (status === 404 || status === 403) {
    return `does not know this log or its key (${String(status)})`;
  }
  if (status === 422) return 'refused the consistency proof (422)';
  if (status === 429) return 'answered that it gets too many requests (429)';
  return `answered ${String(status)}`;
}

/** The size in the body of a 409; null if it names none. */
function sizeOf(answer: string): number | null {
  const text = /^(0|[1-9]\d{0,15})\n$/.exec(answer)?.[1];
  const size = Number(text);
  return text !== undefined && Number.isSafeInteger(size) ? size : null;
}

async function readCapped(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Read in chunks, so that an endless answer is cut off at the limit.
  for await (const chunk of response.body ?? []) {
    const bytes = chunk as Uint8Array;
    size += bytes.length;
    if (size > MAX_ANSWER_BYTES) throw new Error(`answered over ${String(MAX_ANSWER_BYTES)} bytes`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The reason of a failure in words. The error of `fetch` says only "fetch failed"; its cause has the code. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if (error.name === 'TimeoutError') return 'did not answer in time';
  const { code } = (error.cause ?? {}) as { code?: string };
  return error.message === 'fetch failed'
    ? `cannot be reached (${code ?? 'unknown'})`
    : error.message;
}

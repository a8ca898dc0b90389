// Follows every log of one kind for as long as the monitor runs: a log that has ended or was given up is looked at
// again at each turn, together with its successors, so that it can neither grow nor be rewritten unnoticed.

import { readdir } from 'node:fs/promises';
import { isJsonObject, parseJson } from '../../log/index.ts';
import type { Kind } from '../../log/index.ts';
import { tileWidth } from '../../log/operate.ts';
import type { VerifyPool } from '../../log/operate.ts';
import { CommandError, EXIT } from '../command-line.ts';
import type { HttpMirror } from '../mirror/http.ts';
import { isMirrorMissing, isMirrorTrouble } from '../mirror/tiled.ts';
import { progress } from '../progress.ts';
import type { Polled } from './clock-rules.ts';
import { CursorFiles, type Cursor } from './cursor.ts';
import { findingDocument, isFinding } from './finding.ts';
import { Follower, type LookOptions, type Missing } from './follower.ts';
import { judgeCosignatures, type Freshness, type Unwitnessed } from './clock-rules.ts';
import { KeyUses } from './key-uses.ts';
import { Notices, type Interest } from './notices.ts';
import { findPin, type PinOptions } from './pins.ts';
import type { Place } from './place.ts';
import type { Report } from './report.ts';
import { comparePair } from './succession.ts';

/** What all lines of a run share. */
export interface LineOptions extends PinOptions, Pick<Interest, 'verified' | 'watch'> {
  readonly place: Place;
  readonly state: string;
  readonly pool: VerifyPool;
  readonly report: Report;
  readonly bars: boolean;
  /** Ends the run: what is broken off then is no trouble. */
  readonly signal: AbortSignal;
  /** The keys of all logs of the service. */
  readonly keys?: KeyUses;
  /** How the cosignatures of checkpoints are judged, if they are. */
  readonly freshness?: Freshness;
  readonly missing?: Missing;
  /** Whether every checkpoint must have a signature of the log's ML-DSA-44 key. */
  readonly requireMlDsa?: boolean;
  /** Told of the key of each log that is followed. */
  readonly onLog?: (vkey: string) => void;
}

/** How a look at a kind ended; `unwitnessed`: all is well but for the cosignatures. */
export type Outcome = 'ok' | 'trouble' | 'violation' | 'unwitnessed';

/** One log of the line. */
interface Followed {
  readonly number: number;
  readonly mirror: HttpMirror;
  follower: Follower | null;
  /** It was lost, and is not served any more: said once. */
  gone: boolean;
  /** It was read to its end once, or to what is left of it. */
  read: boolean;
}

/** The logs of one kind in their order. */
export class Line {
  readonly kind: Kind;
  readonly #options: LineOptions;
  readonly #keys: KeyUses;
  readonly #logs: Followed[];
  #unwitnessed: Unwitnessed | null = null;

  constructor(kind: Kind, options: LineOptions) {
    this.kind = kind;
    this.#options = options;
    this.#keys = options.keys ?? new KeyUses();
    const { place } = options;
    const mirror = place.mirror(kind, place.from);
    this.#logs = [{ number: place.from, mirror, follower: null, gone: false, read: false }];
  }

  /** The newest log, such as `live/2`. */
  get name(): string {
    return this.#nameOf(this.#logs.at(-1)?.number ?? this.#options.place.from);
  }

  /** Looks at every log of the kind, at those that have appeared since, and at what they say of each other. */
  async look(polled?: Polled): Promise<Outcome> {
    if (await this.#held()) return 'violation';
    const outcomes: Outcome[] = [];
    // The list grows while it is walked.
    for (let at = 0; at < this.#logs.length; at += 1) {
      outcomes.push(await this.#lookAt(at, polled));
      if (outcomes.includes('violation')) return 'violation';
    }
    for (const [at, after] of this.#logs.entries()) {
      const before = this.#logs[at - 1];
      if (before !== undefined) outcomes.push(await this.#judgePair(before, after));
    }
    if (outcomes.includes('violation')) return 'violation';
    if (outcomes.includes('trouble')) return 'trouble';
    return this.#unwitnessed === null ? 'ok' : 'unwitnessed';
  }

  /** Leaves everything on disk for the next run. */
  async close(): Promise<void> {
    for (const { follower, mirror } of this.#logs) {
      await follower?.rest().catch(() => undefined);
      await mirror.close();
    }
  }

  async #lookAt(at: number, polled: Polled | undefined): Promise<Outcome> {
    const log = this.#logs[at];
    if (log === undefined) return 'ok';
    const { report } = this.#options;
    const outcome = await this.#outcome(log, async () => {
      const follower = await this.#open(log);
      const given_up = at < this.#logs.length - 1;
      const look = await follower.look({ polled, given_up }).catch(async (error: unknown) => {
        if (!this.#isGone(log, error)) throw error;
        if (!given_up) await this.#findNext(log);
        if (at === this.#logs.length - 1) throw error;
        this.#sayGone(log);
        return null;
      });
      log.read = true;
      if (look === null) return;
      report.checked(this.#nameOf(log.number), follower.origin, look);
      if (at === this.#logs.length - 1) this.#judge(log, follower, look.stale);
    });
    const { follower } = log;
    const keys =
      follower === null
        ? 'ok'
        : await this.#outcome(log, () => this.#keys.take(this.kind, follower));
    if ([outcome, keys].includes('violation')) return 'violation';
    if (at < this.#logs.length - 1) return outcome;
    const found = await this.#outcome(log, () => this.#findNext(log, { polled, given_up: true }));
    return outcome === 'ok' ? found : outcome;
  }

  /** Whether a log that is not closed is not served: it may have been lost. */
  #isGone(log: Followed, error: unknown): boolean {
    const missing = isMirrorMissing(error) && error.path === 'checkpoint';
    return missing && log.follower?.closed === false;
  }

  #sayGone(log: Followed): void {
    if (log.gone) return;
    log.gone = true;
    this.#options.report.note(this.#nameOf(log.number), 'was given up and is not served any more');
  }

  /** Says when the cosignatures of the newest checkpoint become too few or too old, and when no longer. */
  #judge({ number }: Followed, follower: Follower, stale: boolean): void {
    const { freshness, report } = this.#options;
    const end = follower.end();
    if (freshness === undefined || end === null || stale) return;
    const { origin, vkey, closed } = follower;
    const log = { origin, vkey, closed, note: end.note };
    const before = this.#unwitnessed;
    this.#unwitnessed = judgeCosignatures(freshness, log, Date.now());
    if (before?.problem !== this.#unwitnessed?.problem) {
      report.cosignatures(this.#nameOf(number), this.#unwitnessed);
    }
  }

  async #judgePair(before: Followed, after: Followed): Promise<Outcome> {
    const [older, newer] = [before.follower, after.follower];
    if (older === null || newer === null) return 'ok';
    return this.#outcome(after, () => comparePair(older, newer));
  }

  /** Findings that no operator has acknowledged: while there is one, nothing is read. */
  async #held(): Promise<boolean> {
    const { state, report } = this.#options;
    const names = await readdir(state).catch(() => []);
    let held = false;
    for (const name of names.sort()) {
      const [, number] =
        new RegExp(`^${this.kind}-([1-9]\\d*)\\.violation\\.json$`).exec(name) ?? [];
      if (number === undefined) continue;
      const files = this.#files(Number(number));
      const document = await files.readViolation();
      if (document === null) continue;
      report.violation(this.#nameOf(Number(number)), document, files.violationPath);
      held = true;
    }
    return held;
  }

  async #open(log: Followed): Promise<Follower> {
    if (log.follower !== null) return log.follower;
    const { pool, bars, signal, missing, report } = this.#options;
    const name = this.#nameOf(log.number);
    const files = this.#files(log.number);
    const cursor = await this.#cursor(log.number, files);
    const { requireMlDsa = false } = this.#options;
    if (requireMlDsa && cursor.vkey_ml_dsa === undefined) {
      throw new CommandError(
        `nothing names an ML-DSA-44 key of ${name}: give --kit, or --vkey with it`,
        EXIT.unknown,
      );
    }
    const bar = progress(name, bars);
    this.#options.onLog?.(cursor.vkey);
    const { verified, watch } = this.#options;
    const notices = new Notices(cursor.origin, {
      ...(verified === undefined ? {} : { verified }),
      ...(watch === undefined ? {} : { watch }),
      onWatched: (entry) => {
        report.watched(name, entry);
      },
    });
    log.follower = await Follower.open({
      ...{ mirror: log.mirror, files, cursor, pool, notices, signal, requireMlDsa },
      ...(missing === undefined ? {} : { missing }),
      earlier: (number) => this.#earlier(number),
      onProgress: (done, size) => {
        bar.at(done, size);
        if (done === size) bar.end();
      },
    });
    return log.follower;
  }

  #earlier(number: number): Follower | 'unread' | null {
    const log = this.#logs.find((one) => one.number === number);
    if (log === undefined) return null;
    const { follower, read } = log;
    return follower !== null && (read || follower.closed) ? follower : 'unread';
  }

  /** The pinned key, or the one that is pinned now. */
  async #cursor(number: number, files: CursorFiles): Promise<Cursor> {
    const { place, report } = this.#options;
    const name = this.#nameOf(number);
    const known = await files.read();
    const given =
      known === null || this.#options.vkey !== undefined || this.#options.kit !== undefined
        ? await findPin(this.#options, place.base, this.kind, number)
        : null;
    if (known !== null) {
      if (given === null || given.vkey === known.vkey) {
        return this.#withSecondKey(name, files, known, given?.vkey_ml_dsa);
      }
      throw new CommandError(
        `${name} is pinned to ${known.vkey} (${known.vkey_source}), now it would be ${given.vkey}`,
        EXIT.unknown,
      );
    }
    if (given === null) {
      throw new CommandError(
        `nothing says which key ${name} signs with: give --vkey or --kit`,
        EXIT.unknown,
      );
    }
    report.pinned(name, given);
    const { vkey, origin, source: vkey_source, vkey_ml_dsa } = given;
    const schema = 'actlog-monitor-cursor-v1' as const;
    const cursor = {
      ...{ schema, origin, vkey, vkey_source, note: null, closed: false, last_ms: 0 },
      ...(vkey_ml_dsa === undefined ? {} : { vkey_ml_dsa }),
    };
    await files.write(cursor);
    return cursor;
  }

  /** Pins the ML-DSA-44 key of a log that was pinned without one. A pinned one does not change. */
  async #withSecondKey(
    name: string,
    files: CursorFiles,
    known: Cursor,
    given: string | undefined,
  ): Promise<Cursor> {
    const { vkey_ml_dsa: pinned } = known;
    if (given === undefined || given === pinned) return known;
    if (pinned !== undefined) {
      throw new CommandError(
        `${name} is pinned to the ML-DSA-44 key ${pinned}, now it would be ${given}`,
        EXIT.unknown,
      );
    }
    this.#options.report.note(name, 'its ML-DSA-44 key is pinned from now on');
    const cursor = { ...known, vkey_ml_dsa: given };
    await files.write(cursor);
    return cursor;
  }

  /** Adds the log of the next number when it is there. */
  async #findNext(log: Followed, again?: LookOptions): Promise<void> {
    const { follower, number } = log;
    const { place } = this.#options;
    if (follower === null || place.base === null) return;
    const mirror = place.mirror(this.kind, number + 1);
    const note = await mirror.newest();
    if (note === null) {
      await mirror.close();
      return;
    }
    // It may have been closed, and its successor opened, since it was looked at.
    if (again !== undefined) await follower.look(again);
    this.#logs.push({ number: number + 1, mirror, follower: null, gone: false, read: false });
    await this.#sayLost(log, follower, mirror, note);
  }

  /** Notes that a log was lost with entries that its successor names and nobody has read. */
  async #sayLost(
    { number }: Followed,
    follower: Follower,
    next: HttpMirror,
    note: string,
  ): Promise<void> {
    const end = follower.end();
    const claimed = follower.closed ? null : await claimedSize(next, note);
    if (claimed === null || end === null || claimed <= end.size) return;
    this.#options.report.note(
      this.#nameOf(number),
      `was given up at ${String(claimed)} entries, of which ${String(claimed - end.size)} are not served`,
    );
  }

  /** Runs a part of a look; keeps a finding and reports what goes wrong. */
  async #outcome(log: Followed, part: () => Promise<void>): Promise<Outcome> {
    const { report, signal } = this.#options;
    try {
      await part();
      return 'ok';
    } catch (error) {
      if (signal.aborted) return 'ok';
      const name = this.#nameOf(log.number);
      if (isMirrorTrouble(error)) {
        report.trouble(name, error.message);
        return 'trouble';
      }
      if (!isFinding(error)) throw error;
      const { origin = name, vkey = '' } = log.follower ?? {};
      const files = this.#files(log.number);
      const document = findingDocument(error, { origin, vkey }, Date.now());
      await files.writeViolation(document);
      report.violation(name, document, files.violationPath);
      return 'violation';
    }
  }

  #nameOf(number: number): string {
    return `${this.kind}/${String(number)}`;
  }

  #files(number: number): CursorFiles {
    return new CursorFiles(this.#options.state, `${this.kind}-${String(number)}`);
  }
}

/** What the successor says of the size of its predecessor, unverified. */
async function claimedSize(next: HttpMirror, note: string): Promise<number | null> {
  const size = Number(note.split('\n', 2)[1]);
  const width = tileWidth(Number.isSafeInteger(size) ? size : 0, 0, 0);
  try {
    const [first] = width > 0 ? await next.bundle(0, width) : [];
    const opened = parseJson(first ?? new Uint8Array(0));
    const predecessor = isJsonObject(opened) ? (opened['predecessor'] ?? null) : null;
    const claimed = isJsonObject(predecessor) ? predecessor['size'] : null;
    return typeof claimed === 'number' ? claimed : null;
  } catch {
    return null; // the replay will say what is wrong with it
  }
}

// Follows every log of one kind, one after the other: when a log has ended or was given up, its successor.

import { isJsonObject, parseJson } from '../../log/index.ts';
import type { Kind } from '../../log/index.ts';
import type { VerifyPool } from '../../log/crypto/verify-pool.ts';
import { tileWidth } from '../../log/merkle/tile.ts';
import { CommandError, EXIT } from '../command-line.ts';
import type { HttpMirror } from '../mirror/http.ts';
import { MirrorTrouble } from '../mirror/limits.ts';
import { progress } from '../progress.ts';
import type { Polled } from './clock-rules.ts';
import { CursorFiles, type Cursor } from './cursor.ts';
import { Finding, findingDocument } from './finding.ts';
import { Follower, type FollowerOptions } from './follower.ts';
import { judgeCosignatures, type Freshness, type Unwitnessed } from './freshness.ts';
import { Notices, type Interest } from './notices.ts';
import { findPin, type PinOptions } from './pins.ts';
import type { Place } from './place.ts';
import type { Report } from './report.ts';

/** What all lines of a run share. */
export interface LineOptions extends PinOptions, Pick<Interest, 'verified' | 'watch'> {
  readonly place: Place;
  readonly state: string;
  readonly pool: VerifyPool;
  readonly report: Report;
  readonly bars: boolean;
  /** Ends the run: what is broken off then is no trouble. */
  readonly signal: AbortSignal;
  /** How the cosignatures of checkpoints are judged, if they are. */
  readonly freshness?: Freshness;
  /** Told of the key of each log that is followed. */
  readonly onLog?: (vkey: string) => void;
}

/** How a look at a kind ended; `unwitnessed`: all is well but for the cosignatures. */
export type Outcome = 'ok' | 'trouble' | 'violation' | 'unwitnessed';

/** Looks at a successor only now and then while a log has not ended. */
const PROBE_EVERY = 60;

/** The logs of one kind in their order. */
export class Line {
  readonly kind: Kind;
  readonly #options: LineOptions;
  #number: number;
  #follower: Follower | null = null;
  #mirror: HttpMirror | null = null;
  #before: FollowerOptions['predecessor'];
  #looks = 0;
  #unwitnessed: Unwitnessed | null = null;

  constructor(kind: Kind, options: LineOptions) {
    this.kind = kind;
    this.#options = options;
    this.#number = options.place.from;
  }

  get name(): string {
    return `${this.kind}/${String(this.#number)}`;
  }

  /** Looks at the newest log, and on the way there at every one before it. */
  async look(polled?: Polled): Promise<Outcome> {
    const { report } = this.#options;
    const held = await this.#held();
    if (held !== null) return held;
    try {
      do {
        const follower = await this.#open();
        const look = await follower.look(polled);
        report.checked(this.name, follower.origin, look);
        this.#looks += 1;
        this.#judge(follower, look.stale);
      } while (await this.#moveOn());
      return this.#unwitnessed === null ? 'ok' : 'unwitnessed';
    } catch (error) {
      return await this.#outcomeOf(error);
    }
  }

  /** Leaves everything on disk for the next run. */
  async close(): Promise<void> {
    await this.#follower?.rest().catch(() => undefined);
    await this.#mirror?.close();
  }

  /** Says when the cosignatures of the newest checkpoint become too few or too old, and when no longer. */
  #judge(follower: Follower, stale: boolean): void {
    const { freshness, report } = this.#options;
    const end = follower.end();
    if (freshness === undefined || end === null || stale) return;
    const { origin, vkey, closed } = follower;
    const log = { origin, vkey, closed, note: end.note };
    const before = this.#unwitnessed;
    this.#unwitnessed = judgeCosignatures(freshness, log, Date.now());
    if (before?.problem !== this.#unwitnessed?.problem) {
      report.cosignatures(this.name, this.#unwitnessed);
    }
  }

  /** A finding that nobody has looked at yet. */
  async #held(): Promise<Outcome | null> {
    const files = this.#files();
    const document = await files.readViolation();
    if (document === null) return null;
    this.#options.report.violation(this.name, document, files.violationPath);
    return 'violation';
  }

  async #open(): Promise<Follower> {
    if (this.#follower !== null) return this.#follower;
    const { pool, bars } = this.#options;
    const files = this.#files();
    const cursor = await this.#cursor(files);
    const bar = progress(this.name, bars);
    this.#options.onLog?.(cursor.vkey);
    const { verified, watch } = this.#options;
    const notices = new Notices(cursor.origin, {
      ...(verified === undefined ? {} : { verified }),
      ...(watch === undefined ? {} : { watch }),
      onWatched: (entry) => {
        this.#options.report.watched(this.name, entry);
      },
    });
    this.#follower = await Follower.open({
      mirror: this.#mirrorOf(),
      files,
      cursor,
      pool,
      notices,
      ...(this.#before === undefined ? {} : { predecessor: this.#before }),
      onProgress: (done, size) => {
        bar.at(done, size);
        if (done === size) bar.end();
      },
    });
    return this.#follower;
  }

  /** The pinned key, or the one that is pinned now. */
  async #cursor(files: CursorFiles): Promise<Cursor> {
    const { place, report } = this.#options;
    const known = await files.read();
    const given =
      known === null || this.#options.vkey !== undefined || this.#options.kit !== undefined
        ? await findPin(this.#options, place.base, this.kind, this.#number)
        : null;
    if (known !== null) {
      if (given === null || given.vkey === known.vkey) return known;
      throw new CommandError(
        `${this.name} is pinned to ${known.vkey} (${known.vkey_source}), now it would be ${given.vkey}`,
        EXIT.unknown,
      );
    }
    if (given === null) {
      throw new CommandError(
        `nothing says which key ${this.name} signs with: give --vkey or --kit`,
        EXIT.unknown,
      );
    }
    report.pinned(this.name, given);
    const { vkey, origin, source: vkey_source } = given;
    const schema = 'actlog-monitor-cursor-v1' as const;
    const cursor = { schema, origin, vkey, vkey_source, note: null, closed: false, last_ms: 0 };
    await files.write(cursor);
    return cursor;
  }

  /** Goes to the next number when it is there; true when there is something to look at. */
  async #moveOn(): Promise<boolean> {
    const follower = this.#follower;
    const { place } = this.#options;
    if (follower === null || place.base === null) return false;
    if (!follower.closed && this.#looks % PROBE_EVERY !== 1) return false;
    const next = place.mirror(this.kind, this.#number + 1);
    const note = await next.newest();
    if (note === null) {
      await next.close();
      return false;
    }
    const end = follower.end();
    const claimed = follower.closed ? null : await this.#claimedSize(next, note);
    await follower.rest();
    await this.#mirror?.close();
    this.#before = end ?? undefined;
    if (claimed !== null && end !== null && claimed > end.size) {
      // Lost before anybody could read its end: nothing to compare the successor with.
      this.#options.report.note(
        this.name,
        `was given up at ${String(claimed)} entries, of which ${String(claimed - end.size)} are not served`,
      );
      this.#before = undefined;
    }
    this.#mirror = next;
    this.#follower = null;
    this.#number += 1;
    return true;
  }

  /** What the successor says of the size of its predecessor; believed only to choose what to compare. */
  async #claimedSize(next: HttpMirror, note: string): Promise<number | null> {
    const size = Number(note.split('\n', 2)[1]);
    const width = tileWidth(Number.isSafeInteger(size) ? size : 0, 0, 0);
    const [first] = width > 0 ? await next.bundle(0, width) : [];
    try {
      const opened = parseJson(first ?? new Uint8Array(0));
      const predecessor = isJsonObject(opened) ? opened['predecessor'] : null;
      const claimed = isJsonObject(predecessor ?? null)
        ? (predecessor as { size?: unknown }).size
        : null;
      return typeof claimed === 'number' ? claimed : null;
    } catch {
      return null; // the replay will say what is wrong with it
    }
  }

  async #outcomeOf(error: unknown): Promise<Outcome> {
    const { report } = this.#options;
    if (this.#options.signal.aborted) return 'ok';
    if (error instanceof MirrorTrouble) {
      report.trouble(this.name, error.message);
      return 'trouble';
    }
    if (!(error instanceof Finding)) throw error;
    const { origin = this.name, vkey = '' } = this.#follower ?? {};
    const files = this.#files();
    const document = findingDocument(error, { origin, vkey }, Date.now());
    await files.writeViolation(document);
    report.violation(this.name, document, files.violationPath);
    return 'violation';
  }

  #files(): CursorFiles {
    return new CursorFiles(this.#options.state, `${this.kind}-${String(this.#number)}`);
  }

  #mirrorOf(): HttpMirror {
    this.#mirror ??= this.#options.place.mirror(this.kind, this.#number);
    return this.#mirror;
  }
}

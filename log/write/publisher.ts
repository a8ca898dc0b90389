// Publishes checkpoints at intervals. The steps are mapHead, sign, remember, cosign and publish; test/model/log.qnt
// models them under these names. The publisher never signs two roots for one size: it signs a size once, after its map
// head is durable.

import { native } from '../crypto/native.ts';
import type { Core } from './core.ts';
import { toBase64 } from '../encoding/bytes.ts';
import type { Keyring } from './keyring.ts';
import { consistencyPath, rootAt } from '../merkle/prove.ts';
import { formatCheckpoint, signCheckpoint } from '../note/checkpoint.ts';
import type { Checkpoint } from '../note/checkpoint.ts';
import type { NotePool } from '../note/note-pool.ts';
import { mlDsaLine, mlDsaMessage } from '../note/note.ts';
import type { Sequencer } from './sequencer.ts';
import { noteKey } from '../store/layout.ts';
import type { Register } from '../store/register.ts';
import { registerName, type Remembered } from '../store/register.ts';
import { put } from '../store/store.ts';
import type { Published } from '../types.ts';

/** Shortest time between requested checkpoints, so that waiting readers share one. */
const ASKED_INTERVAL_MS = 50;

/** How often the acknowledged size is written to the checkpoint register between checkpoints. */
const ACKNOWLEDGE_MS = 1000;

/** A published tree head and the version of the map that it commits to. */
export interface Visible extends Published {
  readonly version: number;
  /** Number of keys in that version of the map. */
  readonly keys: number;
}

/** A signed note that witnesses are asked to cosign. */
export interface Offer {
  readonly origin: string;
  readonly vkey: string;
  readonly note: string;
  readonly size: number;
  /** The consistency path from an older size, as witnesses require it. */
  readonly consistency: (from: number) => readonly Uint8Array[];
}

/** A note with the lines of its cosigners. */
export interface CosignedNote {
  readonly note: string;
  readonly cosignatures: number;
  /**
   * The note with cosignatures that are made only after publication, such as those of monitors, which check the entries
   * first; null if there are none. It never rejects.
   */
  readonly later?: () => Promise<CosignedNote | null>;
}

/** Asks for cosignatures. Null if they are not enough to publish the note. */
export type Cosign = (offer: Offer) => Promise<CosignedNote | null>;

/** A size whose note is signed and may have been shown to witnesses, but is not published. */
type Offered = Omit<Visible, 'published_at_ms' | 'cosignatures'>;

/** How a publisher is started. */
export interface PublisherOptions {
  readonly interval_ms: number;
  readonly idle_ms: number;
  readonly number: number;
  readonly register: Register;
  /** The value of the log in the register. */
  readonly held: Remembered;
  /** Whether to publish nothing, because the log cannot sign or has a successor. */
  readonly read_only: boolean;
  /** The newest note that may have left the process before this start. */
  readonly signed: string | null;
  readonly cosign?: Cosign;
  /** Signs checkpoints with ML-DSA-44 as well. */
  readonly ml_dsa?: Pick<NotePool, 'sign'>;
  /** Called after each published checkpoint, with the previous one. */
  readonly onVisible: (visible: Visible, before: Visible) => void;
  readonly onFailure: (error: unknown) => void;
}

/** One publisher for each core. */
export class Publisher {
  readonly #core: Core;
  readonly #keyring: Keyring;
  readonly #sequencer: Sequencer;
  readonly #options: PublisherOptions;
  #visible: Visible;
  /** A note that found no quorum. It is offered again until a larger size is signed. */
  #offered: Offered | null = null;
  #asked = 0;
  #running: Promise<void> | null = null;
  readonly #timer: NodeJS.Timeout | null;
  /**
   * Whether the last offer found no quorum. Until an offer does, only the timer offers, so that requests do not
   * multiply the offers.
   */
  #missed = false;
  /** When the visible head was published, on the monotonic clock. */
  #since: number;
  /** The newest note that may have left the process. */
  #signed: string | null;
  #acknowledged = { size: 0, root: '' };
  readonly #acknowledgeTimer: NodeJS.Timeout | null;
  #held: Remembered;
  #mlDsa: ReturnType<Keyring['mlDsa']> | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #stopped: boolean;

  constructor(
    core: Core,
    keyring: Keyring,
    sequencer: Sequencer,
    visible: Visible,
    options: PublisherOptions,
  ) {
    this.#core = core;
    this.#keyring = keyring;
    this.#sequencer = sequencer;
    this.#visible = visible;
    this.#options = options;
    this.#signed = options.signed;
    this.#held = options.held;
    // The idle time of a restarted log counts from its last map head, as monitors count it.
    const age = core.clock.wall() - visible.map_head_ms;
    this.#since = performance.now() - Math.min(Math.max(age, 0), options.idle_ms);
    this.#stopped = options.read_only;
    this.#timer = options.read_only ? null : setInterval(() => this.#tick(), options.interval_ms);
    this.#acknowledgeTimer = options.read_only
      ? null
      : setInterval(() => void this.#acknowledge(), ACKNOWLEDGE_MS);
    this.#timer?.unref();
    this.#acknowledgeTimer?.unref();
  }

  get visible(): Visible {
    return this.#visible;
  }

  /** Shows a checkpoint that another node has published, or the same one with more cosignatures. */
  show(visible: Visible): void {
    const before = this.#visible;
    this.#visible = visible;
    if (visible.size > before.size) this.#options.onVisible(visible, before);
  }

  /** Requests a checkpoint over at least `size` entries. */
  ask(size: number): void {
    if (this.#options.read_only) return;
    // A checkpoint adds one entry, its map head. A request for more waits for further entries without delaying others.
    const within = Math.min(size, this.#core.durable + 1);
    if (within <= this.#asked || within <= this.#visible.size) return;
    this.#asked = within;
    if (this.#missed) return;
    const since = performance.now() - this.#since;
    setTimeout(
      () => {
        // The timer or an earlier request may have published it meanwhile.
        if (within > this.#visible.size) this.#publish();
      },
      Math.max(0, ASKED_INTERVAL_MS - since),
    );
  }

  /** Publishes a checkpoint over all durable entries, after the one in progress. */
  async publish(): Promise<void> {
    await this.#running;
    if (!this.#current()) this.#publish();
    await this.#running;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    if (this.#acknowledgeTimer !== null) clearInterval(this.#acknowledgeTimer);
    await this.#running;
    if (!this.#options.read_only) await this.#acknowledge();
  }

  #tick(): void {
    const idle = performance.now() - this.#since >= this.#options.idle_ms;
    if (!this.#current() || idle) this.#publish();
  }

  /** Whether the visible checkpoint covers every durable entry. */
  #current(): boolean {
    return this.#core.durable === this.#visible.size;
  }

  #publish(): void {
    if (this.#stopped || this.#running !== null) return;
    // A closed log takes no further map head.
    if (this.#core.position.closed && this.#current()) return;
    this.#running = this.#once()
      .catch(this.#options.onFailure)
      .finally(() => {
        this.#running = null;
        // Requests that came during this publication are served at once.
        if (this.#missed) return;
        if (this.#asked > this.#visible.size && this.#asked <= this.#core.durable + 1) {
          setTimeout(() => {
            if (this.#asked > this.#visible.size) this.#publish();
          }, ASKED_INTERVAL_MS);
        }
      });
  }

  async #once(): Promise<void> {
    const again = this.#offered?.size === this.#core.durable ? this.#offered : null;
    const offered = again ?? (await this.#offer());
    const { origin } = this.#core;
    const { size } = offered;
    // cosign: witnesses, when there are any.
    const cosigned =
      this.#options.cosign === undefined
        ? { note: offered.note, cosignatures: 0 }
        : await this.#options.cosign({
            origin,
            vkey: this.#keyring.vkey(origin),
            note: offered.note,
            size,
            consistency: (from) => consistencyPath(this.#core.tiles, from, size),
          });
    this.#missed = cosigned === null;
    if (cosigned === null) return;
    // publish: the note is in the database, then visible. A crash before that leaves it in the register only, and it is
    // offered again.
    await this.#core.store.write([put(noteKey(size), Buffer.from(cosigned.note))]);
    const before = this.#visible;
    this.#offered = null;
    const { later, ...shown } = cosigned;
    this.#visible = { ...offered, ...shown, published_at_ms: this.#core.clock.wall() };
    this.#since = performance.now();
    this.#options.onVisible(this.#visible, before);
    if (later !== undefined) this.#join(size, later);
  }

  /** Replaces the note of this size by one with more cosignatures. */
  #join(size: number, later: () => Promise<CosignedNote | null>): void {
    const joining = later().then(async (cosigned) => {
      if (cosigned === null || this.#stopped) return;
      await this.#core.store.write([put(noteKey(size), Buffer.from(cosigned.note))]);
      const { note, cosignatures } = cosigned;
      if (this.#visible.size === size) this.#visible = { ...this.#visible, note, cosignatures };
    });
    joining.catch((error: unknown) => {
      // After the publisher has stopped, the store may be closed; the note that it holds is good enough.
      if (!this.#stopped) this.#options.onFailure(error);
    });
  }

  /** Appends a map head and signs a checkpoint of the size that ends with it. */
  async #offer(): Promise<Offered> {
    const core = this.#core;
    const { origin } = core;
    // mapHead: a map head is durable. A crash here leaves one that no checkpoint ends with, which is allowed.
    const { version, keys, index, issued_at_ms } = await this.#mapHead();
    if (this.#offered !== null) core.fold.release(this.#offered.version);
    const size = index + 1;
    const root = rootAt(core.tiles, native, size);
    const note =
      signCheckpoint(native, this.#keyring.checkpoint(), { origin, size, root }) +
      (await this.#mlDsaLine({ origin, size, root }));
    // sign, remember: the note is in the register. After a crash here, the next start finds it there and publishes it.
    this.#signed = note;
    await this.#remember(size, root);
    this.#offered = { size, root, note, map_head_ms: issued_at_ms, version, keys };
    return this.#offered;
  }

  /** The second signature line of a checkpoint; empty unless the log signs with ML-DSA-44 as well. */
  async #mlDsaLine(checkpoint: Checkpoint): Promise<string> {
    const { ml_dsa } = this.#options;
    if (ml_dsa === undefined) return '';
    this.#mlDsa ??= this.#keyring.mlDsa();
    const { seed, publicKey } = this.#mlDsa;
    const { origin } = checkpoint;
    // Time 0: the key of a log states no time (C2SP tlog-cosignature).
    const message = mlDsaMessage(origin, formatCheckpoint(checkpoint), 0);
    return mlDsaLine(native, origin, publicKey, 0, await ml_dsa.sign(seed, message));
  }

  /** Appends a map head, except to a closed log whose last map head was written before a crash. */
  async #mapHead(): Promise<{
    version: number;
    keys: number;
    index: number;
    issued_at_ms: number;
  }> {
    const { position, fold } = this.#core;
    const { map_head } = position;
    if (position.closed && map_head !== null && map_head.index === position.size - 1) {
      const { version, keys } = await fold.cut();
      return { version, keys, index: map_head.index, issued_at_ms: map_head.ms };
    }
    const { version, keys, appended } = await this.#sequencer.mapHead();
    return { version, keys, index: appended.index, issued_at_ms: appended.issued_at_ms };
  }

  async #acknowledge(): Promise<void> {
    const size = this.#core.durable;
    if (size <= this.#acknowledged.size) return;
    try {
      await this.#remember(size, rootAt(this.#core.tiles, native, size));
    } catch (error) {
      this.#options.onFailure(error);
    }
  }

  /**
   * Advances the register, one call at a time, to the newest note and the largest acknowledged size. After a failed
   * call, a new engine reads the value of the register.
   */
  #remember(size: number, root: Uint8Array): Promise<void> {
    if (size > this.#acknowledged.size) this.#acknowledged = { size, root: toBase64(root) };
    const { origin, kind } = this.#core;
    const name = registerName(kind, this.#options.number);
    const advanced = this.#turn.then(async () => {
      const next = { origin, note: this.#signed, acknowledged: this.#acknowledged };
      await this.#options.register.advance(name, this.#held, next);
      this.#held = next;
    });
    this.#turn = advanced.catch(() => undefined);
    return advanced;
  }
}

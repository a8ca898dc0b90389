// The tools of a server as attempt surfaces of an entity: declared before they are called, and watched by heartbeats
// while the proxy runs. gateway/API.md §9; log/FORMAT.md §4.

import { createHash } from 'node:crypto';
import { objectOf } from '../../log/verify.ts';
import type { Client } from '../clients/typescript/index.ts';
import { messageOf } from '../clients/typescript/hooks/acts.ts';
import type { Place } from '../clients/typescript/hooks/acts.ts';

const SURFACE = /^[a-z][a-z0-9_]{0,63}$/;
const HASH_DIGITS = 8;

/**
 * The surface of a tool. A name that is one stays as it is. Any other is lower-cased, what is no letter, digit or
 * underscore becomes `_`, a name that does not begin with a letter gets `t_` before it, and `_` with the first 8 hex digits
 * of SHA-256 of the name follows, 64 characters at most in all.
 */
export function surfaceOfTool(tool: string): string {
  if (SURFACE.test(tool)) return tool;
  const lower = tool.toLowerCase().replace(/[^a-z0-9_]/g, '_');
  const begun = /^[a-z]/.test(lower) ? lower : `t_${lower}`;
  const digits = createHash('sha256').update(tool).digest('hex').slice(0, HASH_DIGITS);
  return `${begun.slice(0, 63 - HASH_DIGITS)}_${digits}`;
}

/** Share of the promised interval after which a heartbeat is sent. */
const BEAT_SHARE = 0.9;
/** The server is asked for its tools in so long, or calls go on without a new declaration. */
const LIST_MS = 10_000;

/** Settings. */
export interface SurfacesOptions {
  readonly client: Client;
  /** Unless given, it is the only one of the tenant, or a new one if the tenant has none. */
  readonly entity: string | undefined;
  /** Promised interval of heartbeats; undefined for none. */
  readonly heartbeatMs: number | undefined;
  /** The names of the server's tools; null if it has no list. */
  readonly tools: () => Promise<readonly string[] | null>;
  readonly log: (line: string) => void;
  readonly now: () => number;
}

/** Declares and watches. */
export class Surfaces {
  readonly #options: SurfacesOptions;
  /** Acts since this proxy started, by surface. */
  readonly #acts = new Map<string, number>();
  #entity: Promise<string> | undefined;
  /** The tools of the newest list. */
  #names: readonly string[] | null = null;
  #tools: ReadonlySet<string> = new Set();
  #declared = new Set<string>();
  #declaring: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: SurfacesOptions) {
    this.#options = options;
  }

  /**
   * The entity of all calls.
   *
   * @throws what the client throws; Error if the tenant has several
   */
  entity(): Promise<string> {
    this.#entity ??= this.#findEntity().catch((error: unknown) => {
      this.#entity = undefined;
      throw error;
    });
    return this.#entity;
  }

  /** Declares the tools of the server, anew where they changed. One at a time. */
  declare(): Promise<void> {
    this.#declaring ??= this.#declare().finally(() => (this.#declaring = undefined));
    return this.#declaring;
  }

  /** The server says that its tools changed: the next call waits for their declaration. */
  changed(): void {
    this.#tools = new Set();
  }

  /**
   * The surface of a tool, declared if the server lists it.
   *
   * @throws what the client throws
   */
  async of(tool: string): Promise<{ readonly entity: string; readonly surface: string }> {
    if (!this.#tools.has(tool)) await this.declare();
    return { entity: await this.entity(), surface: surfaceOfTool(tool) };
  }

  /** Counts an act. */
  attempted({ surface }: Place): void {
    if (surface !== undefined) this.#acts.set(surface, (this.#acts.get(surface) ?? 0) + 1);
  }

  /** Ends the heartbeats. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #findEntity(): Promise<string> {
    const { entity, client } = this.#options;
    if (entity !== undefined) return entity;
    const me = await client.request('GET', '/api/v1/me', { verify: false });
    const [only, another] = me.entities;
    if (another !== undefined)
      throw new Error('the tenant has several entities: name one with --entity');
    return only ?? `mcp:${me.tenant_id.toLowerCase().replace(/[^a-z0-9:._-]/g, '-')}`;
  }

  async #declare(): Promise<void> {
    const { client, heartbeatMs, log, tools } = this.#options;
    let late: NodeJS.Timeout | undefined;
    const limit = new Promise<null>((resolve) => (late = setTimeout(resolve, LIST_MS, null)));
    const listed = await Promise.race([tools(), limit]).finally(() => {
      clearTimeout(late);
    });
    const names = (this.#names = listed ?? this.#names);
    if (names === null) return;
    const wanted = names.map(surfaceOfTool);
    if (wanted.some((surface) => !this.#declared.has(surface))) {
      const entity = await this.entity();
      const found = await client.request('GET', '/api/v1/astl/lookup', {
        query: { entity },
        verify: false,
      });
      const inForce = found.found && found.in_force ? objectOf(found.manifest) : {};
      const before = (inForce['surfaces'] ?? []) as readonly string[];
      const promised = heartbeatMs ?? (inForce['heartbeat_interval_ms'] as number | undefined);
      const gap = inForce['min_detectable_gap_ms'];
      const isKept = promised === inForce['heartbeat_interval_ms'] && typeof gap === 'number';
      const surfaces = [...new Set([...before, ...wanted])].sort();
      if (surfaces.length > before.length || promised !== inForce['heartbeat_interval_ms']) {
        const body = {
          ...{ entity, surfaces },
          ...(promised === undefined ? {} : { heartbeat_interval_ms: promised }),
          ...(isKept ? { min_detectable_gap_ms: gap } : {}),
        };
        await client.request('POST', '/api/v1/astl/publish', { body });
        log(`declared ${String(surfaces.length)} surfaces of ${entity}`);
      }
      this.#declared = new Set(wanted);
    }
    this.#tools = new Set(names);
    if (heartbeatMs !== undefined && this.#timer === undefined) this.#beat(heartbeatMs);
  }

  /** One round of heartbeats, and the next after nine tenths of the interval, or sooner after a failure. */
  #beat(interval_ms: number): void {
    const { client, log, now } = this.#options;
    const begun = now();
    const round = async (): Promise<void> => {
      const entity = await this.entity();
      await Promise.all(
        [...this.#declared].map((surface) => {
          const acts_total = this.#acts.get(surface) ?? 0;
          const body = { entity, surface, interval_ms, acts_total };
          return client.request('POST', '/api/v1/astl/heartbeat', { body });
        }),
      );
    };
    const next = (afterMs: number): void => {
      if (this.#closed) return;
      const waitMs = Math.max(0, begun + afterMs - now());
      this.#timer = setTimeout(() => {
        this.#beat(interval_ms);
      }, waitMs);
      this.#timer.unref();
    };
    this.#timer = setTimeout(() => undefined, 0);
    round().then(
      () => {
        next(interval_ms * BEAT_SHARE);
      },
      (error: unknown) => {
        log(`a heartbeat failed: ${messageOf(error)}`);
        next(Math.max(1000, interval_ms * (1 - BEAT_SHARE)));
      },
    );
  }
}

// A monitor for tests, with a server of forged logs, a state folder, and a report that records its calls. The logs are
// forged, so that every broken rule is signed.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openVerifyPool } from '../../../log/crypto/verify-pool.ts';
import type { JsonObject } from '../../../log/encoding/json.ts';
import { openEntry, verifyCheckpoint } from '../../../log/verify.ts';
import type { Polled, Unwitnessed } from '../../../tools/monitor/clock-rules.ts';
import { Line, type LineOptions, type Outcome } from '../../../tools/monitor/line.ts';
import type { Look } from '../../../tools/monitor/follower.ts';
import { placeOf } from '../../../tools/monitor/place.ts';
import type { Report } from '../../../tools/monitor/report.ts';
import type { Watched } from '../../../tools/monitor/watch.ts';
import type { Forge } from '../../support/forge.ts';
import { ACT, RECEIPT_KEY } from '../../support/forge.ts';
import { serveLogs } from '../../support/serve-log.ts';
import type { LogServer } from '../../support/serve-log.ts';

/** The calls of a report, in order. */
export class Told implements Report {
  readonly looks: Look[] = [];
  readonly pins: string[] = [];
  readonly troubles: string[] = [];
  readonly notes: string[] = [];
  readonly violations: JsonObject[] = [];
  readonly entries: Watched[] = [];
  readonly cosigned: (string | null)[] = [];

  pinned(_log: string, { vkey }: { vkey: string }): void {
    this.pins.push(vkey);
  }
  checked(_log: string, _origin: string, look: Look): void {
    this.looks.push(look);
  }
  trouble(_log: string, reason: string): void {
    this.troubles.push(reason);
  }
  violation(_log: string, document: JsonObject): void {
    this.violations.push(document);
  }
  note(_log: string, text: string): void {
    this.notes.push(text);
  }
  watched(_log: string, entry: Watched): void {
    this.entries.push(entry);
  }
  cosignatures(_log: string, unwitnessed: Unwitnessed | null): void {
    this.cosigned.push(unwitnessed?.problem ?? null);
  }
}

const pool = openVerifyPool({ threads: 0 });

/** A monitor of a log that a test serves. */
export class Monitor {
  readonly told = new Told();
  readonly server: LogServer;
  readonly state: string;
  #line: Line | null = null;

  private constructor(server: LogServer, state: string) {
    this.server = server;
    this.state = state;
  }

  /** Starts a monitor whose server has no log yet. */
  static async start(): Promise<Monitor> {
    const state = await mkdtemp(join(tmpdir(), 'actlog-monitor-'));
    const monitor = new Monitor(await serveLogs(), state);
    await monitor.again();
    return monitor;
  }

  get line(): Line {
    assert.ok(this.#line !== null);
    return this.#line;
  }

  /** Looks once, as the monitor does in each interval. */
  look(polled?: Polled): Promise<Outcome> {
    return this.line.look(polled);
  }

  /** Starts the monitor again, as after a restart. */
  async again(more: Partial<LineOptions> = {}, address = this.server.url): Promise<void> {
    await this.#line?.close();
    const place = await placeOf(address, 'live', { attempts: 1 });
    const signal = new AbortController().signal;
    const { state, told: report } = this;
    const missing = { attempts: 2, pause_ms: 0 };
    this.#line = new Line('live', {
      place,
      state,
      pool,
      report,
      bars: false,
      signal,
      missing,
      ...more,
    });
  }

  /** The finding of a look that must find one, which is also in a file. */
  async finding(polled?: Polled): Promise<JsonObject> {
    const { told, state, line } = this;
    assert.equal(await this.look(polled), 'violation', told.troubles.join());
    const document = told.violations.at(-1) ?? {};
    const name = line.name.replace('/', '-');
    const kept = await readFile(join(state, `${name}.violation.json`), 'utf8');
    assert.deepEqual(JSON.parse(kept), document);
    return document;
  }

  async close(): Promise<void> {
    await this.#line?.close();
    await this.server.close();
    await rm(this.state, { recursive: true, force: true });
  }
}

/** Checks with the offline verifier that a finding's last note commits to its entries. */
export function assertProves({ notes, entries, proof, vkey }: JsonObject, indexes: number[]): void {
  const { kid, jwk } = RECEIPT_KEY;
  const origin = (vkey as string).split('+', 1)[0] ?? '';
  const trust = { origin, vkey: vkey as string, keys: [{ kid, jwk }] };
  const tree = verifyCheckpoint((notes as string[]).at(-1) ?? '', trust);
  const opened = (entries as JsonObject[]).map((entry) => openEntry(entry, tree, trust).index);
  assert.deepEqual(opened, indexes);
  assert.equal(proof, 'signed');
}

/** Adds this number of acts, and a map head after them. */
export const grow = (forge: Forge, acts: number): Forge => {
  for (let i = 0; i < acts; i += 1) forge.add('gate.decision.v1', ACT);
  return forge.mapHead();
};

// What a monitor has checked and found, as metrics for Prometheus and as health.

import { Counter, Gauge, Registry } from 'prom-client';
import type { JsonObject } from '../../log/index.ts';
import type { Status } from '../status.ts';
import type { Report } from './report.ts';

/** Pauses grow up to five minutes while a service does not answer; a look takes time as well. */
const LATE_MS = 600_000;

/** The metrics of one run. */
export class MonitorMetrics implements Status {
  readonly registry = new Registry();
  readonly #late_ms: number;
  readonly #now: () => number;
  /** When each log was last checked without trouble. */
  readonly #checked = new Map<string, number>();
  readonly #troubled = new Map<string, string>();
  readonly #violated = new Map<string, string>();
  readonly #started: number;
  readonly #size: Gauge<'log'>;
  readonly #entries: Counter<'log'>;
  readonly #troubles: Counter<'log'>;
  readonly #violations: Counter<'log' | 'rule'>;
  readonly #unwitnessed: Gauge<'log'>;

  /** @param interval_ms between two looks */
  constructor(interval_ms: number, now: () => number = Date.now) {
    this.#late_ms = Math.max(LATE_MS, 3 * interval_ms);
    this.#now = now;
    this.#started = now();
    const registers = [this.registry];
    const [labelNames, prefix] = [['log'] as const, 'actlog_monitor_'];
    this.#size = new Gauge({
      name: `${prefix}size`,
      help: 'Entries of the log that are checked.',
      ...{ labelNames, registers },
    });
    this.#entries = new Counter({
      name: `${prefix}entries_total`,
      help: 'Entries that were checked since the start.',
      ...{ labelNames, registers },
    });
    this.#troubles = new Counter({
      name: `${prefix}troubles_total`,
      help: 'Looks that got no answer which could be checked.',
      ...{ labelNames, registers },
    });
    this.#violations = new Counter({
      name: `${prefix}violations_total`,
      help: 'Broken rules that were found, by rule. The monitor ends with the first one.',
      ...{ labelNames: ['log', 'rule'] as const, registers },
    });
    this.#unwitnessed = new Gauge({
      name: `${prefix}unwitnessed`,
      help: '1 while the cosignatures of the newest checkpoint are too few or too old for --policy.',
      ...{ labelNames, registers },
    });
    const checked = this.#checked;
    new Gauge({
      name: `${prefix}checked_timestamp_seconds`,
      help: 'When the log was last checked up to its newest checkpoint.',
      ...{ labelNames, registers },
      collect() {
        for (const [log, ms] of checked) this.set({ log }, ms / 1000);
      },
    });
  }

  /** Not ok after a violation, and once a log was not checked for ten minutes or three intervals. */
  health(): JsonObject & { readonly ok: boolean } {
    const now = this.#now();
    const logs = Object.fromEntries(
      [...this.#checked].map(([log, ms]) => [log, { checked_ms: ms }]),
    );
    const newest = [
      ...this.#checked.values(),
      ...(this.#checked.size === 0 ? [this.#started] : []),
    ];
    const fresh = newest.every((ms) => now - ms <= this.#late_ms);
    const ok = fresh && this.#violated.size === 0;
    const reasons = [
      ...[...this.#violated].map(([log, rule]) => `${log}: violation of ${rule}`),
      ...[...this.#troubled].map(([log, reason]) => `${log}: ${reason}`),
    ];
    return { ok, logs, reasons };
  }

  /** Says everything to `report` as well. */
  report(report: Report): Report {
    return {
      pinned: (log, pin) => {
        report.pinned(log, pin);
      },
      watched: (log, entry) => {
        report.watched(log, entry);
      },
      note: (log, text) => {
        report.note(log, text);
      },
      checked: (log, origin, look) => {
        report.checked(log, origin, look);
        this.#checked.set(log, this.#now());
        this.#troubled.delete(log);
        this.#size.set({ log }, look.size);
        this.#entries.inc({ log }, look.entries);
      },
      trouble: (log, reason) => {
        report.trouble(log, reason);
        this.#troubled.set(log, reason);
        this.#troubles.inc({ log });
      },
      violation: (log, document, path) => {
        report.violation(log, document, path);
        const { rule } = document as { rule: string };
        this.#violated.set(log, rule);
        this.#violations.inc({ log, rule });
      },
      cosignatures: (log, unwitnessed) => {
        report.cosignatures(log, unwitnessed);
        this.#unwitnessed.set({ log }, unwitnessed === null ? 0 : 1);
      },
    };
  }
}

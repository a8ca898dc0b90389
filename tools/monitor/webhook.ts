// A report that also goes to a webhook: findings at once, trouble when it lasts.

import type { Webhook } from '../webhook.ts';
import type { Report } from './report.ts';

/** Trouble that has lasted this long is reported once. */
const LASTING_MS = 300_000;

/** Says everything to `report`, and posts what somebody has to look at. */
export function webhookReport(
  report: Report,
  webhook: Pick<Webhook, 'send'>,
  { now = Date.now, lasting_ms = LASTING_MS }: { now?: () => number; lasting_ms?: number } = {},
): Report {
  const troubles = new Map<string, { readonly since_ms: number; told: boolean }>();
  return {
    pinned: (log, pin) => {
      report.pinned(log, pin);
    },
    checked(log, origin, look) {
      report.checked(log, origin, look);
      troubles.delete(log);
    },
    trouble(log, reason) {
      report.trouble(log, reason);
      const trouble = troubles.get(log) ?? { since_ms: now(), told: false };
      troubles.set(log, trouble);
      if (trouble.told || now() - trouble.since_ms < lasting_ms) return;
      trouble.told = true;
      webhook.send('monitor.trouble', { log, reason, since_ms: trouble.since_ms });
    },
    violation(log, document, path) {
      report.violation(log, document, path);
      const { rule } = document;
      const fork = rule === 'two_roots' || rule === 'inconsistent';
      webhook.send(fork ? 'monitor.fork' : 'monitor.violation', { log, ...document });
    },
    watched(log, entry) {
      report.watched(log, entry);
      const keys = entry.keys.map((key) => [...key]);
      webhook.send('monitor.watched', { log, ...entry, keys });
    },
    cosignatures(log, unwitnessed) {
      report.cosignatures(log, unwitnessed);
      webhook.send('monitor.cosignatures', { log, ...(unwitnessed ?? { problem: null }) });
    },
    note: (log, text) => {
      report.note(log, text);
    },
  };
}

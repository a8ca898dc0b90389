// What a monitor does beside checking: cosigns, watches, judges cosignatures, posts. Opened from the options of
// the command, and closed with it.

import { readFile } from 'node:fs/promises';
import { native, parsePolicy } from '../../log/index.ts';
import { CommandError, EXIT } from '../command-line.ts';
import { parseSpan } from '../duration.ts';
import type { Bell } from './bell.ts';
import type { Cosigner } from './cosign.ts';
import type { LineOptions } from './line.ts';
import type { Report } from './report.ts';
import { Verified } from './verified.ts';
import { watchOf } from './watch.ts';
import { Webhook, webhookAddress } from '../webhook.ts';
import { serveStatus } from '../status.ts';
import { webhookReport } from './webhook.ts';

/** The options of the command that are about these. */
export interface MonitorExtras {
  readonly state: string;
  readonly once?: boolean;
  readonly watch?: readonly string[];
  readonly webhook?: string;
  readonly metrics?: string;
  readonly policy?: string;
  readonly maxCosignatureAge: string;
  readonly cosign?: string;
  readonly cosignKey?: string;
  readonly cosignServe: string;
}

/** What lines need of them. */
export interface OpenExtras {
  readonly line: Pick<LineOptions, 'report' | 'verified' | 'watch' | 'freshness' | 'onLog'>;
  close(): Promise<void>;
}

/** What is still on its way to the webhook at the end has this long. */
const LAST_WORDS_MS = 10_000;

/** Opens what the options ask for; `CommandError` for what makes no sense. */
export async function openExtras(
  options: MonitorExtras,
  report: Report,
  { bell, interval_ms }: { readonly bell: Bell; readonly interval_ms: number },
): Promise<OpenExtras> {
  const { state, once, cosign, cosignKey, cosignServe } = options;
  if (once === true && cosign !== undefined) {
    throw new CommandError('--cosign answers while it runs: leave --once away', EXIT.unknown);
  }
  const url = options.webhook === undefined ? undefined : webhookAddress(options.webhook);
  const watch = watchOf(options.watch ?? []);
  const freshness = await freshnessOf(options);
  const verified = cosign === undefined ? undefined : new Verified(bell.ring);
  let webhook: Webhook | undefined;
  let cosigner: Cosigner | undefined;
  if (cosign !== undefined && verified !== undefined) {
    const { openCosigner } = await import('./cosign.ts');
    cosigner = await openCosigner({
      ...{ name: cosign, serve: cosignServe, state, verified },
      ...(cosignKey === undefined ? {} : { keyFile: cosignKey }),
      onAnotherRoot({ origin, size }, note) {
        const text = `was offered with another root at ${String(size)} entries, signed:\n${note}`;
        report.note(origin, text);
        webhook?.send('monitor.fork', { origin, size, notes: [note] });
      },
    });
    report.note('cosigner', cosigner.line);
  }
  if (url !== undefined) {
    const signer = cosigner?.signer;
    webhook = new Webhook({
      url,
      ...(signer === undefined ? {} : { signer }),
      onTrouble: (reason) => {
        report.note('webhook', reason);
      },
    });
  }
  const metrics =
    options.metrics === undefined ? null : await openMetrics(options.metrics, interval_ms);
  const posted = webhook === undefined ? report : webhookReport(report, webhook);
  return {
    line: {
      report: metrics === null ? posted : metrics.report(posted),
      watch,
      ...(verified === undefined ? {} : { verified }),
      ...(freshness === undefined ? {} : { freshness }),
      onLog: (vkey) => {
        cosigner?.know(vkey);
      },
    },
    async close() {
      await cosigner?.close();
      await metrics?.close();
      await webhook?.close(LAST_WORDS_MS);
    },
  };
}

async function openMetrics(address: string, interval_ms: number) {
  const { MonitorMetrics } = await import('./metrics.ts');
  const metrics = new MonitorMetrics(interval_ms);
  const status = await serveStatus(address, metrics);
  return { report: (next: Report) => metrics.report(next), close: () => status.close() };
}

async function freshnessOf({ policy, maxCosignatureAge }: MonitorExtras) {
  const max_age_ms = parseSpan(maxCosignatureAge);
  if (policy === undefined) return undefined;
  return { policy: parsePolicy(native, await readFile(policy, 'utf8')), max_age_ms };
}

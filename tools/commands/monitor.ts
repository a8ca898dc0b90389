// `actlog monitor`: follows the logs of a service over HTTP and checks every rule of every entry.

import type { Command } from 'commander';
import type { Kind } from '../../log/kinds.ts';
import { acting, EXIT, logsOption } from '../command-line.ts';
import { threads } from '../data-logs.ts';
import { parseSpan } from '../duration.ts';
import type { Line, Outcome } from '../monitor/line.ts';
import type { Bell } from '../monitor/bell.ts';
import type { MonitorExtras } from '../monitor/extras.ts';

interface MonitorCommand extends MonitorExtras {
  readonly once?: boolean;
  readonly log: Kind | 'both';
  readonly vkey?: readonly string[];
  readonly kit?: string;
  readonly interval: string;
  readonly json?: boolean;
}

/** Declares the command. */
export function addMonitor(program: Command): void {
  program
    .command('monitor <address>')
    .summary('re-verify everything that a service publishes')
    .description(
      'Follows the logs of a service from their C2SP prefix: checkpoints and entry bundles. Replays every ' +
        'entry (rules, signatures, links, map roots), compares every checkpoint with those before it, and ' +
        'follows a log to its successor. The address is a service, one log of it, or a prefix with a checkpoint.',
    )
    .option('--once', 'one look up to the newest checkpoints, then exit; the clock is not judged')
    .option(
      '--state <folder>',
      'where cursors, pinned keys and findings are kept',
      'actlog-monitor',
    )
    .addOption(logsOption())
    .option('--vkey <vkey...>', 'verifier keys of the logs, as C2SP writes them')
    .option('--kit <file>', 'offline verification kit that has them; kept earlier, or an address')
    .option('--interval <span>', 'between two looks', '10s')
    .option('--json', 'one JSON object a line')
    .option('--watch <key...>', 'tell of new entries on these chains, such as \'["session","…"]\'')
    .option('--webhook <url>', 'post findings, watched entries and lasting trouble to this address')
    .option('--policy <file>', 'tell when checkpoints lack the quorum of this C2SP tlog-policy')
    .option('--max-cosignature-age <span>', 'or when that quorum is older than this', '15m')
    .option('--cosign <name>', 'cosign what is checked, with a key named <name>/map')
    .option('--cosign-key <file>', 'its key; made on first use, in the state folder unless given')
    .option('--cosign-serve <host:port>', 'where logs ask for it (tlog-witness)', '127.0.0.1:8091')
    .addHelpText(
      'after',
      `
Without --vkey or --kit the keys are taken from the operator's own kit on first use, said, and pinned: from then
on another key is refused. A violation is printed with the signed objects that prove it, kept in the state
folder, and held until that file is moved away. No answer is not a violation: it is asked again.

--cosign prints the line for the policy file of the log. The log asks for each checkpoint; it is cosigned once
every entry up to its size has been replayed here, and never before. A webhook is signed with that key (v1a).

Exits 0 when all is well (--once, or stopped by a signal), 2 for a wrong command line or key, 3 on a violation,
4 when --once got no answer, or found the cosignatures that --policy asks for too few or too old.`,
    )
    .action(acting(EXIT.unknown, run));
}

async function run(address: string, options: MonitorCommand): Promise<number> {
  const { openVerifyPool } = await import('../../log/crypto/verify-pool.ts');
  const { Line: LineOfLogs } = await import('../monitor/line.ts');
  const { Bell: BellOfLoop } = await import('../monitor/bell.ts');
  const { openExtras } = await import('../monitor/extras.ts');
  const { placeOf } = await import('../monitor/place.ts');
  const { jsonReport, textReport } = await import('../monitor/report.ts');
  const { once = false, state, json = false, vkey, kit } = options;
  const interval_ms = parseSpan(options.interval);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      stop.abort();
    });
  }
  const bell = new BellOfLoop();
  const extras = await openExtras(options, json ? jsonReport() : textReport(once), bell);
  const pool = openVerifyPool({ threads: threads() });
  const lines: Line[] = [];
  try {
    const place = await placeOf(address, options.log, { signal: stop.signal });
    const shared = { place, state, pool, ...extras.line, bars: !json, signal: stop.signal };
    const trusted = {
      ...(vkey === undefined ? {} : { vkey }),
      ...(kit === undefined ? {} : { kit }),
    };
    for (const kind of place.kinds) lines.push(new LineOfLogs(kind, { ...shared, ...trusted }));
    return once
      ? exitOf(await lookAt(lines))
      : await poll(lines, interval_ms, { bell, signal: stop.signal });
  } finally {
    for (const line of lines) await line.close();
    await pool.close();
    await extras.close();
  }
}

/** One look at each kind; a violation in one does not hide the other. */
async function lookAt(lines: readonly Line[], interval_ms?: number): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const line of lines) {
    const polled = interval_ms === undefined ? undefined : { now_ms: Date.now(), interval_ms };
    outcomes.push(await line.look(polled));
  }
  return outcomes;
}

/** Looks until a violation or a signal; silence of the service makes the pauses longer, up to five minutes. */
async function poll(
  lines: readonly Line[],
  interval_ms: number,
  { bell, signal }: { readonly bell: Bell; readonly signal: AbortSignal },
): Promise<number> {
  const longest = Math.max(300_000, interval_ms);
  for (let pause = interval_ms; !signal.aborted;) {
    const outcomes = await lookAt(lines, pause);
    if (outcomes.includes('violation')) return EXIT.violation;
    pause = outcomes.includes('trouble') ? Math.min(2 * pause, longest) : interval_ms;
    await bell.pause(pause, signal);
  }
  return EXIT.ok;
}

function exitOf(outcomes: readonly Outcome[]): number {
  if (outcomes.includes('violation')) return EXIT.violation;
  return outcomes.every((outcome) => outcome === 'ok') ? EXIT.ok : EXIT.trouble;
}

// `actlog conformance`: whether a service keeps RR-1, by five checks from outside.

import type { Command } from 'commander';
import type { Json } from '../../log/index.ts';
import { acting, CommandError, EXIT } from '../command-line.ts';
import type { Conformance } from '../conformance/run.ts';

interface ConformanceOptions {
  readonly gate?: string;
  readonly key?: string;
  readonly agent: string;
  readonly receipt?: readonly string[];
  readonly action?: string;
  readonly path?: string;
  readonly body?: string;
  readonly header?: readonly string[];
  readonly badge?: string;
  readonly publish?: boolean;
  readonly json?: boolean;
}

/** Declares the command. */
export function addConformance(program: Command): void {
  program
    .command('conformance <url>')
    .summary('check that a service requires receipts (RR-1)')
    .description(
      'Runs the five checks of RR-1 against a service: manifest_valid, challenge_on_missing, runs_on_valid, ' +
        'replay_refused, forged_refused. It performs the act that it tests, so choose a harmless one. Valid ' +
        'receipts come from a gate whose policy allows the act, or from files.',
    )
    .option(
      '--gate <address>',
      'service whose gate issues the receipts; with --key, defaults to <url>',
    )
    .option(
      '--key <key>',
      'API key for the gate (default: ACTLOG_KEY, with --gate or --publish); it is sent to no other service',
    )
    .option('--agent <id>', 'agent_id for the request to the gate', 'agent:conformance')
    .option(
      '--receipt <file...>',
      'valid receipts for the act; a second one makes the forgeries fresh',
    )
    .option('--action <id>', 'action of the manifest (default: the first that requires a receipt)')
    .option('--path <path>', "path to ask, where the manifest's is a template")
    .option('--body <json>', "body to send; the manifest's example unless given")
    .option('--header <line...>', "header for the service, such as 'Authorization: Bearer …'")
    .option('--badge <file>', 'file for the badge, written when all checks pass')
    .option('--publish', 'log the run at the service, as its operator (with --key)')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Exits 0 when all five pass, 1 when one fails, 2 when this cannot be decided.

  actlog conformance https://shop.example --gate https://log.example --key svc_live_…
  actlog conformance $BASE --key $KEY --header "X-API-Key: $KEY" --publish`,
    )
    .action(acting(EXIT.unknown, conformance));
}

async function conformance(address: string, options: ConformanceOptions): Promise<number> {
  const { fileSource, gateSource } = await import('../conformance/permits.ts');
  const { runConformance } = await import('../conformance/run.ts');
  const key = options.key ?? process.env['ACTLOG_KEY'];
  const url = urlOf(address);
  const { receipt } = options;
  // A key of the environment goes to a gate that was named, never by itself to the service that is checked.
  const gate = options.gate ?? (options.key === undefined ? undefined : address);
  if (gate !== undefined && key === undefined) throw wrong('--gate needs --key or ACTLOG_KEY');
  const permits =
    receipt !== undefined
      ? await fileSource(receipt)
      : gate !== undefined && key !== undefined
        ? gateSource(urlOf(gate).href, key, options.agent)
        : null;
  const run = await runConformance({
    url,
    permits,
    headers: headersOf(options.header ?? []),
    ...(options.action === undefined ? {} : { action: options.action }),
    ...(options.path === undefined ? {} : { path: options.path }),
    ...(options.body === undefined ? {} : { body: bodyOf(options.body) }),
  });
  print(run, options.json === true);
  if (options.publish === true) await publish(url, run, key);
  if (run.conformant && options.badge !== undefined) {
    const { badgeSvg } = await import('../../plugins/require-receipt/badge.ts');
    const { writeDurableFile } = await import('../../log/index.ts');
    await writeDurableFile(options.badge, badgeSvg(Date.parse(run.checked_at)));
  }
  if (run.conformant) return EXIT.ok;
  return run.checks.some(({ outcome }) => outcome === 'failed') ? EXIT.failed : EXIT.unknown;
}

function print(run: Conformance, json: boolean): void {
  if (json) {
    console.log(JSON.stringify(run, null, 2));
    return;
  }
  for (const { name, outcome, detail } of run.checks) {
    console.log(`  ${WORDS[outcome].padEnd(7)}  ${name.padEnd(20)}  ${detail}`);
  }
  const failed = run.checks.some(({ outcome }) => outcome === 'failed');
  const verdict = run.conformant ? 'RR-1 conformant' : failed ? 'NOT conformant' : 'CANNOT TELL';
  console.log(`\n${verdict}: ${run.url}, ${run.checked_at}`);
}

const WORDS = { passed: 'ok', failed: 'FAILED', not_run: 'not run' } as const;

/** Logs the run at the service itself, which then shows it. */
async function publish(url: URL, run: Conformance, key: string | undefined): Promise<void> {
  const { ask } = await import('../conformance/ask.ts');
  if (key === undefined) throw wrong('--publish needs --key or ACTLOG_KEY');
  const checks = Object.fromEntries(run.checks.map(({ name, outcome }) => [name, outcome]));
  const { status, json } = await ask(new URL('/api/v1/require-receipt/conformance', url), {
    method: 'POST',
    headers: { 'x-api-key': key },
    body: { checks },
  });
  if (status !== 200) {
    throw wrong(`the run is not logged: status ${String(status)} ${JSON.stringify(json ?? null)}`);
  }
  process.stderr.write('the run is logged at the service\n');
}

const wrong = (message: string): CommandError => new CommandError(message, EXIT.unknown);

function urlOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/u.test(url.protocol))
    throw wrong(`${text} is no http(s) address`);
  return url;
}

function bodyOf(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw wrong('--body is not JSON');
  }
}

function headersOf(lines: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)$/u.exec(line) ?? [];
      if (name === undefined || value === undefined)
        throw wrong(`--header ${line} is no header line`);
      return [name, value];
    }),
  );
}

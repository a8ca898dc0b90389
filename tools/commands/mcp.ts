// `actlog mcp`, the service as tools of MCP, and `actlog mcp-proxy`, which asks the gate before each call of a tool of
// another server.

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { catalogUrl } from '../../plugins/index.ts';
import type { JsonObject } from '../../log/verify.ts';
import { acting, CommandError, EXIT } from '../command-line.ts';
import type { Client } from '../clients/typescript/index.ts';

/** Options of both commands, each with its environment variable. */
interface ServiceOptions {
  readonly service?: string;
  readonly kit?: string;
}

interface ProxyOptions extends ServiceOptions {
  readonly url?: string;
  readonly header?: readonly string[];
  readonly entity?: string;
  readonly agent: string;
  readonly session?: string;
  readonly heartbeat?: string;
  readonly failOpen?: boolean;
}

/** Declares the commands. */
export function addMcp(program: Command): void {
  addServer(program);
  const toll = (JSON.parse(readFileSync(catalogUrl('tolls.json'), 'utf8')) as Tolls).tolls_usd;
  const [call, refused, beat] = [toll.execute_gate, toll.hold, toll.heartbeat].map((usd) =>
    usd.toFixed(2),
  );
  withService(
    program
      .command('mcp-proxy [command...]')
      .summary('a proxy that asks the gate before each call of an MCP server')
      .description(
        'Runs in front of a server of MCP: a command that speaks over its standard streams, or the address of a remote ' +
          'server. Every tools/call is asked about at the execute gate as mcp.<tool>. It reaches the server only after ' +
          'PERMIT and after the use of the permit is durable; the digest of its result is logged after it. HOLD, DENY and ' +
          'SILENCE are answered as a tool error. Everything else is relayed unchanged.',
      ),
  )
    .option('--url <address>', 'a remote server, streamable HTTP, in place of a command')
    .option('--header <name: value...>', 'headers for the remote server, such as Authorization')
    .option(
      '--entity <name>',
      'entity whose surfaces the tools are (ACTLOG_ENTITY); required if the tenant has several',
    )
    .option('--agent <id>', 'agent_id of the calls (ACTLOG_AGENT)', defaultAgent('mcp-proxy'))
    .option(
      '--session <id>',
      'session of the calls that belong to no trace; a new one unless given',
    )
    .option('--heartbeat <seconds>', 'promise a heartbeat of each tool in every so many seconds')
    .option(
      '--fail-open',
      'forward calls while the service cannot be reached, and log them afterwards',
    )
    .addHelpText(
      'after',
      `
The policy of a tenant is empty at first, and every call is refused (SILENCE) until a rule allows mcp.<tool>.

A call costs the toll execute_gate (${call ?? ''} USD), a refusal the toll hold (${refused ?? ''} USD); its use and result cost nothing.
Heartbeats cost the toll heartbeat (${beat ?? ''} USD) for each tool and beat: TOOLS x 4000 / SECONDS x ${beat ?? ''} USD an hour.
Ten tools with --heartbeat 60 are ${String(Math.round((10 * 4000) / 60))} beats, ${(((10 * 4000) / 60) * toll.heartbeat).toFixed(2)} USD, an hour; with --heartbeat 900 ${String(Math.round((10 * 4000) / 900))} beats, ${(((10 * 4000) / 900) * toll.heartbeat).toFixed(2)} USD.
Without heartbeats an absence document says ABSENT of the log, and not that the agent was watched.

  ACTLOG_URL=https://log.example ACTLOG_KEY=svc_live_… actlog mcp-proxy -- npx -y @modelcontextprotocol/server-filesystem .`,
    )
    .action(acting(EXIT.unknown, proxy));
}

interface McpOptions extends ServiceOptions {
  readonly agent: string;
  readonly http?: string;
}

function addServer(program: Command): void {
  withService(
    program
      .command('mcp')
      .summary('serve actlog as tools of MCP')
      .description(
        'A server of the Model Context Protocol (2025-11-25 and 2026-07-28) with the tools classify, ask_gate, use_permit, ' +
          'prove_presence, prove_absence and verify_document. Answers of the service are verified by the pinned kit, ' +
          'and receipts are structured content. The use secrets of permits stay in the server.',
      ),
  )
    .option('--agent <id>', 'agent_id of acts that name none (ACTLOG_AGENT)', defaultAgent('mcp'))
    .option(
      '--http <port>',
      'serve streamable HTTP on this port of 127.0.0.1, in place of standard streams',
    )
    .action(acting(EXIT.unknown, serve));
}

async function serve(options: McpOptions): Promise<number | undefined> {
  const { loadSdk } = await import('../mcp/upstream.ts');
  const { kit, client } = await serviceOf(options);
  if (kit === undefined) {
    throw new CommandError(
      'ACTLOG_KIT or --kit is missing: keep the kit of the service, /export/offline-verify-kit.json, in a file',
      EXIT.unknown,
    );
  }
  const { serverFactory, serveHttp } = await loadSdk(() => import('../mcp/server.ts'));
  const factory = serverFactory({ client: client(3), kit, agent_id: options.agent });
  if (options.http === undefined) {
    const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
    serveStdio(factory);
    return undefined;
  }
  const port = Number(options.http);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new CommandError('--http is a port, 0 to 65535', EXIT.unknown);
  }
  const http = await serveHttp(factory, port);
  const address = http.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  process.stderr.write(`actlog mcp serves http://127.0.0.1:${String(bound)}/mcp\n`);
  return undefined;
}

const defaultAgent = (otherwise: string): string => process.env['ACTLOG_AGENT'] ?? otherwise;

interface Tolls {
  readonly tolls_usd: Readonly<Record<'execute_gate' | 'hold' | 'heartbeat', number>>;
}

/** The options that say which service is asked. */
function withService(command: Command): Command {
  return command
    .option('--service <address>', 'address of the actlog service (ACTLOG_URL)')
    .option(
      '--kit <file>',
      'offline kit (ACTLOG_KIT): every answer of the service is verified by it',
    )
    .addHelpText('after', '\nThe API key is the environment variable ACTLOG_KEY.');
}

async function serviceOf({ service, kit }: ServiceOptions): Promise<{
  readonly url: string;
  readonly kit: JsonObject | undefined;
  readonly client: (retries: number) => Client;
}> {
  const { ACTLOG_URL, ACTLOG_KEY: key, ACTLOG_KIT } = process.env;
  const url = service ?? ACTLOG_URL;
  if (url === undefined) throw new CommandError('ACTLOG_URL or --service is missing', EXIT.unknown);
  if (key === undefined) throw new CommandError('ACTLOG_KEY is missing', EXIT.unknown);
  const { Client: TheClient } = await import('../clients/typescript/index.ts');
  const { readKit } = await import('../verify/trust.ts');
  const file = kit ?? ACTLOG_KIT;
  const pinned = file === undefined ? undefined : (await readKit({ kit: file }, null)).kit;
  const trust = pinned === undefined ? {} : { kit: pinned, verify: 'always' as const };
  return {
    url: url.replace(/\/+$/, ''),
    kit: pinned,
    client: (retries) => new TheClient(url, { key, retries, maxWaitMs: 5_000, ...trust }),
  };
}

async function proxy(command: readonly string[], options: ProxyOptions): Promise<number> {
  const { url, heartbeat, failOpen = false } = options;
  if ((command.length === 0) === (url === undefined)) {
    throw new CommandError('give either a command after -- or --url', EXIT.unknown);
  }
  const { Gatekeeper } = await import('../mcp/gatekeeper.ts');
  const { Surfaces } = await import('../mcp/surfaces.ts');
  const { McpProxy } = await import('../mcp/proxy.ts');
  const { commandUpstream, httpUpstream } = await import('../mcp/upstream.ts');
  const service = await serviceOf(options);
  const log = (line: string): void => {
    process.stderr.write(`actlog mcp-proxy: ${line}\n`);
  };
  const client = service.client(failOpen ? 1 : 3);
  const made: { surfaces?: InstanceType<typeof Surfaces> } = {};
  const gatekeeper = new Gatekeeper({
    ...{ client, once: service.client(0), url: service.url, failOpen, log },
    agent_id: options.agent,
    session_id: options.session ?? randomUUID(),
    placeOf: async (tool) => (await made.surfaces?.of(tool)) ?? {},
    attempted: (place) => {
      made.surfaces?.attempted(place);
    },
  });
  const running = new McpProxy({
    ...{ input: process.stdin, output: process.stdout, gatekeeper, log },
    connect: (events) =>
      url === undefined
        ? commandUpstream(command, events)
        : httpUpstream(new URL(url), headersOf(options.header ?? []), events),
    surfaces: (tools) =>
      (made.surfaces = new Surfaces({
        ...{ client, tools, log, now: Date.now },
        entity: options.entity ?? process.env['ACTLOG_ENTITY'],
        heartbeatMs: heartbeat === undefined ? undefined : secondsOf(heartbeat) * 1000,
      })),
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      process.stdin.destroy();
    });
  }
  const exit = await running.run();
  process.stdin.destroy();
  return exit;
}

function headersOf(lines: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(line) ?? [];
      if (name === undefined || value === undefined) {
        throw new CommandError(
          `--header is "Name: value", not ${JSON.stringify(line)}`,
          EXIT.unknown,
        );
      }
      return [name, value];
    }),
  );
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= 366 * 86_400) return seconds;
  throw new CommandError('--heartbeat is a whole number of seconds, 1 or more', EXIT.unknown);
}

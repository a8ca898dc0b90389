// Starts `actlog mcp-proxy` in front of an MCP server, with a service that the test runs.

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { ClientOptions } from '@modelcontextprotocol/client';
import type { Body, Running } from '../../gateway/running.ts';
import { ACTLOG, start } from '../../support/actlog.ts';
import { childArgs } from '../../support/child.ts';

/** The official server that uses every feature of the protocol. */
export const EVERYTHING = [
  process.execPath,
  fileURLToPath(
    new URL(
      '../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
      import.meta.url,
    ),
  ),
  'stdio',
];

/** The settings of the proxy for the service. */
export interface Told {
  readonly url: string;
  readonly key: string;
  readonly entity?: string;
}

const envOf = ({ url, key, entity }: Told): Record<string, string> => ({
  ACTLOG_URL: url,
  ACTLOG_KEY: key,
  ...(entity === undefined ? {} : { ACTLOG_ENTITY: entity }),
});

/** A client of the official SDK behind the proxy. */
export async function connected(
  told: Told,
  args: readonly string[],
  options: ClientOptions = {},
): Promise<{ readonly client: Client; readonly transport: StdioClientTransport; said(): string }> {
  let said = '';
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...ACTLOG, 'mcp-proxy', ...args],
    env: { PATH: process.env['PATH'] ?? '', NODE_NO_WARNINGS: '1', ...envOf(told) },
    stderr: 'pipe',
  });
  transport.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const client = new Client({ name: 'test', version: '1.0.0' }, options);
  await client.connect(transport);
  return { client, transport, said: () => said };
}

/** The proxy in front of the odd server, with an interface of single lines. */
export interface OddProxy {
  send(line: string): void;
  /** The next line to the client that matches. */
  next(fits?: (line: string) => boolean): Promise<string>;
  /** The lines that the server received. */
  received(): Promise<readonly string[]>;
  said(): string;
  /** Waits for matching output of the proxy on standard error. */
  until(pattern: RegExp): Promise<void>;
  /** Ends the input; returns the exit code. */
  end(): Promise<number | null>;
}

/** Starts the proxy. */
export async function oddProxy(told: Told, options: readonly string[] = []): Promise<OddProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'actlog-odd-'));
  const file = join(folder, 'lines');
  const server = await childArgs(new URL('./odd-server.ts', import.meta.url));
  const child = start(['mcp-proxy', ...options, '--', process.execPath, ...server], {
    env: { ...envOf(told), ODD_LINES: file },
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    for (const look of waiting) look();
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  return {
    send: (line) => void child.stdin.write(`${line}\n`),
    next: (fits = () => true) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const at = lines.findIndex(fits);
          if (at === -1) return;
          waiting.delete(look);
          resolve(lines.splice(at, 1)[0] ?? '');
        };
        waiting.add(look);
        look();
        void exited.then(() => {
          reject(new Error(`the proxy ended: ${said}`));
        });
      }),
    received: async () => (await readFile(file, 'utf8')).split('\n').filter((line) => line !== ''),
    said: () => said,
    until: (pattern) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (pattern.test(said)) resolve();
        };
        child.stderr.on('data', look);
        look();
      }),
    async end() {
      child.stdin.end();
      const code = await exited;
      await rm(folder, { recursive: true, force: true });
      return code;
    },
  };
}

/** A policy that allows the first tools and holds the others. */
export async function allow(
  running: Running,
  tools: readonly string[],
  held: readonly string[] = [],
): Promise<void> {
  const rule = (id: string, effect: string, names: readonly string[]) => ({
    ...{ id, effect, action_types: names.map((name) => `mcp.${name}`) },
  });
  const rules = [
    rule('tools', 'allow', tools),
    ...(held.length === 0 ? [] : [rule('held', 'hold', held)]),
  ];
  const { status, text } = await running.post(
    '/api/v1/execute-gate/policy',
    { rules },
    { key: running.live },
  );
  if (status !== 200) throw new Error(text);
}

/** The statements of the live log, oldest first. */
export function statements(running: Running): readonly Body[] {
  const log = running.gateway.logs.live;
  return Array.from({ length: log.size() }, (_, index) => JSON.parse(log.entry(index) ?? '{}'));
}

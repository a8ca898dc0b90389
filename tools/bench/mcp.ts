// What the MCP proxy adds to a call of a tool: the same calls at 50 a second, straight to a server and through the proxy,
// which appends three durable entries for each.

import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { createInterface } from 'node:readline';
import { temporaryFolder } from './bench-log.ts';
import { firstStart, startService } from './child.ts';
import { median, stealMeter } from './figure.ts';
import type { Bench, Figure } from './figure.ts';
import { programOf } from './program.ts';

const RATE = 50;

/** A server that answers every request at once. */
const ECHO = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const result = method === 'tools/list'
    ? { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }
    : { content: [{ type: 'text', text: 'echo' }] };
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
});`;

const SERVER = [process.execPath, '-e', ECHO];

type Piped = ChildProcessByStdio<Writable, Readable, null>;

function piped([command = '', ...args]: readonly string[], env: NodeJS.ProcessEnv): Piped {
  return spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
}

/** The milliseconds that each of so many calls took, sent at a rate and not one after the other. */
async function timesOf(child: Piped, calls: number): Promise<number[]> {
  const sent = new Map<number, number>();
  const times: number[] = [];
  const all = new Promise<void>((resolve, reject) => {
    child.once('exit', () => {
      reject(new Error('the server ended'));
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { id, result } = JSON.parse(line) as { id: number; result?: { isError?: boolean } };
      const at = sent.get(id);
      if (result === undefined || result.isError === true) reject(new Error(line));
      if (at !== undefined) times.push(performance.now() - at);
      if (times.length === calls) resolve();
    });
  });
  const begun = performance.now();
  for (let id = 0; id < calls; id += 1) {
    const due = begun + (id * 1000) / RATE;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
    const params = { name: 'echo', arguments: { id } };
    sent.set(id, performance.now());
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`);
  }
  await all;
  return times;
}

const p99 = (times: readonly number[]): number =>
  [...times].sort((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1] ?? Number.NaN;

/** Latency through the proxy, less that of the server alone. */
export const mcp: Bench = {
  name: 'mcp',
  async run({ quick }) {
    const calls = quick ? 25 : 1000;
    const folder = await temporaryFolder();
    const key = await firstStart(folder.path);
    const service = await startService(folder.path);
    const env = {
      ...process.env,
      ACTLOG_URL: service.url,
      ACTLOG_KEY: key,
      ACTLOG_ENTITY: 'mcp:bench',
    };
    const children: Piped[] = [];
    try {
      const rules = [{ id: 'echo', effect: 'allow', action_types: ['mcp.echo'] }];
      const put = await fetch(`${service.url}/api/v1/execute-gate/policy`, {
        method: 'POST',
        headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ rules }),
      });
      if (!put.ok) throw new Error(await put.text());
      const bare = piped(SERVER, env);
      const proxy = [
        process.execPath,
        ...programOf('tools/actlog').args,
        'mcp-proxy',
        '--',
        ...SERVER,
      ];
      const proxied = piped(proxy, env);
      children.push(bare, proxied);
      for (const child of children) await timesOf(child, 25); // the first calls start processes and compile code
      const stolen = stealMeter();
      const straight = await timesOf(bare, calls);
      const through = await timesOf(proxied, calls);
      const steal = stolen();
      const figure = (
        name: string,
        of: (times: readonly number[]) => number,
        at_least: number,
        aim: number,
        what: string,
      ): Figure => {
        const parts = { bare_ms: of(straight), proxy_ms: of(through) };
        const shared = { unit: 'ms', better: 'lower', at_least, aim } as const;
        return { ...shared, name, what, value: parts.proxy_ms - parts.bare_ms, parts, steal };
      };
      return [
        figure(
          'mcp.added',
          median,
          20,
          10,
          'latency that the MCP proxy adds at 50 calls/s, median',
        ),
        figure('mcp.added_p99', p99, 60, 25, 'latency that the MCP proxy adds at 50 calls/s, p99'),
      ];
    } finally {
      for (const child of children) child.removeAllListeners('exit').kill();
      await service.stop();
      await folder.remove();
    }
  },
};

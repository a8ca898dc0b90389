// `actlog/client` in Node.js, Deno, Bun, workerd and a worker of Chromium, each with a running service: a program
// classifies a message, waits for the proof of its receipt, verifies every answer under a pinned kit, and refuses an
// answer that was changed in transit.
//
//   npm run test:runtimes     fetches the runtimes from npm (350 MB) into the user's cache, once

import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { arch, homedir, platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { until } from '../gateway/webhooks/receiving.ts';
import { run } from '../gateway/running.ts';
import { freePort } from '../support/free-port.ts';

const CACHE = join(homedir(), '.cache/actlog/runtimes');
const PACKAGES = ['deno@2.9.6', 'bun@1.4.5', 'workerd@1.20261117.1'];
const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const CLIENT = fileURLToPath(new URL('../../tools/clients/typescript/index.ts', import.meta.url));

/** What the program in each runtime is given. */
interface Given {
  readonly url: string;
  readonly key: string;
  readonly kit: unknown;
}

const WALK = `
import { Client, Unverified } from ${JSON.stringify(CLIENT)};

export async function walk({ url, key, kit }) {
  const client = new Client(url, { key, kit, verify: 'always' });
  const { entry_id, index } = await client.waitForProof(await client.classify({ message: 'hello' }));
  const changing = async (input, init) => {
    const response = await fetch(input, init);
    const answer = await response.json();
    return Response.json({ ...answer, issued_at_ms: answer.issued_at_ms + 1 }, response);
  };
  const lied = new Client(url, { key, kit, verify: 'always', fetch: changing });
  const refused = await lied.classify({ message: 'hello' }).then(() => false, Unverified.is);
  return { entry_id, index, refused };
}
`;

const ENDS: Readonly<Record<string, string>> = {
  // The arguments come from a file, because each runtime has another way to pass them.
  program: `import { walk } from './walk.js'; import given from './given.json' with { type: 'json' };
console.log(JSON.stringify(await walk(given)));`,
  worker: `import { walk } from './walk.js';
export default { fetch: async (request) => Response.json(await walk(await request.json())) };`,
  page: `import { walk } from './walk.js';
onmessage = async ({ data }) => {
  postMessage(await walk(data).catch((error) => ({ error: String(error) })));
};`,
};

/** Installs the runtimes unless they are installed. Their install scripts are not needed. */
async function install(): Promise<void> {
  if (existsSync(join(CACHE, 'node_modules/workerd'))) return;
  await mkdir(CACHE, { recursive: true });
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', CACHE];
  execFileSync('npm', [...args, ...PACKAGES], { stdio: 'inherit' });
}

async function bundle(folder: string): Promise<void> {
  await writeFile(join(folder, 'source.js'), WALK);
  const options = { bundle: true, format: 'esm', platform: 'browser', target: 'es2022' } as const;
  await build({
    ...options,
    entryPoints: [join(folder, 'source.js')],
    outfile: join(folder, 'walk.js'),
  });
  for (const [name, text] of Object.entries(ENDS)) {
    await writeFile(join(folder, `${name}.mjs`), text);
  }
}

const packed = (name: string, file: string): string => join(CACHE, 'node_modules', name, file);

async function program(folder: string, command: string, ...args: string[]): Promise<unknown> {
  const { stdout } = await promisify(execFile)(command, args, { cwd: folder });
  return JSON.parse(stdout);
}

const CAPNP = (port: number): string => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [
        (name = "worker.mjs", esModule = embed "worker.mjs"),
        (name = "walk.js", esModule = embed "walk.js"),
      ],
      compatibilityDate = "2026-01-01",
      globalOutbound = "loopback",
    )),
    (name = "loopback", network = (allow = ["local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${String(port)}", http = (), service = "main")],
);
`;

async function inWorkerd(folder: string, given: Given): Promise<unknown> {
  const port = await freePort();
  await writeFile(join(folder, 'config.capnp'), CAPNP(port));
  const cpu = arch() === 'arm64' ? 'arm64' : '64';
  const path = packed(`@cloudflare/workerd-${platform()}-${cpu}`, 'bin/workerd');
  const child = spawn(path, ['serve', join(folder, 'config.capnp')], { stdio: 'inherit' });
  try {
    const body = JSON.stringify(given);
    const ask = () => fetch(`http://127.0.0.1:${String(port)}/`, { method: 'POST', body });
    const response = await until(() => ask().catch(() => null));
    const text = await response.text();
    return response.ok ? JSON.parse(text) : { error: text };
  } finally {
    child.kill();
    await once(child, 'exit');
  }
}

async function inChromium(folder: string, given: Given): Promise<unknown> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage();
    // Other origins may read public data only, so the program is served from the origin of the service.
    await page.route('**/walk/*', async (route) => {
      const name = new URL(route.request().url()).pathname.slice('/walk/'.length);
      if (name === 'page') await route.fulfill({ contentType: 'text/html', body: '<p>walk' });
      else await route.fulfill({ contentType: 'text/javascript', path: join(folder, name) });
    });
    await page.goto(`${given.url}/walk/page`);
    return await page.evaluate(
      (data) =>
        new Promise((resolve) => {
          const worker = new Worker('/walk/page.mjs', { type: 'module' });
          worker.onmessage = (event) => {
            resolve(event.data as unknown);
          };
          worker.onerror = (event) => {
            resolve({ error: event.message });
          };
          worker.postMessage(data);
        }),
      given,
    );
  } finally {
    await browser.close();
  }
}

await install();
const folder = mkdtempSync(join(tmpdir(), 'actlog-runtimes-'));
const running = await run();
try {
  await bundle(folder);
  const { url, live: key } = running;
  const kit: unknown = (await running.get('/export/offline-verify-kit.json')).json;
  const given = { url, key, kit };
  await writeFile(join(folder, 'given.json'), JSON.stringify(given));
  const deno = packed(`@deno/${platform()}-${arch()}-glibc`, 'deno');
  const runtimes: Readonly<Record<string, () => Promise<unknown>>> = {
    'Node.js': () => program(folder, process.execPath, '--no-warnings', 'program.mjs'),
    Deno: () => program(folder, deno, 'run', '--allow-net=127.0.0.1', 'program.mjs'),
    Bun: () => program(folder, packed('bun', 'bin/bun.exe'), 'program.mjs'),
    workerd: () => inWorkerd(folder, given),
    'a worker of Chromium': () => inChromium(folder, given),
  };
  for (const [name, start] of Object.entries(runtimes)) {
    const found = (await start()) as { entry_id?: string; index?: number; refused?: boolean };
    const { entry_id, index, refused } = found;
    const log = running.gateway.logs.live;
    const entry = index === undefined ? undefined : log.entry(index);
    const holds = refused === true && entry?.includes(`"${String(entry_id)}"`) === true;
    console.log(`${holds ? 'ok' : 'FAILED'}  ${name}${holds ? '' : `  ${JSON.stringify(found)}`}`);
    if (!holds) process.exitCode = 1;
  }
} finally {
  await running.close();
  await rm(folder, { recursive: true });
}

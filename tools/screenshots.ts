// `npm run screenshots`: the pictures of README.md, taken of a service of its own in Debian's Chromium, and the pictures
// that pages name: icons of several sizes, and the one in previews of links. Then the tests of the pages run, and keep a
// picture of each page that they look at in coverage/screenshots/.

import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { readConfig } from '../gateway/config.ts';
import { startServer } from '../gateway/server.ts';
import { freePort } from './bench/child.ts';

const FOLDER = fileURLToPath(new URL('../test/pages/', import.meta.url));
const STATIC = fileURLToPath(new URL('../gateway/pages/static/', import.meta.url));
const size = { width: 1000, height: 720 };

/** An element as a PNG of this size. */
async function drawn(browser: Browser, html: string, width: number, height: number) {
  const page = await browser.newPage({ viewport: { width, height } });
  await page.setContent(`<style>body { margin: 0 } svg { display: block }</style>${html}`);
  const png = await page.screenshot({ omitBackground: true });
  await page.close();
  return png;
}

/** An icon file that holds one PNG of 32 by 32: its header, one directory entry, the picture. */
function iconFile(png: Buffer): Buffer {
  const header = Buffer.alloc(22);
  header.writeUInt16LE(1, 2); // an icon
  header.writeUInt16LE(1, 4); // with one picture
  header.writeUInt8(32, 6);
  header.writeUInt8(32, 7);
  header.writeUInt16LE(1, 10); // planes
  header.writeUInt16LE(32, 12); // bits of a pixel
  header.writeUInt32LE(png.length, 14);
  header.writeUInt32LE(header.length, 18);
  return Buffer.concat([header, png]);
}

/** The icons as PNG, for systems that take no SVG, and the picture in previews of links. */
async function drawIcons(browser: Browser): Promise<void> {
  const svg = await readFile(join(STATIC, 'icon.svg'), 'utf8');
  const icon = (width: number) =>
    drawn(browser, svg.replace('<svg ', `<svg width="${width}" height="${width}" `), width, width);
  for (const width of [192, 512]) {
    await writeFile(join(STATIC, `icon-${width}.png`), await icon(width));
  }
  await writeFile(join(STATIC, 'favicon.ico'), iconFile(await icon(32)));
  const card = `<div style="display:flex;align-items:center;gap:60px;width:1200px;height:630px;padding:0 90px;box-sizing:border-box;background:#12343b;color:#fff;font:600 64px/1.2 system-ui,'DejaVu Sans',sans-serif">
    <div>${svg.replace('<svg ', '<svg width="260" height="260" ')}</div>
    <div>actlog<div style="font-weight:400;font-size:36px;margin-top:24px;color:#d5e8e4">What agents decided, refused and left undone, in a public log that anyone can check</div></div></div>`;
  await writeFile(join(STATIC, 'card.png'), await drawn(browser, card, 1200, 630));
}

/** Receipts hold the address, so the port must be known before the service starts. */
const data = await mkdtemp(join(tmpdir(), 'actlog-screenshots-'));
const port = await freePort();
const base = `http://127.0.0.1:${String(port)}`;
const env = { PORT: String(port), BASE_URL: base, DATA_DIR: data, LOG_ORIGIN: 'actlog.example' };
const server = await startServer(readConfig(env), { logger: pino({ level: 'silent' }) });
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-dev-shm-usage'],
});
try {
  await drawIcons(browser);
  const page = await browser.newPage({ baseURL: base, viewport: size });
  await page.goto('/demo/hero?autorun=1');
  await page.locator('#progress', { hasText: /^Done/ }).waitFor();
  await page.screenshot({ path: join(FOLDER, 'story.png') });
  await page.goto('/bind-room');
  await page.click('#ask [type=submit]');
  await page.locator('#progress', { hasText: /^Held/ }).waitFor();
  await page.screenshot({ path: join(FOLDER, 'bind-room.png') });
} finally {
  await browser.close();
  await server.close();
  await rm(data, { recursive: true, force: true });
}

const mocha = fileURLToPath(new URL('../node_modules/mocha/bin/mocha.js', import.meta.url));
const { status } = spawnSync(process.execPath, [mocha, 'test/pages/**/*.test.ts'], {
  cwd: fileURLToPath(new URL('..', import.meta.url)),
  env: { ...process.env, SCREENSHOTS: 'coverage/screenshots' },
  stdio: 'inherit',
});
process.exitCode = status ?? 1;

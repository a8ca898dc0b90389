// `npm run screenshots`: the pictures of README.md, taken of a service of its own in Debian's Chromium.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { chromium } from 'playwright-core';
import { readConfig } from '../gateway/config.ts';
import { startServer } from '../gateway/server.ts';
import { freePort } from './bench/child.ts';

const FOLDER = fileURLToPath(new URL('../test/pages/', import.meta.url));
const size = { width: 1000, height: 720 };

/** The address stands in receipts, so the port must be known before the service starts. */
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

// A real browser for tests of pages: Debian's Chromium by playwright-core. Where there is none, the suites say
// that they are skipped, and why; with CI set they fail instead.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HtmlValidate } from 'html-validate';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { run } from '../gateway/running.ts';
import type { Running } from '../gateway/running.ts';
import { freePort } from '../support/free-port.ts';

const PROGRAM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const BUILT = fileURLToPath(new URL('../../dist/static/verify.js', import.meta.url));
/** The folder for pictures, which `npm run screenshots` names; without it no picture is taken. */
const PICTURES = process.env['SCREENSHOTS'];
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** A service and a browser that looks at it. */
export interface Sight {
  readonly running: Running;
  readonly browser: Browser;
  /** A new page in a context of its own; `calm` says later what went wrong on it. */
  open(path: string, options?: BrowserContextOptions): Promise<Page>;
}

/** A suite about pages; the body gets what its tests look at, once it runs. */
export function pagesSuite(
  title: string,
  body: (sight: () => Sight) => void,
  options: Parameters<typeof run>[1] = {},
): void {
  // Of the root: the suites of one process share the browser, in whatever files they are.
  after(async () => {
    const browser = await launched;
    launched = null;
    await browser?.close();
  });
  const without = whyNot();
  const suffix = without === null ? '' : ` (skipped: ${without})`;
  describe(`${title}${suffix}`, function () {
    this.timeout(240_000);
    let sight: Sight | null = null;

    before(async function () {
      if (without !== null) {
        assert.ok(process.env['CI'] === undefined, without);
        this.skip();
      }
      // The address stands in every page, so the port must be known before the service starts.
      const port = await freePort();
      const base = `http://127.0.0.1:${String(port)}`;
      const env = { PORT: String(port), HOST: '127.0.0.1', BASE_URL: base };
      const running = await run(env, options);
      const browser = await (launched ??= launch());
      sight = {
        running,
        browser,
        open: (path, options) => openPage(browser, base, path, options),
      };
    });

    after(async () => {
      await Promise.all(sight?.browser.contexts().map((context) => context.close()) ?? []);
      await sight?.running.close();
    });

    body(() => {
      assert.ok(sight !== null);
      return sight;
    });
  });
}

let launched: Promise<Browser> | null = null;

const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: PROGRAM,
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
    timeout: 100_000,
  });

function whyNot(): string | null {
  if (!existsSync(PROGRAM)) return `there is no Chromium at ${PROGRAM}`;
  return existsSync(BUILT) ? null : '`npm run build` has not made dist/';
}

/** What went wrong on a page. */
const troubles = new WeakMap<Page, string[]>();

async function openPage(
  browser: Browser,
  base: string,
  path: string,
  options: BrowserContextOptions = {},
): Promise<Page> {
  // Without transitions: axe would measure the contrast of a colour on its way to another.
  const context = await browser.newContext({ baseURL: base, reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const seen: string[] = [];
  troubles.set(page, seen);
  page.on('pageerror', (error) => seen.push(`script error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') seen.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(base) && !/^(data|blob):/.test(url)) seen.push(`asked elsewhere: ${url}`);
  });
  await page.goto(path);
  return page;
}

/** No script error, nothing refused by the policy, no request to elsewhere so far. */
export function calm(page: Page): void {
  assert.deepEqual(troubles.get(page), []);
}

/** axe-core finds no violation on the page as it stands. */
export async function accessible(page: Page): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) {
    // Run from outside of the page, where its policy does not hold.
    axe ??= await readFile(AXE, 'utf8');
    const session = await page.context().newCDPSession(page);
    await session.send('Runtime.evaluate', { expression: axe });
    await session.detach();
  }
  const violations = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { readonly axe: Axe }; // evaluated above
    const found = await axe.run(document, { resultTypes: ['violations'] });
    return found.violations.map(({ id, nodes }) => [
      id,
      ...nodes.map(({ html, failureSummary }) => [html, failureSummary]),
    ]);
  });
  assert.deepEqual(violations, []);
}

let axe: string | null = null;

/** What the tests use of axe-core. */
interface Axe {
  run(
    context: Document,
    options: object,
  ): Promise<{
    readonly violations: readonly {
      readonly id: string;
      readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
    }[];
  }>;
}

/** The HTML as served is valid. */
export async function validHtml(html: string): Promise<void> {
  const validator = new HtmlValidate({
    extends: ['html-validate:recommended'],
    // Matters of taste, not of validity.
    rules: {
      'doctype-style': 'off',
      'void-style': 'off',
      'no-trailing-whitespace': 'off',
      'long-title': 'off',
    },
  });
  const { results } = await validator.validateString(html);
  const faults = results.flatMap(({ messages }) =>
    messages.map(({ ruleId, message, line }) => `${String(line)}: ${ruleId}: ${message}`),
  );
  assert.deepEqual(faults, []);
}

/** Clicks what leads to another page, and waits until that page is there whole. */
export async function follow(page: Page, selector: string): Promise<void> {
  const loaded = page.waitForEvent('load');
  await page.click(selector);
  await loaded;
}

/** Nothing is wider than the window. */
export async function fits(page: Page): Promise<void> {
  const wide = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth - clientWidth;
  });
  assert.ok(wide <= 0, `${String(wide)} px wider than the window`);
}

/** The two widths and the two colour schemes in which pages are looked at. */
export const LOOKS = [
  { width: 1280, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
  { width: 390, colorScheme: 'light' },
  { width: 390, colorScheme: 'dark' },
] as const;

/** Looks at a page in every width and colour scheme: nothing is too wide, and axe finds nothing. */
export async function look(page: Page, name: string): Promise<void> {
  const size = page.viewportSize();
  for (const { width, colorScheme } of LOOKS) {
    await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
    await page.emulateMedia({ colorScheme });
    await fits(page);
    // Colours differ by scheme, and sizes by width: each is looked at once, and all four where pictures are kept.
    const both = (width === 1280) === (colorScheme === 'light');
    if (both || PICTURES !== undefined) await accessible(page);
    await picture(page, `${name}-${String(width)}-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: null });
  if (size !== null) await page.setViewportSize(size);
}

/** Moves the focus with the tabulator key, as a person without a mouse does, to the first element that matches. */
export async function tabTo(page: Page, selector: string, steps = 80): Promise<void> {
  for (let i = 0; i < steps; i += 1) {
    await page.keyboard.press('Tab');
    const there = await page.evaluate(
      (wanted) => document.activeElement?.matches(wanted) ?? false,
      selector,
    );
    if (there) return;
  }
  assert.fail(`${selector} was not reached in ${String(steps)} steps`);
}

/** Keeps a picture of the page, if pictures are wanted: one of a long page takes seconds. */
export async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  await mkdir(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}

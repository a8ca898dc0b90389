// A real browser for tests of pages: Chromium of Debian, driven by playwright-core. Without it the suites are skipped
// with the reason; with CI set they fail instead.

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
/** The folder for screenshots, which `npm run screenshots` sets; without it none are taken. */
const PICTURES = process.env['SCREENSHOTS'];
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** A service and a browser that is connected to it. */
export interface Sight {
  readonly running: Running;
  readonly browser: Browser;
  /** Opens a page in its own context; `calm` checks it for errors. */
  open(path: string, options?: BrowserContextOptions): Promise<Page>;
}

/** A suite of page tests; its body receives the service and the browser when it runs. */
export function pagesSuite(
  title: string,
  body: (sight: () => Sight) => void,
  options: Parameters<typeof run>[1] = {},
): void {
  // A root hook: all suites of a process share the browser, in whichever files they are.
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
      // Every page contains the address, so the port must be known before the service starts.
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

/** Errors seen on each page. */
const troubles = new WeakMap<Page, string[]>();

async function openPage(
  browser: Browser,
  base: string,
  path: string,
  options: BrowserContextOptions = {},
): Promise<Page> {
  // Without transitions, because axe would measure the contrast of a colour that is still changing.
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

/** Asserts that the page had no script error, no breach of its policy and no request to another host. */
export function calm(page: Page): void {
  assert.deepEqual(troubles.get(page), []);
}

/** Asserts that axe-core finds no violation in the present state of the page. */
export async function accessible(page: Page): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) {
    // Injected by the debugger, to which the policy of the page does not apply.
    axe ??= await readFile(AXE, 'utf8');
    const session = await page.context().newCDPSession(page);
    await session.send('Runtime.evaluate', { expression: axe });
    await session.detach();
  }
  const violations = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { readonly axe: Axe }; // injected above
    const found = await axe.run(document, { resultTypes: ['violations'] });
    return found.violations.map(({ id, nodes }) => [
      id,
      ...nodes.map(({ html, failureSummary }) => [html, failureSummary]),
    ]);
  });
  assert.deepEqual(violations, []);
}

let axe: string | null = null;

/** The part of axe-core that the tests use. */
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

/** Asserts that the HTML as served is valid. */
export async function validHtml(html: string): Promise<void> {
  const validator = new HtmlValidate({
    extends: ['html-validate:recommended'],
    // Rules of style, not of validity.
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

/** Clicks a link to another page, and waits until that page is loaded. */
export async function follow(page: Page, selector: string): Promise<void> {
  const loaded = page.waitForEvent('load');
  await page.click(selector);
  await loaded;
}

/** Asserts that nothing is wider than the window. */
export async function fits(page: Page): Promise<void> {
  const wide = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth - clientWidth;
  });
  assert.ok(wide <= 0, `${String(wide)} px wider than the window`);
}

/** The widths and colour schemes in which pages are tested. */
export const LOOKS = [
  { width: 1280, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
  { width: 390, colorScheme: 'light' },
  { width: 390, colorScheme: 'dark' },
] as const;

/** Asserts in each width and colour scheme that the page fits and that axe finds no violation. */
export async function look(page: Page, name: string): Promise<void> {
  const size = page.viewportSize();
  for (const { width, colorScheme } of LOOKS) {
    await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
    await page.emulateMedia({ colorScheme });
    await fits(page);
    // Colours depend on the scheme and sizes on the width, so axe runs for two combinations, and for all four with
    // screenshots.
    const both = (width === 1280) === (colorScheme === 'light');
    if (both || PICTURES !== undefined) await accessible(page);
    await picture(page, `${name}-${String(width)}-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: null });
  if (size !== null) await page.setViewportSize(size);
}

/** Moves the focus with the tabulator key to the first element that matches. */
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

/** Takes a screenshot if screenshots are requested; one of a long page takes seconds. */
export async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  await mkdir(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}

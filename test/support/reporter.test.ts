// Tests of test/support/reporter.ts: separate runs of mocha over files that fail once, always, or in a hook.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const mocha = join(
  dirname(createRequire(import.meta.url).resolve('mocha/package.json')),
  'bin/mocha.js',
);

/** Fails on its first call in a folder. */
const ONCE = `
  import { existsSync, writeFileSync } from 'node:fs';
  const again = existsSync(import.meta.filename + '.seen');
  const once = () => {
    writeFileSync(import.meta.filename + '.seen', '');
    if (!again) throw new Error('for the first time');
  };
`;
const FILES = {
  flaky: `${ONCE} describe('flaky', () => { it('turns', once); it('stays', () => {}); it.skip('waits'); });`,
  'flaky-hook': `${ONCE} describe('hook', () => { before(once); it('one', () => {}); it('two', () => {}); });`,
  'flaky-end': `${ONCE} describe('end', () => { it('one', () => {}); after(once); });`,
  broken: `it('breaks', () => { throw new Error('each time'); }); it('works', () => {});`,
  whole: `it('is whole', () => {});`,
  // The test that failed is skipped the second time.
  shy: `${ONCE} it('is shy', function () { if (again) this.skip(); once(); });`,
  // The second time the process exits before it reports.
  lost: `${ONCE} it('is lost', () => { if (again) process.exit(0); once(); });`,
  slow: `${ONCE} it('is slow', async () => { once(); await new Promise((end) => setTimeout(end, 100_000)); });`,
};

describe('the closing line', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Runs mocha over files of these kinds, in order. */
  const run = async (
    kinds: readonly (keyof typeof FILES)[],
    { ci = 'true', options = [] as readonly string[] } = {},
  ) => {
    const place = await mkdtemp(join(folder, 'run-'));
    const paths = kinds.map((kind, i) => join(place, `${String(i)}-${kind}.mjs`));
    for (const [i, kind] of kinds.entries()) await writeFile(paths[i] ?? '', FILES[kind]);
    const child = spawn(process.execPath, [mocha, '--forbid-only', ...options, ...paths], {
      cwd: root,
      env: { ...process.env, CI: ci },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    const code = await new Promise((closed) => child.once('close', closed));
    const lines = text.split('\n');
    assert.equal(lines.pop(), '', 'the text ends with a line');
    return {
      code,
      lines,
      closing: lines.filter((line) => /^\d+ passed, \d+ failed/.test(line)),
      last: lines.at(-1),
      flaky: lines.filter((line) => line.startsWith('flaky: ')).map((line) => line.slice(7)),
      tries: lines.filter((line) => line.startsWith('second try: ')).length,
    };
  };

  it('names a test that passes at the second try, and counts it as passed', async () => {
    const { code, lines, closing, last, flaky } = await run(['whole', 'flaky']);
    assert.equal(code, 0);
    assert.deepEqual(closing, ['3 passed, 0 failed, 1 skipped']);
    assert.equal(last, closing[0]);
    assert.equal(flaky.length, 1);
    assert.match(flaky[0] ?? '', /1-flaky\.mjs: flaky turns$/);
    const error = lines.findIndex((line) => line.includes('for the first time'));
    assert.ok(error >= 0 && error < lines.findIndex((line) => line.startsWith('flaky: ')));
  });

  it('attributes failures of parallel processes to their file', async () => {
    const options = ['--parallel', '--jobs', '2'];
    const kinds = ['flaky', 'broken', 'flaky-hook', 'whole'] as const;
    const { code, closing, last, flaky, tries } = await run(kinds, { options });
    assert.deepEqual([code, closing, tries], [1, ['6 passed, 1 failed, 1 skipped'], 3]);
    assert.equal(last, closing[0]);
    assert.deepEqual(flaky.map((line) => /\d-[a-z-]+/.exec(line)?.[0]).sort(), [
      '0-flaky',
      '2-flaky-hook',
    ]);
  });

  it('counts a test that fails twice, and tests of a file whose hook failed once', async () => {
    const kinds = ['broken', 'flaky-hook', 'flaky-end', 'whole'] as const;
    const { code, closing, last, flaky, tries } = await run(kinds);
    assert.equal(code, 1);
    assert.deepEqual(closing, ['5 passed, 1 failed']);
    assert.equal(last, closing[0]);
    assert.equal(tries, 3);
    assert.equal(flaky.length, 2);
    assert.match(flaky[0] ?? '', /1-flaky-hook\.mjs: hook "before all" hook/);
    assert.match(flaky[1] ?? '', /2-flaky-end\.mjs: end "after all" hook/);
  });

  it('ignores a second try that skipped tests or exited early', async () => {
    const { code, closing, flaky, tries } = await run(['shy', 'lost']);
    assert.deepEqual([code, closing, flaky, tries], [2, ['0 passed, 2 failed'], [], 2]);
  });

  it('kills a second try that takes too long', async () => {
    const options = ['--reporter-option', 'until_s=5'];
    const { code, closing, flaky, tries } = await run(['slow'], { options });
    assert.deepEqual([code, closing, flaky, tries], [1, ['0 passed, 1 failed'], [], 1]);
  });

  it('does not retry if many files failed, or outside CI', async () => {
    const many = await run(['flaky', 'flaky', 'flaky', 'flaky', 'flaky', 'broken']);
    assert.deepEqual([many.code, many.flaky, many.tries], [6, [], 0]);
    assert.equal(many.last, '6 passed, 6 failed, 5 skipped');
    const alone = await run(['flaky'], { ci: '' });
    assert.deepEqual([alone.code, alone.flaky, alone.tries], [1, [], 0]);
    assert.equal(alone.last, '1 passed, 1 failed, 1 skipped');
  });
});

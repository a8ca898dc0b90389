// The example of tools/AGENTS.md for in-toto: an envelope that in-toto's own packages made and signed is anchored, and
// they verify it offline beside its receipt. Runs where ACTLOG_PYTHON names a Python that has the packages.

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { guideExample } from '../../support/guide-examples.ts';
import { run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';

const PYTHON = process.env['ACTLOG_PYTHON'] ?? '';
const MODULES = 'import actlog, in_toto_attestation, securesystemslib';

describe('an anchored in-toto attestation', function () {
  this.timeout(60_000);
  let running: Running;
  let folder: string;

  before(async function () {
    if (PYTHON === '' || spawnSync(PYTHON, ['-c', MODULES]).status !== 0) {
      console.log(
        '      skipped: ACTLOG_PYTHON names no Python with actlog, in-toto-attestation and securesystemslib',
      );
      this.skip();
    }
    folder = await mkdtemp(join(tmpdir(), 'actlog-anchors-'));
    running = await run();
    const script = fileURLToPath(new URL('attest.py', import.meta.url));
    const made = spawnSync(PYTHON, [script, folder], { encoding: 'utf8' });
    assert.equal(made.status, 0, made.stderr);
    const env = { ...process.env, ACTLOG_URL: running.url, ACTLOG_KEY: running.live };
    await promisify(execFile)('sh', ['-euc', guideExample('anchor')], { cwd: folder, env });
    const kit = await running.get('/export/offline-verify-kit.json');
    await writeFile(join(folder, 'kit.json'), kit.text);
    await writeFile(join(folder, 'check.py'), guideExample('in-toto'));
  });
  after(async () => {
    // undefined if the tests were skipped
    await (running as Running | undefined)?.close();
    if ((folder as string | undefined) !== undefined) await rm(folder, { recursive: true });
  });

  const check = () => spawnSync(PYTHON, ['check.py'], { cwd: folder, encoding: 'utf8' });

  it('is verified by in-toto’s packages, and its receipt by actlog, offline', () => {
    const { status, stdout, stderr } = check();
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^VALID: /m);
  });

  it('is refused with another signature, another statement or another receipt', async () => {
    const change = async (name: string, from: RegExp, to: string): Promise<void> => {
      const path = join(folder, name);
      const text = await readFile(path, 'utf8');
      assert.match(text, from);
      await writeFile(path, text.replace(from, to));
      assert.notEqual(check().status, 0, name);
      await writeFile(path, text);
    };
    await change('envelope.json', /"sig": "../, '"sig": "AA');
    await change('envelope.json', /"payload": "(.{40})../, '"payload": "$1AA');
    await change('anchored.json', /"digest":"../g, '"digest":"00');
    await change('anchored.json', /"index":\d+/g, '"index":1');
    assert.equal(check().status, 0);
  });
});

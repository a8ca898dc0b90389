// Compares the findings and exit codes of the Python verifier (tools/clients/python) with those of `actlog verify`, on
// documents of a running service and on the test vectors. Runs if ACTLOG_PYTHON names a Python that has the package.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { actlog } from '../support/actlog.ts';
import type { Body } from '../support/body.ts';
import { Served } from '../tools/served.ts';

const PYTHON = process.env['ACTLOG_PYTHON'] ?? '';

/** The result of a process. */
interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a module of the package to its end. */
function python(module: string, args: readonly string[], input = ''): Promise<Ended> {
  const child = spawn(PYTHON, ['-m', module, ...args]);
  return new Promise((resolve, reject) => {
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.on('error', reject);
    child.on('close', (code) => {
      resolve({ code, stdout, stderr });
    });
    child.stdin.end(input);
  });
}

/** The verdict and the checks in what a verifier prints. `actlog verify` also prints a summary around them. */
function findingIn(text: string): { verdict: readonly string[]; checks: readonly string[] } {
  const lines = text.split('\n');
  return {
    verdict: lines.filter((line) => /^[A-Z][A-Z ]+: /.test(line)),
    checks: lines.filter((line) => /^ {2}(?:ok|failed|not shown) /.test(line)),
  };
}

describe('the Python verifier', function () {
  this.timeout(240_000);

  before(function () {
    if (PYTHON === '') {
      console.log('      skipped: ACTLOG_PYTHON names no Python that has tools/clients/python');
      this.skip();
    }
  });

  describe('on documents of a running service', () => {
    let served: Served | undefined;
    let kit: string;

    before(async () => {
      served = await Served.start();
      kit = await served.keep('kit.json', '/export/offline-verify-kit.json');
    });
    after(() => served?.stop());

    const file = async (name: string, text: string): Promise<string> => {
      const path = join(served?.folder ?? '', name);
      await writeFile(path, text);
      return path;
    };

    /** Asserts that both verifiers agree for these arguments; returns the exit code. */
    async function agree(...args: readonly string[]): Promise<number | null> {
      const ours = await actlog(['verify', ...args]);
      const theirs = await python('actlog.cli', args);
      if (args.includes('--json')) assert.deepEqual(JSON.parse(theirs.stdout), ours.json);
      else assert.deepEqual(findingIn(theirs.stdout), findingIn(ours.stdout));
      assert.equal(theirs.stderr.replace(/^actlog-verify: /, 'actlog: '), ours.stderr);
      assert.equal(theirs.code, ours.code);
      if (ours.code === 0 && !args.includes('--json')) {
        const { verdict, checks } = findingIn(ours.stdout);
        assert.ok(verdict.length === 1 && checks.length > 0, ours.stdout);
      }
      return ours.code;
    }

    it('agrees on receipts and on answers that contain one', async () => {
      assert.ok(served !== undefined);
      const answer = await served.silence('python-1');
      assert.equal(await agree(answer, '--kit', kit), 0);
      assert.equal(await agree(answer, '--kit', kit, '--json'), 0);
      const text = await readFile(answer, 'utf8');
      const changed = text.replace(/"issued_at_ms":\d+/, '"issued_at_ms":1700000000001');
      assert.equal(await agree(await file('changed.json', changed), '--kit', kit), 1);
      const twice = text.replace('{', '{"kid":"x","kid":"y",');
      assert.equal(await agree(await file('twice.json', twice), '--kit', kit), 1);
      assert.equal(await agree(answer, '--kit', kit, '--key', '["session","x"]'), 2);
      assert.equal(await agree(answer, '--kit', kit, '--origin', 'elsewhere/log/live/1'), 2);
      const bare = await file('none.json', '{"found":false}');
      assert.equal(await agree(bare, '--kit', kit), 2);
    });

    it('agrees on proofs, checkpoints and absence documents', async () => {
      assert.ok(served !== undefined);
      const { receipt } = JSON.parse(await readFile(await served.silence('python-2'), 'utf8')) as {
        receipt: Body;
      };
      const found = await served.keep('found.json', `/receipt/lookup?entry_id=${receipt.entry_id}`);
      assert.equal(await agree(found, '--kit', kit), 0);
      const answer = JSON.parse(await readFile(found, 'utf8'));
      const proof = await file('entry.tlog-proof', answer.proof.tlog_proof as string);
      const plain = await file('plain.json', JSON.stringify(answer.receipt));
      assert.equal(await agree(proof, '--receipt', plain, '--kit', kit), 0);
      assert.equal(await agree(proof, '--kit', kit), 2);
      assert.equal(await agree(plain, '--proof', proof, '--kit', kit), 0);
      const index = String(receipt.log.index);
      const included = `/log/live/proof/inclusion?index=${index}`;
      assert.equal(await agree(await served.keep('in.json', included), '--kit', kit), 0);
      const note = await served.keep('checkpoint', '/log/live/checkpoint');
      assert.equal(await agree(note, '--kit', kit), 0);

      const key = JSON.stringify(receipt.subject_key);
      const window = (from: number, to: number): string =>
        `/log/live/proof/lookup?key=${encodeURIComponent(key)}&from_ms=${String(from)}&to_ms=${String(to)}`;
      const absent = await served.keep('absent.json', window(1e12, 1e12 + 1000));
      const from = ['--kit', kit, '--key', key, '--from', String(1e12)];
      assert.equal(await agree(absent, ...from, '--to', String(1e12 + 1000)), 0);
      assert.equal(await agree(absent, ...from, '--to', String(1e12 + 999)), 0);
      assert.equal(await agree(absent, ...from, '--to', String(1e12 + 1001)), 2);
      assert.equal(await agree(absent, '--kit', kit, '--as-asked', '--json'), 0);
      assert.equal(await agree(absent, '--kit', kit, '--as-asked'), 0);
      assert.equal(await agree(absent, '--kit', kit), 2);
    });

    it('agrees on findings of monitors', async () => {
      const text = await readFile('test/vectors/violation.json', 'utf8');
      const vectors = JSON.parse(text) as Record<string, readonly { doc: Body }[]> & { kit: Body };
      const own = await file('violation-kit.json', JSON.stringify(vectors.kit));
      const proven = await file('finding.json', JSON.stringify(vectors['documents']?.[0]?.doc));
      assert.equal(await agree(proven, '--kit', own), 0);
      const replay = vectors['undecided']?.find(({ doc }) => doc.rule === 'map_root');
      const document = await file('replay.json', JSON.stringify(replay?.doc));
      assert.equal(await agree(document, '--kit', own, '--json'), 2);
    });

    it('agrees on a kit, except for its vectors of exports', async () => {
      const ours = await actlog(['verify', kit]);
      const theirs = await python('actlog.cli', [kit]);
      const plain = (text: string): string => text.replaceAll(/^.*export vector.*\n/gm, '');
      assert.deepEqual(findingIn(plain(theirs.stdout)), findingIn(plain(ours.stdout)));
      assert.equal(theirs.code, 0);
    });
  });

  it('agrees on every vector of absence documents and of Ed25519', async () => {
    const vectors = 'test/vectors/absence.json';
    const theirs = await python('actlog.vectors', [vectors]);
    assert.equal(theirs.stdout, (await actlog(['vectors', vectors])).stdout);
    assert.equal(theirs.code, 0);
  });

  it('passes its own tests', async () => {
    const { code, stdout } = await python('pytest', ['-q', '-rs', 'tools/clients/python/tests']);
    assert.equal(code, 0, stdout);
  });
});

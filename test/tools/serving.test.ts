// The commands beside a server: serve itself, keys and tenants through it, a backup while it serves, and
// verify on what it hands out.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { actlog, start, type Ran } from '../support/actlog.ts';

describe('actlog serve, and what works beside it', function () {
  this.timeout(240_000);
  let folder: string;
  let data: string;
  let server: ChildProcessWithoutNullStreams;
  let printed = '';
  let url: string;
  let key: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-serve-'));
    data = join(folder, 'data');
    const env = {
      PORT: '0',
      LOG_LEVEL: 'silent',
      RATE_LIMITS: 'off',
      CHECKPOINT_INTERVAL_MS: '100',
    };
    server = start(['serve', '--data', data], { env });
    server.stdout.setEncoding('utf8');
    server.stderr.setEncoding('utf8').on('data', (text: string) => (printed += text));
    while (!/actlog serves (\S+)/.test(printed)) {
      const [text] = await Promise.race([once(server.stdout, 'data'), once(server, 'exit')]);
      if (typeof text !== 'string') throw new Error(`the server did not start: ${printed}`);
      printed += text;
    }
    url = /actlog serves (\S+)/.exec(printed)?.[1] ?? '';
    key = /live key: (\S+)/.exec(printed)?.[1] ?? '';
  });

  after(async () => {
    server.kill('SIGTERM');
    if (server.exitCode === null) await once(server, 'exit');
    await rm(folder, { recursive: true, force: true });
  });

  async function answer(path: string, body?: object): Promise<string> {
    const response = await fetch(url + path, {
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      headers: { 'content-type': 'application/json', 'x-api-key': key, prefer: 'wait=10' },
    });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return text;
  }

  /** Keeps an answer in a file. */
  async function keep(name: string, path: string, body?: object): Promise<string> {
    const file = join(folder, name);
    await writeFile(file, await answer(path, body));
    return file;
  }

  /** The kids of the JWKS. */
  async function publishedKids(): Promise<readonly string[]> {
    const { keys } = JSON.parse(await answer('/crypto/jwks.json')) as {
      keys: readonly { readonly kid: string }[];
    };
    return keys.map(({ kid }) => kid);
  }

  const silence = (session_id: string) =>
    keep(`${session_id}.json`, '/silence-receipt', { session_id, context: 'waited' });
  const run = (...args: string[]): Promise<Ran> => actlog(args);
  const beside = (...args: string[]): Promise<Ran> => actlog([...args, '--data', data]);

  it('prints the first keys once', () => {
    assert.match(printed, /sandbox key: svc_sandbox_[0-9A-Za-z]{32}\n/);
    assert.match(key, /^svc_live_[0-9A-Za-z]{32}$/);
  });

  it('refuses a second server on the same data, in words', async () => {
    const { code, stderr } = await beside('serve');
    assert.equal(code, 1);
    assert.match(stderr, /another process has the data in .* open/);
    assert.doesNotMatch(stderr, /\n {4}at /);
  });

  it('refuses a setting that is none, by its name', async () => {
    const { code, stderr } = await actlog(['serve'], { env: { PORT: 'eighty' } });
    assert.equal(code, 1);
    assert.match(stderr, /^actlog: PORT must be an integer/);
  });

  describe('verify', () => {
    let kit: string;

    before(async () => {
      kit = await keep('kit.json', '/export/offline-verify-kit.json');
    });

    it('accepts a receipt with its proof, offline, check by check', async () => {
      const receipt = await silence('s-1');
      const { code, stdout } = await run('verify', receipt, '--kit', kit);
      assert.equal(code, 0, stdout);
      assert.match(stdout, / {2}ok +signature +key /);
      assert.match(stdout, / {2}ok +inclusion +entry \d+ of \d+/);
      assert.match(stdout, / {2}not shown +cosignatures/);
      assert.match(stdout, /^VALID: the log signed this entry, and it is in the tree of/m);
      assert.match(stdout, /^trust: .*kit\.json \(policy_source: operator\)$/m);
    });

    it('refuses a receipt that was changed, and names the check', async () => {
      const receipt = await readFile(await silence('s-2'), 'utf8');
      const changed = receipt.replace(/"issued_at_ms":\d+/, '"issued_at_ms":1700000000001');
      const { code, json } = await actlog(['verify', '-', '--kit', kit, '--json'], {
        stdin: changed,
      });
      assert.equal(code, 1);
      assert.equal(json.valid, false);
      const failed = json.checks.filter(({ outcome }: { outcome: string }) => outcome === 'failed');
      assert.deepEqual(
        failed.map(({ name }: { name: string }) => name),
        ['entry_hash', 'inclusion', 'signature'],
      );
    });

    it('fetches receipt and kit when it is given an address, and says whom that trusts', async () => {
      const { receipt } = JSON.parse(await readFile(await silence('s-3'), 'utf8'));
      const { code, stdout } = await run('verify', `${url}/r/${receipt.entry_id}`);
      assert.equal(code, 0, stdout);
      assert.match(stdout, /fetched just now: its operator vouches for itself/);
      const page = await run('verify', receipt.verify_url);
      assert.equal(page.code, 0, page.stderr);
    });

    it('takes a lookup answer, a tlog-proof, a checkpoint, an inclusion proof and the kit', async () => {
      const { receipt } = JSON.parse(await readFile(await silence('s-4'), 'utf8'));
      const found = await keep('found.json', `/receipt/lookup?entry_id=${receipt.entry_id}`);
      const { proof, receipt: plain } = JSON.parse(await readFile(found, 'utf8'));
      const proofFile = join(folder, 'entry.tlog-proof');
      const plainFile = join(folder, 'plain.json');
      await writeFile(proofFile, proof.tlog_proof);
      await writeFile(plainFile, JSON.stringify(plain));
      const index = String(receipt.log.index);
      const inclusion = await keep('inclusion.json', `/log/live/proof/inclusion?index=${index}`);
      const checkpoint = await keep('checkpoint', '/log/live/checkpoint');
      for (const args of [
        [found],
        [proofFile, '--receipt', plainFile],
        [plainFile, '--proof', proofFile],
        [inclusion],
        [checkpoint],
      ]) {
        const { code, stdout, stderr } = await run('verify', ...args, '--kit', kit);
        assert.equal(code, 0, stdout + stderr);
      }
      const { code, stdout } = await run('verify', kit);
      assert.equal(code, 0, stdout);
      assert.match(stdout, /vector +1 is refused, as the kit says/);
    });

    it('checks absence only against a question that the caller states', async () => {
      const { receipt } = JSON.parse(await readFile(await silence('s-5'), 'utf8'));
      const session = receipt.subject_key as string[];
      const asked = encodeURIComponent(JSON.stringify(session));
      const window = { from: 1_000_000_000_000, to: 1_000_000_001_000 };
      const document = await keep(
        'absent.json',
        `/log/live/proof/lookup?key=${asked}&from_ms=${window.from}&to_ms=${window.to}`,
      );
      const unasked = await run('verify', document, '--kit', kit);
      assert.equal(unasked.code, 2);
      assert.match(unasked.stderr, /a question that you have not asked/);
      const question = ['--key', JSON.stringify(session), '--from', String(window.from)];
      const own = await run(
        'verify',
        document,
        '--kit',
        kit,
        ...question,
        '--to',
        String(window.to),
      );
      assert.equal(own.code, 0, own.stdout);
      assert.match(own.stdout, /^VALID: ABSENT/m);
      const other = await run(
        'verify',
        document,
        '--kit',
        kit,
        ...question,
        '--to',
        '1000000009999',
      );
      assert.equal(other.code, 1);
      assert.match(other.stdout, /answers another question/);
      const taken = await run('verify', document, '--kit', kit, '--as-asked');
      assert.equal(taken.code, 0);
      assert.match(taken.stdout, /question, taken from the document/);
    });

    it('takes the document about the surface that is asked about from an answer that has several', async () => {
      const window = { from_ms: 1_000_000_000_000, to_ms: 1_000_000_001_000 };
      const asked = { entity: 'acme', surfaces: ['policy_bind', 'data_export'], ...window };
      const file = await keep('several.json', '/api/v1/absence/witness', asked);
      const about = (surface: string) => ['--key', JSON.stringify(['surface', 'acme', surface])];
      const { from_ms, to_ms } = window;
      const when = ['--from', String(from_ms), '--to', String(to_ms)];
      const one = await run('verify', file, '--kit', kit, ...about('data_export'), ...when);
      assert.equal(one.code, 0, one.stdout + one.stderr);
      assert.match(one.stdout, /^VALID: UNDECLARED: nothing was logged for surface data_export/m);
      const each = await run('verify', file, '--kit', kit, '--as-asked');
      assert.equal(each.code, 0, each.stdout + each.stderr);
      assert.equal(each.stdout.match(/^VALID: UNDECLARED/gm)?.length, 2);
      const other = await run('verify', file, '--kit', kit, ...about('offer_extend'), ...when);
      assert.equal(other.code, 2);
      assert.match(other.stderr, /holds 2 absence documents, and none is about .*offer_extend/);
      const unasked = await run('verify', file, '--kit', kit);
      assert.equal(unasked.code, 2);
      assert.match(unasked.stderr, /say by --key which you ask about/);
    });

    it('cannot tell without a kit, without a thing, or of what it does not know', async () => {
      const receipt = await silence('s-6');
      const stray = join(folder, 'stray.txt');
      await writeFile(stray, 'hello');
      for (const [args, said] of [
        [[receipt], /a kit says which keys to trust/],
        [[stray, '--kit', kit], /no receipt, absence document/],
        [['missing.json', '--kit', kit], /ENOENT/],
        [[receipt, '--kit', stray], /./],
        [[], /missing required argument/],
      ] as const) {
        const { code, stderr } = await run('verify', ...args);
        assert.equal(code, 2, stderr);
        assert.match(stderr, said);
        assert.doesNotMatch(stderr, /\n {4}at /);
      }
    });
  });

  describe('keys and tenants', () => {
    it('issues a key that the server takes at once, and revokes it at once', async () => {
      const issued = await beside('keys', 'issue', '--tenant', 'acme', '--kind', 'live', '--json');
      assert.equal(issued.code, 0, issued.stderr);
      const { key: text, key_id } = issued.json;
      const me = () => fetch(`${url}/api/v1/me`, { headers: { 'x-api-key': text } });
      assert.equal((await me()).status, 200);
      const listed = await beside('keys', 'list');
      assert.ok(listed.stdout.includes(key_id));
      assert.ok(!listed.stdout.includes(text));
      assert.equal((await beside('keys', 'revoke', key_id)).code, 0);
      assert.equal((await me()).status, 401);
      assert.match((await beside('keys', 'list')).stdout, /revoked \d{4}-/);
    });

    it('rotates a key with a grace', async () => {
      const { json: old } = await beside(
        ...['keys', 'issue', '--tenant', 'acme', '--expires', '1d', '--json'],
      );
      const { json, code } = await beside(
        ...['keys', 'rotate', old.key_id, '--grace', '1h', '--json'],
      );
      assert.equal(code, 0);
      assert.equal(json.rotated_from, old.key_id);
    });

    it('says in words what cannot be done', async () => {
      for (const [args, said] of [
        [['keys', 'revoke', 'key_none'], /there is no key key_none/],
        [['keys', 'issue', '--tenant', 'Not A Name'], /tenant must match/],
        [['keys', 'rotate', 'key_none', '--grace', 'soon'], /soon is no span of time/],
        [['keys', 'rotate'], /name an API key, or give --use/],
        [['keys', 'rotate', '--use', 'air'], /--use needs --log/],
        [['keys', 'revoke', 'x', '--use', 'air', '--log', 'live'], /there is no air key x/],
      ] as const) {
        const { code, stderr } = await beside(...args);
        assert.ok(code === 1 || code === 2);
        assert.match(stderr, said);
      }
    });

    it('lists the tenants without their secrets', async () => {
      const { stdout } = await beside('tenants', 'list', '--json');
      const tenants = JSON.parse(stdout) as { name: string }[];
      assert.ok(tenants.some(({ name }) => name === 'public'));
      assert.doesNotMatch(stdout, /tenant_key/);
    });

    it('rotates the receipt key of a log: the next receipt is of the new one', async () => {
      const { stdout, code } = await beside('keys', 'rotate-receipt', '--log', 'live');
      assert.equal(code, 0);
      const kid = /signs with (\S+)/.exec(stdout)?.[1];
      const { receipt } = JSON.parse(await readFile(await silence('s-7'), 'utf8'));
      assert.equal(receipt.kid, kid);
      const revoked = await beside('keys', 'revoke-receipt', kid ?? '', '--log', 'live');
      assert.equal(revoked.code, 0, revoked.stderr);
    });

    it('rotates the keys of webhooks, AIR and COSE', async () => {
      const args = ['keys', 'rotate', '--use', 'air', '--log', 'live'];
      const { json, code, stderr } = await beside(...args, '--json');
      assert.equal(code, 0, stderr);
      assert.match(json.kid, /^[A-Za-z0-9_-]{43}$/);
      const { stdout } = await beside(...args);
      assert.match(stdout, /^the air key of the live log is \S{43} from now on$/m);
      assert.ok(!stdout.includes(json.kid));
    });

    it('withdraws a stolen signing key: the JWKS names it no more', async () => {
      const use = ['--use', 'webhook', '--log', 'live'];
      const { json } = await beside('keys', 'rotate', ...use, '--json');
      assert.ok((await publishedKids()).includes(json.kid));
      const { stdout, stderr } = await beside('keys', 'revoke', json.kid, ...use);
      const successor = /^the webhook key of the live log is (\S{43})$/m.exec(stdout)?.[1];
      const kids = await publishedKids();
      assert.ok(successor !== undefined && kids.includes(successor), stderr);
      assert.ok(!kids.includes(json.kid));
    });

    it('vouches for the clock', async () => {
      assert.equal((await beside('clock', 'confirm')).code, 0);
    });
  });

  it('writes a backup while it serves, which fsck finds clean; never over another', async () => {
    const target = join(folder, 'backup');
    const { code, stdout } = await beside('backup', target);
    assert.equal(code, 0);
    assert.match(stdout, /\/log\/live\/1: \d+ entries/);
    const copy = await actlog(['fsck', '--data', target], {
      env: { CHECKPOINT_DIR: join(data, 'checkpoints') },
    });
    assert.match(copy.stdout, /live\/1 .* clean/);
    assert.equal(copy.code, 0, copy.stdout);
    const again = await beside('backup', target);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /exists already/);
  });

  it('keeps fsck away from data that it holds', async () => {
    const { code, stderr } = await beside('fsck');
    assert.equal(code, 2);
    assert.match(stderr, /another process has the data/);
  });

  it('is followed by the monitor', async () => {
    const { code, stdout } = await run(
      ...['monitor', url, '--once', '--state', join(folder, 'monitor')],
    );
    assert.equal(code, 0, stdout);
    assert.match(stdout, /live\/1 {2}ok/);
    assert.match(stdout, /sandbox\/1 {2}ok/);
  });
});

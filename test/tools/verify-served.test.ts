// `actlog verify` on documents of a running service, with the kit of that service.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { actlog, type Ran } from '../support/actlog.ts';

import { Served } from './served.ts';

describe('actlog verify on documents of a running service', function () {
  this.timeout(240_000);
  let served: Served;
  before(async () => {
    served = await Served.start();
  });
  after(() => served.stop());

  const run = (...args: string[]): Promise<Ran> => actlog(args);

  describe('verify', () => {
    let kit: string;

    before(async () => {
      kit = await served.keep('kit.json', '/export/offline-verify-kit.json');
    });

    it('accepts a receipt with its proof, offline, and prints every check', async () => {
      const receipt = await served.silence('s-1');
      const { code, stdout } = await run('verify', receipt, '--kit', kit);
      assert.equal(code, 0, stdout);
      assert.match(stdout, / {2}ok +signature +key /);
      assert.match(stdout, / {2}ok +inclusion +entry \d+ of \d+/);
      assert.match(stdout, / {2}not shown +cosignatures/);
      assert.match(stdout, /^VALID: the log signed this entry, and it is in the tree of/m);
      assert.match(stdout, /^ {2}trust +.*kit\.json \(policy_source: operator\)$/m);
    });

    it('refuses a receipt that was changed, and names the check', async () => {
      const receipt = await readFile(await served.silence('s-2'), 'utf8');
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

    it('fetches receipt and kit from an address, and prints that it trusts their operator', async () => {
      const { receipt } = JSON.parse(await readFile(await served.silence('s-3'), 'utf8'));
      const { code, stdout } = await run('verify', `${served.url}/r/${receipt.entry_id}`);
      assert.equal(code, 0, stdout);
      assert.match(stdout, /fetched just now: its operator vouches for itself/);
      const page = await run('verify', receipt.verify_url);
      assert.equal(page.code, 0, page.stderr);
    });

    it('checks a lookup answer, a tlog-proof, a checkpoint, an inclusion proof and the kit', async () => {
      const { receipt } = JSON.parse(await readFile(await served.silence('s-4'), 'utf8'));
      const found = await served.keep('found.json', `/receipt/lookup?entry_id=${receipt.entry_id}`);
      const { proof, receipt: plain } = JSON.parse(await readFile(found, 'utf8'));
      const proofFile = join(served.folder, 'entry.tlog-proof');
      const plainFile = join(served.folder, 'plain.json');
      await writeFile(proofFile, proof.tlog_proof);
      await writeFile(plainFile, JSON.stringify(plain));
      const index = String(receipt.log.index);
      const inclusion = await served.keep(
        'inclusion.json',
        `/log/live/proof/inclusion?index=${index}`,
      );
      const checkpoint = await served.keep('checkpoint', '/log/live/checkpoint');
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
      const untold = await run('verify', proofFile, '--receipt', proofFile, '--kit', kit);
      assert.equal(untold.code, 2, untold.stdout);
      assert.match(
        untold.stderr,
        /^actlog: what came with the tlog-proof is no receipt and no entry: /m,
      );
      const { code, stdout } = await run('verify', kit);
      assert.equal(code, 0, stdout);
      assert.match(stdout, /vector +1 is refused, as the kit says/);
    });

    it('checks absence only against a question that the caller states', async () => {
      const { receipt } = JSON.parse(await readFile(await served.silence('s-5'), 'utf8'));
      const session = receipt.subject_key as string[];
      const asked = encodeURIComponent(JSON.stringify(session));
      const window = { from: 1_000_000_000_000, to: 1_000_000_001_000 };
      const document = await served.keep(
        'absent.json',
        `/log/live/proof/lookup?key=${asked}&from_ms=${window.from}&to_ms=${window.to}`,
      );
      const unasked = await run('verify', document, '--kit', kit);
      assert.equal(unasked.code, 2);
      assert.match(unasked.stderr, /a question that you have not asked/);
      const from = ['--key', JSON.stringify(session), '--from', String(window.from)];
      const asking = (to: number): Promise<Ran> =>
        run('verify', document, '--kit', kit, ...from, '--to', String(to));
      const own = await asking(window.to);
      assert.equal(own.code, 0, own.stdout);
      assert.match(own.stdout, /^VALID: ABSENT/m);
      const other = await asking(1_000_000_009_999);
      assert.equal(other.code, 2, other.stdout);
      assert.match(other.stderr, /does not answer this question/);
      const taken = await run('verify', document, '--kit', kit, '--as-asked');
      assert.equal(taken.code, 0);
      assert.match(taken.stdout, /question, taken from the document/);
    });

    it('answers a question about a window by an absence document only', async () => {
      const key = ['--key', '["surface","acme","policy_bind"]'];
      const asked = [...key, '--from', '1000000000000', '--to', '1000000001000'];
      const witness = await served.keep('another-schema.json', '/api/v1/absence/witness', {
        entity: 'acme',
        surface: 'policy_bind',
        from_ms: 1_000_000_000_000,
        to_ms: 1_000_000_001_000,
      });
      const { witness: document } = JSON.parse(await readFile(witness, 'utf8'));
      await writeFile(witness, JSON.stringify({ ...document, schema: undefined }));
      for (const [file, question, said] of [
        [witness, ['--as-asked'], /the receipt in it does not speak for the rest/],
        [kit, ['--as-asked'], /--as-asked asks about an absence document, and this is a kit/],
        [await served.silence('s-7'), asked, /--key asks about .*, and this is a receipt/],
      ] as const) {
        const { code, stdout, stderr } = await run('verify', file, '--kit', kit, ...question);
        assert.equal(code, 2, stdout);
        assert.match(stderr, said);
      }
      await writeFile(witness, JSON.stringify(document));
      const mine = await run('verify', witness, '--kit', kit, '--as-asked', ...key);
      assert.equal(mine.code, 0, mine.stdout + mine.stderr);
      const to = ['--to', '1000000000999'];
      const another = await run('verify', witness, '--kit', kit, '--as-asked', ...to);
      assert.equal(
        another.code,
        2,
        'an UNDECLARED document answers no question about a part of its window',
      );
      assert.match(another.stderr, /does not answer this question/);
    });

    it('checks a further page with the last entry of the page before', async () => {
      for (const message of ['one', 'two']) {
        await served.answer('/api/v1/classify', { message, session_id: 's-9' });
      }
      const page = (query: string) =>
        served.keep('page.json', `/api/v1/sessions/s-9/proof?limit=1${query}`);
      const one = await run('verify', await page(''), '--kit', kit, '--as-asked', '--json');
      assert.deepEqual([one.json.entries, one.json.more], [1, true]);
      const after = String(one.json.shown[0].index);
      const file = await page(`&after=${after}`);
      const two = await run('verify', file, '--kit', kit, '--as-asked', '--after', after);
      assert.equal(two.code, 0, two.stdout + two.stderr);
      assert.match(
        two.stdout,
        new RegExp(`^VALID: PRESENT: 1 entry is .*, after entry ${after}\\.`, 'm'),
      );
      const alone = await run('verify', file, '--kit', kit, '--as-asked');
      assert.equal(alone.code, 1);
      assert.match(alone.stdout, /first entry of the window is left out/);
    });

    it('refuses a proof or receipt for a document that does not need one', async () => {
      const receipt = await served.silence('s-8');
      const checkpoint = await served.keep('checkpoint.txt', '/log/live/checkpoint');
      for (const option of ['--proof', '--receipt']) {
        const { code, stderr } = await run('verify', checkpoint, '--kit', kit, option, receipt);
        assert.equal(code, 2);
        assert.match(stderr, new RegExp(`${option} asks about .* and this is a checkpoint`));
      }
    });

    it('exits 2 for a log or a key that is newer than the kit', async () => {
      const receipt = await served.silence('s-10');
      const { json } = await actlog(['verify', receipt, '--kit', kit, '--json']);
      const text = await readFile(kit, 'utf8');
      const older = join(served.folder, 'older.json');
      await writeFile(older, text.replaceAll(json.origin as string, 'elsewhere/log/live/1'));
      const strange = await run('verify', receipt, '--kit', older);
      assert.equal(strange.code, 2, strange.stdout);
      assert.match(
        strange.stderr,
        /does not know the log ".*": a log that is younger than the kit/,
      );
      const { keys, ...rest } = JSON.parse(text);
      const none = keys.keys.filter(({ purpose }: { purpose?: string }) => purpose !== undefined);
      await writeFile(older, JSON.stringify({ ...rest, keys: { keys: none } }));
      const unknown = await actlog(['verify', receipt, '--kit', older, '--json']);
      assert.equal(unknown.code, 2);
      assert.deepEqual([unknown.json.valid, unknown.json.untold], [false, true]);
      const other = await run('verify', kit, '--kit', older);
      assert.equal(other.code, 0, other.stdout);
      assert.match(other.stdout, /ok +pinned kit +it has the logs and the keys/);
    });

    it('chooses the document about the surface of the question from an answer with several', async () => {
      const window = { from_ms: 1_000_000_000_000, to_ms: 1_000_000_001_000 };
      const asked = { entity: 'acme', surfaces: ['policy_bind', 'data_export'], ...window };
      const file = await served.keep('several.json', '/api/v1/absence/witness', asked);
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
      const { witnesses } = JSON.parse(await readFile(file, 'utf8')) as { witnesses: object[] };
      const twice = join(served.folder, 'twice.json');
      await writeFile(twice, JSON.stringify({ ok: true, witnesses: [witnesses[0], witnesses[0]] }));
      const both = await run('verify', twice, '--kit', kit, ...about('policy_bind'), ...when);
      assert.equal(both.code, 2);
      assert.match(both.stderr, /2 are about .*policy_bind.*, each of another log/);
      const unasked = await run('verify', file, '--kit', kit);
      assert.equal(unasked.code, 2);
      assert.match(unasked.stderr, /choose one with --key/);
    });

    it('exits 2 without a kit, without a document, and for an unknown document', async () => {
      const receipt = await served.silence('s-6');
      const stray = join(served.folder, 'stray.txt');
      await writeFile(stray, 'hello');
      for (const [args, said] of [
        [[receipt], /a kit says which keys to trust/],
        [[stray, '--kit', kit], /no receipt, absence document/],
        [['missing.json', '--kit', kit], /^actlog: missing\.json: no such file or directory$/m],
        [
          [receipt, '--kit', stray],
          /stray\.txt is no offline verification kit: text is not json; /,
        ],
        [[receipt, '--kit', served.url], /is no offline verification kit: .* has one at /],
        [[], /missing required argument/],
      ] as const) {
        const { code, stderr } = await run('verify', ...args);
        assert.equal(code, 2, stderr);
        assert.match(stderr, said);
        assert.doesNotMatch(stderr, /\n {4}at /);
      }
    });
  });
});

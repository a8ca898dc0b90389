// Checks documents of every type, valid and changed, with the verifiers as `actlog verify` runs them and as the page
// /verify runs them, bundled for browsers with portable cryptography. Verdict and reason must be the same.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { adminCall } from '../../support/admin-call.ts';
import { readKeyFile, Signer } from '../../../log/crypto/keys.ts';
import { native } from '../../../log/index.ts';
import type { JsonObject } from '../../../log/index.ts';
import { signCheckpoint } from '../../../log/note/checkpoint.ts';
import { monthOf, monthWindow } from '../../../plugins/clear/index.ts';
import { weekOf, windowOf } from '../../../plugins/contract/weeks.ts';
import * as verifiers from '../../../plugins/verifiers.ts';
import { Clock, ok, run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';

type Verifiers = typeof verifiers;

const CHANGES = 12;

describe('one corpus for the command line and the page', function () {
  this.timeout(180_000);

  let page: Verifiers;
  let folder: string;
  let kit: JsonObject;
  let receipt: string;
  const documents = new Map<string, Buffer>();

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-corpus-'));
    const { outputFiles } = await build({
      entryPoints: [fileURLToPath(new URL('../../../plugins/verifiers.ts', import.meta.url))],
      ...{ bundle: true, write: false, format: 'esm', platform: 'browser', target: 'es2022' },
    });
    const file = join(folder, 'verifiers.mjs');
    await writeFile(file, outputFiles[0]?.text ?? '');
    page = (await import(pathToFileURL(file).href)) as Verifiers;
    const clock = new Clock();
    const running = await run({}, { clock });
    try {
      await collect(running, clock);
    } finally {
      await running.close();
    }
  });
  after(() => rm(folder, { recursive: true, force: true }));

  async function collect(running: Running, clock: Clock): Promise<void> {
    const key = { key: running.live, headers: { Prefer: 'wait=20' } };
    const keep = async (name: string, path: string): Promise<Buffer> => {
      const response = await fetch(running.url + path, { headers: { 'X-API-Key': running.live } });
      assert.equal(response.status, 200, `${name}: ${path}`);
      const bytes = Buffer.from(await response.arrayBuffer());
      documents.set(name, bytes);
      return bytes;
    };
    let entry_id = '';
    for (const message of ['one', 'two', 'three']) {
      const body = { message, session_id: 's' };
      ({ entry_id } = ok(await running.post('/api/v1/classify', body, key)));
    }
    const restraint = { decision_reason: 'no consent', action_not_taken: 'call' };
    const answer = await running.post('/api/v1/restraint', restraint, key);
    documents.set('answer with a receipt', Buffer.from(answer.text));
    receipt = JSON.stringify(ok(answer).receipt);
    documents.set('receipt', Buffer.from(receipt));
    const { entry_id: id, index } = answer.json.receipt;
    await keep('lookup', `/receipt/lookup?entry_id=${id as string}`);
    await keep('tlog-proof', `/r/${id as string}/tlog-proof`);
    const note = await keep('checkpoint', '/log/live/checkpoint');
    documents.set('finding', await fork(running, note.toString()));
    await keep('inclusion', `/log/live/proof/inclusion?index=${String(index)}`);
    const asked = { entity: 'corpus', surfaces: ['a', 'b'], from_ms: 1, to_ms: 2 };
    const witness = await running.post('/api/v1/absence/witness', asked, key);
    documents.set('witness', Buffer.from(JSON.stringify(ok(witness).witnesses[0])));
    documents.set('witnesses', Buffer.from(witness.text));
    await keep('session', '/api/v1/sessions/s/proof?limit=2');
    const enrolled = await running.post('/carrier/v1/enroll', { company: 'Corpus' }, key);
    documents.set('mandate', Buffer.from(JSON.stringify(ok(enrolled))));
    await keep('report', '/compliance/eu-ai-act/article-12?session_id=s');
    await keep('pack', '/compliance/naic/exhibit-pack/s');
    const air = await keep('air', `/export/scitt/air/${entry_id}.json`);
    await keep('air session', '/export/scitt/air/session/s.json?proofs=true');
    const { cose_sign1_b64 } = JSON.parse(air.toString()) as { cose_sign1_b64: string };
    documents.set('cose statement', Buffer.from(cose_sign1_b64, 'base64'));
    await keep('cose receipt', `/entries/${entry_id}`);
    const [week, month] = [weekOf(clock.wall()), monthOf(clock.wall())];
    clock.pass(windowOf(week).to_ms - clock.wall() + 60_000);
    await adminCall(
      running.data,
      'clearing close',
      {},
      { LOG_ORIGIN: 'test.example', THREADS: 'off' },
    );
    await keep('clearing', `/api/v1/clearing/slots/${week}/proof`);
    clock.pass(Math.max(0, monthWindow(month).to_ms + 1000 - clock.wall()));
    await keep('invoice', `/api/v1/clearing/invoices/${month}`);
    kit = (await running.get('/export/offline-verify-kit.json')).json;
  }

  /** A finding of a monitor with the checkpoint and a different one of the same size, both signed by the log. */
  async function fork({ data, gateway }: Running, note: string): Promise<Buffer> {
    const { origin, vkey } = gateway.logs.live;
    const size = Number(note.split('\n')[1]);
    const signer = new Signer(await readKeyFile(join(data, 'keys', 'live-1-checkpoint.pem')));
    const other = signCheckpoint(native, signer, { origin, size, root: Buffer.alloc(32, 7) });
    const finding = {
      ...{ schema: 'actlog-violation-v1', origin, vkey, rule: 'two_roots', detail: 'two roots' },
      ...{ proof: 'signed', found_at_ms: 1, notes: [note, other], entries: [] },
    };
    return Buffer.from(JSON.stringify(finding));
  }

  /** The verdict that a printer shows for a file with its own verifiers. */
  async function said(by: Verifiers, bytes: Uint8Array, options: object): Promise<unknown> {
    try {
      const findings = [];
      for (const shown of by.recogniseDocuments(bytes)) {
        const origin = by.logOfDocument(shown, by.originsOf(kit));
        const { question } = shown.kind === 'absence' ? by.parsedOf(shown.document) : {};
        findings.push(
          await by.checkDocument(shown, by.trustFromKit(kit, origin), {
            ...options,
            kit,
            receipt,
            ...(question === undefined
              ? {}
              : { question: question as unknown as verifiers.Question }),
          }),
        );
      }
      return findings;
    } catch (error) {
      assert.ok(error instanceof by.Unanswerable || error instanceof by.LogError, String(error));
      return `${error.name}: ${error.message}`;
    }
  }

  const both = async (bytes: Uint8Array): Promise<[unknown, unknown]> => [
    await said(verifiers, bytes, { suite: native }),
    await said(page, bytes, {}),
  ];

  it('has every document type, and all documents are valid', async () => {
    const kinds = new Set<string>();
    for (const [name, bytes] of documents) {
      const [shell, browser] = await both(bytes);
      assert.deepEqual(shell, browser, name);
      assert.ok(Array.isArray(shell), `${name}: ${String(shell)}`);
      for (const { valid, summary } of shell as verifiers.Finding[]) {
        assert.ok(valid, `${name}: ${summary}`);
      }
      for (const { kind } of verifiers.recogniseDocuments(bytes)) kinds.add(kind);
    }
    assert.deepEqual([...kinds].sort(), verifiers.verifiers.map(({ kind }) => kind).sort());
  });

  it('gives the same verdict and reason with any byte changed', async () => {
    for (const [name, bytes] of documents) {
      const step = Math.max(1, Math.floor(bytes.length / CHANGES));
      let refused = 0;
      for (let at = 0; at < bytes.length; at += step) {
        const other = Buffer.from(bytes);
        other[at] = (other[at] ?? 0) ^ (1 << (at % 7));
        const [shell, browser] = await both(other);
        assert.deepEqual(shell, browser, `${name}, byte ${String(at)}`);
        const good = Array.isArray(shell) && (shell as verifiers.Finding[]).every((o) => o.valid);
        if (!good) refused += 1;
      }
      assert.ok(refused > CHANGES / 3, `${name}: ${String(refused)} changes were refused`);
    }
  });

  it('gives the same verdict and reason with any member removed', async () => {
    for (const [name, bytes] of documents) {
      if (bytes[0] !== 0x7b) continue;
      const value = JSON.parse(bytes.toString()) as JsonObject;
      for (const member of Object.keys(value)) {
        const { [member]: _taken, ...rest } = value;
        const [shell, browser] = await both(Buffer.from(JSON.stringify(rest)));
        assert.deepEqual(shell, browser, `${name} without ${member}`);
      }
    }
  });
});

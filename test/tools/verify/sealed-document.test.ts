// `actlog verify` of reports and packs, offline with a kit: each change is refused by the check that covers it.
// gateway/API.md §2.2, §12.1, §12.4.

import assert from 'node:assert/strict';
import { trustFromKit } from '../../../log/verify.ts';
import { native } from '../../../log/index.ts';
import type { JsonObject } from '../../../log/index.ts';
import { checkDocument } from '../../../plugins/verifiers.ts';
import type { Finding } from '../../../plugins/verifiers.ts';
import { recognised } from '../../support/recognised.ts';
import { run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';
import type { Body } from '../../support/body.ts';

describe('actlog verify of a report or a pack', () => {
  let running: Running;
  let report: string;
  let pack: string;
  let kit: JsonObject;
  before(async () => {
    running = await run();
    const key = running.live;
    for (const event_type of ['use_start', 'monitoring', 'use_end']) {
      const body = { event_type, session_id: 'checked' };
      await running.post('/compliance/eu-ai-act/article-12/seal', body, { key });
    }
    const article = '/compliance/eu-ai-act/article-12?session_id=checked';
    report = (await running.get(article, { key })).text;
    pack = (await running.get('/compliance/naic/exhibit-pack/checked', { key })).text;
    kit = (await running.get('/export/offline-verify-kit.json')).json;
  });
  after(() => running.close());

  const verified = (document: string): Promise<Finding> => {
    const shown = recognised(document);
    assert.equal(shown.kind, 'sealed');
    const origin = running.gateway.logs.live.origin;
    return checkDocument(shown, trustFromKit(kit, origin), { suite: native });
  };
  const changed = (document: string, change: (body: Body) => unknown): Promise<Finding> => {
    const body = JSON.parse(document);
    change(body);
    return verified(JSON.stringify(body));
  };
  const failedOf = ({ checks }: Finding): string[] =>
    checks.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);

  it('accepts both unchanged', async () => {
    for (const document of [report, pack]) {
      const { valid, checks, summary } = await verified(document);
      assert.equal(valid, true, summary);
      assert.match(
        checks.find(({ name }) => name === 'completeness')?.detail ?? '',
        /^all 3 entries/,
      );
    }
  });

  it('names the check that fails after a change', async () => {
    const changes: [string, string[], (body: Body) => unknown][] = [
      [report, ['document'], (body) => (body.checklist[0].status = 'partial')],
      [report, ['document'], (body) => (body.sealed_at = '2026-01-01T00:00:00.000Z')],
      [report, ['document'], (body) => (body.added = 1)],
      [report, ['document'], (body) => delete body.retention],
      [pack, ['document'], (body) => (body.exhibit_a.rows[0].status = 'EVIDENCED')],
      [report, ['signature'], (body) => (body.signature = body.signature.replace(/^./, '-'))],
      [report, ['checkpoint'], (body) => (body.checkpoint = `${String(body.checkpoint)} `)],
      [report, ['completeness'], (body) => body.completeness_proof.entries.pop()],
      [report, ['completeness'], (body) => (body.completeness_proof.question.to_ms -= 1e9)],
      [
        report,
        ['completeness'],
        (body) => {
          const [entry] = body.completeness_proof.entries;
          entry.entry = entry.entry.replace('use_start', 'use_stars');
        },
      ],
      [
        report,
        ['receipt', 'document', 'completeness'],
        (body) => (body.receipt.document_sha256 = '0'.repeat(64)),
      ],
    ];
    for (const [document, names, change] of changes) {
      const outcome = await changed(document, change);
      assert.equal(outcome.valid, false, change.toString());
      assert.deepEqual(failedOf(outcome), names, change.toString());
      assert.match(outcome.summary, new RegExp(`^${names[0] ?? ''} failed`));
    }
  });

  it('refuses a receipt that commits to the other document, and the proof of another session', async () => {
    const other = JSON.parse(pack);
    const outcome = await changed(report, (body) => {
      body.receipt = other.receipt;
      body.signature = other.signature;
    });
    assert.equal(failedOf(outcome)[0], 'document');
    const key = running.live;
    const path = '/compliance/eu-ai-act/article-12?session_id=unknown';
    const { json } = await running.get(path, { key });
    assert.equal((await verified(JSON.stringify(json))).valid, true);
    const swapped = await changed(report, (body) => {
      body.completeness_proof = json.completeness_proof;
      body.checkpoint = json.checkpoint;
    });
    assert.deepEqual(failedOf(swapped), ['completeness']);
  });

  it('fails the check of its receipt with the keys of another log', async () => {
    const origin = running.gateway.logs.sandbox.origin;
    const trust = trustFromKit(kit, origin, { suite: native });
    const outcome = await checkDocument(recognised(report), trust);
    assert.equal(outcome.valid, false);
    assert.equal(failedOf(outcome)[0], 'receipt');
  });
});

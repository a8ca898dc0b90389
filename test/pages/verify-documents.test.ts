// The documents that /verify recognises: each kind that the service serves, several files at a time, and every
// vector, for which the page must have the same verdict as `actlog`.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { portable } from '../../log/crypto/portable.ts';
import type { Json } from '../../log/index.ts';
import { verdicts } from '../../tools/verify/vectors.ts';
import consent from '../examples/consent/src/index.ts';
import { accessible, calm, pagesSuite, picture } from './browser.ts';
import type { Sight } from './browser.ts';
import { openReady, outcome, receipt, show, verdictAfter } from './verify-page.ts';

const VECTORS = JSON.parse(
  readFileSync(new URL('../vectors/absence.json', import.meta.url), 'utf8'),
) as Vectors;

const VIOLATIONS = JSON.parse(
  readFileSync(new URL('../vectors/violation.json', import.meta.url), 'utf8'),
) as { readonly kit: object } & Readonly<
  Record<'documents' | 'refused', readonly { readonly doc: object }[]>
>;

interface Vector {
  readonly name: string;
  readonly doc?: { readonly question: Question };
  readonly text?: string;
  readonly question?: Question;
}

interface Question {
  readonly key: readonly string[];
  readonly from_ms: number;
  readonly to_ms: number;
}

interface Vectors {
  readonly origin: string;
  readonly vkey: string;
  readonly jwk: object;
  readonly witnesses: readonly { readonly name: string; readonly vkey: string }[];
  readonly checkpoints: readonly string[];
  readonly documents: readonly Vector[];
  readonly refused: readonly Vector[];
}

/** Runs in the page: drops each text on it, and returns the verdicts that it shows. */
async function dropAll(
  all: readonly Readonly<Record<'text' | 'key' | 'from' | 'to', string>>[],
): Promise<string[]> {
  const result = document.querySelector<HTMLElement>('#result');
  if (result === null) throw new Error('the page has no result');
  const said: string[] = [];
  for (const { text, ...question } of all) {
    for (const [id, value] of Object.entries(question)) {
      const field = document.querySelector<HTMLInputElement>(`#${id}`);
      if (field !== null) field.value = value;
    }
    const told = new Promise((resolve) => {
      new MutationObserver((_, observer) => {
        observer.disconnect();
        resolve(null);
      }).observe(result, { attributes: true, attributeFilter: ['data-run'] });
    });
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], 'vector.json'));
    document.dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true }));
    await told;
    const verdict = result.querySelector<HTMLElement>('[data-verdict]');
    said.push(verdict?.dataset['verdict'] ?? '');
  }
  return said;
}

const documentsOfPage = (sight: () => Sight): void => {
  it('checks proofs, checkpoints, AIR exports and COSE messages', async () => {
    const { running } = sight();
    const { entry_id, ...rest } = await receipt(sight().running);
    const whole = JSON.stringify({ entry_id, ...rest });
    const page = await openReady(sight());
    const lookup = await running.get(`/receipt/lookup?entry_id=${entry_id}`);
    assert.equal(await show(page, lookup.text), 'VALID');
    const proof = await running.get(`/r/${entry_id}/tlog-proof`);
    assert.equal(await show(page, proof.text), 'UNKNOWN');
    await page.click('summary');
    await page.fill('#beside', whole);
    assert.equal(await show(page, proof.text), 'VALID');
    await page.fill('#beside', '');
    const checkpoint = await running.get('/log/live/checkpoint');
    assert.equal(await show(page, checkpoint.text), 'VALID');
    assert.equal(await show(page, checkpoint.text.replace(/\n\d+\n/, '\n7\n')), 'INVALID');
    const inclusion = await running.get(`/log/live/proof/inclusion?index=${String(rest.index)}`);
    assert.equal(await show(page, inclusion.text), 'VALID');

    const air = await running.get(`/export/scitt/air/${entry_id}.json`);
    assert.equal(await show(page, air.text), 'VALID', (await page.textContent('#result')) ?? '');
    assert.equal(await outcome(page, 'cose_signature'), 'ok');
    const changed = structuredClone(air.json);
    changed.record.action_timestamp_ms = 1;
    assert.equal(await show(page, JSON.stringify(changed)), 'INVALID');
    for (const member of ['origin', 'spec', 'key', 'entry_id']) {
      const other = JSON.stringify({ ...air.json, [member]: member === 'key' ? {} : 'other' });
      assert.ok(['INVALID', 'UNKNOWN'].includes(await show(page, other)), member);
    }
    const cose = Buffer.from(air.json.cose_sign1_b64 as string, 'base64');
    assert.equal(await show(page, cose, 'air.cose'), 'VALID');
    assert.equal(await outcome(page, 'cose_receipt'), 'ok');
    cose[cose.length - 1]! ^= 1;
    assert.equal(await show(page, cose, 'air.cose'), 'INVALID');
    calm(page);
    await page.context().close();
  });

  it('checks a pre-dispute bundle with the receipt of its mandate, and refuses other terms', async () => {
    const { running } = sight();
    const enrolled = await running.post(
      '/carrier/v1/enroll',
      { company: 'Page Tests' },
      { key: running.live, headers: { Prefer: 'wait=20' } },
    );
    assert.equal(enrolled.status, 200, enrolled.text);
    const page = await openReady(sight());
    assert.equal(await show(page, enrolled.text), 'VALID');
    assert.equal(await outcome(page, 'terms'), 'ok');
    assert.equal(await outcome(page, 'answer'), 'not_shown');
    assert.equal(await outcome(page, 'inclusion'), 'ok');
    const { bundle } = enrolled.json;
    const terms = { ...bundle.terms, findings_window_days: 1 };
    const changed = { ...enrolled.json, bundle: { ...bundle, terms } };
    assert.equal(await show(page, JSON.stringify(changed)), 'INVALID');
    assert.equal(await outcome(page, 'terms'), 'failed');
    assert.equal(await show(page, JSON.stringify(bundle)), 'UNKNOWN');
    assert.match((await page.textContent('#result')) ?? '', /complete answer of the enrollment/);
    calm(page);
    await page.context().close();
  });

  it('checks several files, and each document of a witness for several surfaces', async () => {
    const { running } = sight();
    const fileOf = (name: string, text: string) => ({
      ...{ name, mimeType: 'application/json' },
      buffer: Buffer.from(text),
    });
    const ofAll = (page: Page): Promise<string[]> =>
      page.$$eval('[data-one]', (all) =>
        all.map(
          (one) => one.querySelector<HTMLElement>('[data-verdict]')?.dataset['verdict'] ?? '',
        ),
      );
    const good = await receipt(sight().running);
    const page = await openReady(sight());
    const changed = { ...good, issued_at_ms: good.issued_at_ms + 1 };
    const kit = await running.get('/export/offline-verify-kit.json');
    const both = await verdictAfter(page, () =>
      page.setInputFiles('#file', [
        fileOf('good.json', JSON.stringify(good)),
        fileOf('changed.json', JSON.stringify(changed)),
      ]),
    );
    assert.equal(both, 'INVALID');
    assert.deepEqual(await ofAll(page), ['VALID', 'INVALID']);
    assert.match((await page.textContent('#result')) ?? '', /1 of 2 hold/);
    await accessible(page);

    const { json, text } = await running.post(
      '/api/v1/absence/witness',
      { entity: 'page-tests', surfaces: ['a', 'b'], from_ms: 1, to_ms: 2 },
      { key: running.live },
    );
    assert.equal(json.witnesses?.length, 2, text);
    assert.equal(await show(page, text, 'witness.json'), 'VALID');
    assert.deepEqual(await ofAll(page), ['UNDECLARED', 'UNDECLARED']);
    await page.click('summary');
    await page.fill('#key', '["surface","page-tests","b"]');
    await page.fill('#from', '1');
    await page.fill('#to', '2');
    assert.equal(await show(page, text, 'witness.json'), 'UNDECLARED');
    await page.fill('#key', '["surface","page-tests","c"]');
    assert.equal(await show(page, text, 'witness.json'), 'UNKNOWN');

    // Documents in the same drop as a kit are verified with that kit.
    await page.fill('#key', '');
    await page.fill('#from', '');
    await page.fill('#to', '');
    const withKit = await verdictAfter(page, () =>
      page.setInputFiles('#file', [
        fileOf('good.json', JSON.stringify(good)),
        fileOf('kit.json', kit.text),
      ]),
    );
    assert.equal(withKit, 'VALID');
    assert.equal(await page.locator('[data-one]').count(), 0);
    assert.match((await page.textContent('[data-kit]')) ?? '', /^a kit of yours/);
    calm(page);
    await page.context().close();
  });

  it('answers a question with an absence document only, and does not verify the receipt inside instead', async () => {
    const { running } = sight();
    const asked = { entity: 'page-tests', surface: 'a', from_ms: 1, to_ms: 2 };
    const { json } = await running.post('/api/v1/absence/witness', asked, { key: running.live });
    const witness = json.witness as { schema?: string };
    assert.ok('receipt' in witness);
    const page = await openReady(sight());
    const said = async (): Promise<string> => (await page.textContent('#result')) ?? '';
    assert.equal(await show(page, JSON.stringify(witness)), 'UNDECLARED');
    assert.equal(await show(page, JSON.stringify({ ...witness, schema: 'x' })), 'UNKNOWN');
    assert.equal(await show(page, JSON.stringify({ ...witness, schema: undefined })), 'UNKNOWN');
    assert.match(await said(), /does not speak for the rest/);
    await page.click('summary');
    await page.fill('#key', '["surface","page-tests","a"]');
    await page.fill('#from', '1');
    await page.fill('#to', '2');
    assert.equal(await show(page, JSON.stringify(await receipt(running))), 'UNKNOWN');
    assert.match(await said(), /Your question is not answered/);
    assert.equal(await show(page, JSON.stringify(witness)), 'UNDECLARED');
    assert.match(await said(), /in log \S+\/log\/live\/1/);
    calm(page);
    await page.context().close();
  });

  it('checks findings of monitors with a script that it loads when needed', async () => {
    const { kit, documents, refused } = VIOLATIONS;
    const page = await openReady(sight());
    await show(page, JSON.stringify(kit), 'kit.json');
    const loaded = page.waitForResponse(/verify-more-page/);
    assert.equal(await show(page, JSON.stringify(documents[0]?.doc)), 'VALID');
    await loaded;
    assert.match((await page.textContent('#result')) ?? '', /operator of the log/);
    assert.equal(await show(page, JSON.stringify(refused[0]?.doc)), 'INVALID');
    calm(page);
    await page.context().close();
  });

  it('has the verdict of the command line for every vector, and draws the window', async () => {
    const { origin, vkey, jwk, witnesses, checkpoints, documents, refused } = VECTORS;
    const names = witnesses.map(({ name }, i) => [name, `w${String(i)}`] as const);
    const kit = {
      schema: 'svc-offline-verify-kit-v1',
      logs: [{ origin, vkey, checkpoint: checkpoints[0] }],
      keys: { keys: [{ ...jwk, origin }] },
      policy: [
        ...witnesses.map((witness, i) => `witness w${String(i)} ${witness.vkey}`),
        `group all 2 ${names
          .filter(([name]) => !name.endsWith('/map'))
          .map(([, w]) => w)
          .join(' ')}`,
        'quorum all',
      ].join('\n'),
    };
    const page = await openReady(sight());
    await show(page, JSON.stringify(kit), 'kit.json');
    assert.match((await page.textContent('[data-kit]')) ?? '', /^a kit of yours/);
    const expected = new Map(
      verdicts(VECTORS as unknown as Json, portable).map((one) => [one['name'], one]),
    );
    // The last one is checked in more detail.
    const drawn = documents.filter(({ name }) => name === 'absent-never-with-coverage');
    const all = [...documents, ...refused, ...drawn];
    const shown = all.map(({ doc, text, question }) => ({
      text: text ?? JSON.stringify(doc),
      key: question === undefined ? '' : JSON.stringify(question.key),
      from: String(question?.from_ms ?? ''),
      to: String(question?.to_ms ?? ''),
    }));
    const said = await page.evaluate(dropAll, shown);
    all.forEach(({ name }, i) => {
      const verdict = said[i] ?? '';
      const known = expected.get(name);
      if (known?.['verdict'] !== undefined) assert.equal(verdict, known['verdict'], name);
      else assert.ok(['INVALID', 'UNKNOWN'].includes(verdict), `${name}: ${verdict}`);
    });
    assert.equal(said.at(-1), 'ABSENT');
    assert.match((await page.getAttribute('svg.timeline', 'aria-label')) ?? '', /is empty/);
    await accessible(page);
    await picture(page, 'verify-absence');
    calm(page);
    await page.context().close();
  });

  it('names a document type of an external plugin, and does not verify it', async () => {
    const page = await openReady(sight());
    const status = JSON.stringify({ schema: 'consent-status-v1', origin: 'x' });
    assert.equal(await show(page, status), 'UNKNOWN');
    const said = (await page.textContent('#result')) ?? '';
    assert.match(said, /This is the status of a consent, a document of the plugin consent/);
    assert.match(said, /PLUGINS=PACKAGE npx actlog verify FILE --kit kit\.json/);
    assert.match((await page.textContent('#verify')) ?? '', /the status of a consent \(consent\)/);
    assert.equal(await show(page, '{"schema":"another-v1"}'), 'UNKNOWN');
    assert.doesNotMatch((await page.textContent('#result')) ?? '', /consent/);
    calm(page);
    await page.context().close();
  });
};

pagesSuite('/verify', documentsOfPage, { plugins: [consent] });

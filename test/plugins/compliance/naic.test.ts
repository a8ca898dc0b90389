// The NAIC exhibit pack of a session, and the catalogs and schemas of the pack and the report.
// gateway/API.md §12.2; NAIC AI Systems Evaluation Tool.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { canonical } from '../../../log/index.ts';
import { readCatalog } from '../../../plugins/contract/index.ts';
import {
  PackSchema,
  ReportSchema,
  SystemReportSchema,
} from '../../../plugins/compliance/shapes.ts';
import { codeOf } from '../../gateway/http/envelope.ts';
import { ok, run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';
import type { Body } from '../../support/body.ts';

const pathOf = (session: string, format = ''): string =>
  `/compliance/naic/exhibit-pack/${encodeURIComponent(session)}${format === '' ? '' : `?format=${format}`}`;

describe('the NAIC exhibit pack', () => {
  let running: Running;
  before(async () => (running = await run()));
  after(() => running.close());

  const pack = async (session: string): Promise<Body> => {
    return ok(await running.get(pathOf(session), { key: running.live }));
  };
  const rowOf = (document: Body, id: string): Body =>
    [document.exhibit_a, document.exhibit_b, document.exhibit_d]
      .flatMap(({ rows }) => rows)
      .find((row: Body) => row.id === id);
  const classify = async (session_id: string, message: string) =>
    (await running.post('/api/v1/classify', { message, session_id }, { key: running.live })).json;

  it('has the exhibits A, B and D, and states why C is missing', async () => {
    const document = await pack('nothing');
    assert.deepEqual(
      ['exhibit_a', 'exhibit_b', 'exhibit_d'].map((name) => [
        document[name].id,
        document[name].title,
      ]),
      [
        ['A', "Quantify Regulated Entity's Use of AI Systems"],
        ['B', 'AI Systems Governance Risk Assessment Framework'],
        ['D', 'AI Systems Model Data Details'],
      ],
    );
    assert.equal(document.exhibit_c.status, 'not_provided');
    assert.equal(document.exhibit_c.reason, 'high-risk model details are held by the insurer');
  });

  it('reports every row of an unknown session as NOT EVIDENCED, and none as zero', async () => {
    const document = await pack('nothing');
    for (const name of ['exhibit_a', 'exhibit_b', 'exhibit_d']) {
      for (const { id, status, value, verify_urls } of document[name].rows) {
        assert.equal(status, 'NOT EVIDENCED', id);
        assert.equal(value, null, id);
        assert.deepEqual(verify_urls, [], id);
      }
    }
    const { text } = await running.get(pathOf('nothing', 'txt'), { key: running.live });
    assert.match(text, /^A\.2 Decisions by classification: NOT EVIDENCED$/m);
  });

  it('maps the entries of a session to rows, each with where it is verified', async () => {
    const safe = await classify('mapped', 'Schedule the interview for Monday');
    const event = { session_id: 'mapped', event_type: 'human_override' };
    const metadata = { data_sources: ['zebra bureau'] };
    const sealed = await running.post(
      '/compliance/eu-ai-act/article-12/seal',
      { ...event, metadata },
      { key: running.live },
    );
    const document = await pack('mapped');
    assert.deepEqual(rowOf(document, 'A.2').value, { SAFE: 1, VIOLATION: 0, CRISIS: 0, ERROR: 0 });
    assert.deepEqual(rowOf(document, 'A.3').value, { hiring: 1 });
    assert.equal(rowOf(document, 'A.4').status, 'NOT EVIDENCED');
    assert.deepEqual(rowOf(document, 'A.2').verify_urls, [safe.verify_url]);
    assert.deepEqual(rowOf(document, 'B.3').evidence.entry_ids, [sealed.json.entry_id]);
    assert.equal(rowOf(document, 'D.1').value, 2);
    assert.equal(rowOf(document, 'D.3').value, 1);
    assert.equal(rowOf(document, 'A.7').status, 'NOT EVIDENCED');
    assert.doesNotMatch(JSON.stringify(document), /zebra/);
    const { text, headers } = await running.get(pathOf('mapped', 'txt'), { key: running.live });
    assert.match(headers.get('content-type') ?? '', /^text\/plain/);
    assert.match(text, /^EXHIBIT A — QUANTIFY REGULATED ENTITY'S USE OF AI SYSTEMS$/m);
    assert.match(text, /^EXHIBIT C — .*\nNOT PROVIDED: high-risk/m);
    assert.match(text, /^A\.7 Consumer complaints from models: NOT EVIDENCED$/m);
  });

  it('counts what the gate did not permit', async () => {
    const act = { action_type: 'wire', agent_id: 'agent-7', session_id: 'gated' };
    const decided = await running.post('/api/v1/execute-gate', act, { key: running.live });
    assert.equal(decided.json.outcome, 'SILENCE');
    const document = await pack('gated');
    const { evidence } = rowOf(document, 'A.4');
    assert.deepEqual(evidence.entry_ids, [decided.json.decision_entry_id]);
    assert.equal(rowOf(document, 'B.6').value, 1);
    assert.equal(
      rowOf(document, 'B.4').status,
      'NOT EVIDENCED',
      'version 0 means that there is no policy',
    );
  });

  it('is what its entry commits to, and is sealed once while nothing changes', async () => {
    await classify('kept', 'Schedule the interview for Monday');
    const first = await pack('kept');
    assert.equal((await pack('kept')).receipt.entry_id, first.receipt.entry_id);
    const { completeness_proof, checkpoint, signature, receipt, ...document } = first;
    const hash = createHash('sha256').update(canonical(document)).digest('hex');
    assert.equal(receipt.type, 'compliance.naic_pack.v1');
    assert.equal(receipt.document_sha256, hash);
    assert.deepEqual([signature, checkpoint], [receipt.signature, completeness_proof.checkpoint]);
    assert.equal(completeness_proof.entries.length, 1);
  });

  it('covers the tenant and the log of the caller, and has two formats', async () => {
    await classify('own', 'Schedule the interview for Monday');
    assert.equal((await running.get(pathOf('own'))).json.entries, 0);
    const sandbox = await running.get(pathOf('own'), { key: running.sandbox });
    assert.deepEqual([sandbox.json.entries, sandbox.json.sandbox], [0, true]);
    const html = await running.get(pathOf('own', 'html'), { key: running.live });
    assert.equal(codeOf(html, 400), 'invalid_format');
  });

  it('escapes the name of a session that tries to forge rows', async () => {
    const session = 'x\nA.7 Consumer complaints from models: 0';
    const { text } = await running.get(pathOf(session, 'txt'), { key: running.live });
    assert.doesNotMatch(text, /^A\.7 .*: 0$/m);
  });
});

describe('the catalogs of compliance', () => {
  const compile = (name: string) => {
    const ajv = new Ajv2020({ strict: true, strictTypes: false });
    formats.default(ajv);
    return ajv.compile(readCatalog(`compliance/${name}.schema.json`) as object);
  };

  for (const name of ['article-12', 'naic']) {
    it(`fits its schema: ${name}`, () => {
      const validate = compile(name);
      const catalog = readCatalog(`compliance/${name}.json`) as Body;
      assert.equal(validate(catalog), true, JSON.stringify(validate.errors));
      assert.equal(validate({ ...catalog, more: 1 }), false);
    });
  }

  it('publish the schemas of the served documents', () => {
    for (const [name, shape] of [
      ['article-12-report', ReportSchema],
      ['article-12-system-report', SystemReportSchema],
      ['naic-pack', PackSchema],
    ] as const) {
      const { $schema, title, ...published } = readCatalog(
        `compliance/${name}.schema.json`,
      ) as Body;
      assert.equal($schema, 'https://json-schema.org/draft/2020-12/schema');
      assert.ok(title);
      const { $id: _, ...served } = JSON.parse(JSON.stringify(shape));
      assert.deepEqual(published, served);
    }
  });

  it('name only signals that an entry can have', () => {
    const law = readCatalog('compliance/article-12.json') as Body;
    const exhibits = (readCatalog('compliance/naic.json') as Body).exhibits;
    const { conformity } = readCatalog('foundry.json') as Body;
    const controls = conformity.categories.flatMap((one: Body) => one.risk_controls);
    const signals: string[] = [
      ...law.items.flatMap(({ groups }: Body) => groups.flat()),
      ...exhibits.flatMap(({ rows }: Body) => rows.flatMap((row: Body) => row.signals)),
      ...controls.flatMap((control: Body) => control.signals),
    ];
    const events = (signal: string): boolean => {
      const [event = '', name] = signal.slice('event:'.length).split('+');
      return (
        law.event_types.includes(event) && (name === undefined || law.metadata_names.includes(name))
      );
    };
    for (const signal of signals) {
      const known =
        ['entry', 'policy', 'commitments', 'hold'].includes(signal) ||
        /^(type:[a-z-]+\.[a-z_]+(\+[a-z]+)?|(classification|outcome|decision):[A-Z]+)$/.test(
          signal,
        ) ||
        (signal.startsWith('event:') && events(signal)) ||
        law.metadata_names.includes(signal.replace(/^metadata:/, ''));
      assert.ok(known, signal);
    }
  });
});

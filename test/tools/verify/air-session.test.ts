// plugins/exports/verify.ts: the export of a session with the proofs of its entries. Changed records, proofs and
// statements are refused, and so is a chain that the log does not have.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { canonical, native, readKeyFile } from '../../../log/index.ts';
import type { JsonObject } from '../../../log/index.ts';
import { Signer } from '../../../log/crypto/keys.ts';
import { trustFromKit } from '../../../log/verify.ts';
import type { Trust } from '../../../log/verify.ts';
import { airRecord, chainHash } from '../../../plugins/exports/index.ts';
import type { AirMapping } from '../../../plugins/exports/index.ts';
import { readCatalog } from '../../../plugins/index.ts';
import { checkDocument } from '../../../plugins/verifiers.ts';
import type { Finding } from '../../../plugins/verifiers.ts';
import { recognised } from '../../support/recognised.ts';
import { run } from '../../gateway/running.ts';
import type { Answer, Running } from '../../gateway/running.ts';

type Json = Answer['json'];

const sha256 = (...parts: readonly (Uint8Array | string)[]): Buffer =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();

describe('actlog verify of the export of a session', () => {
  let running: Running;
  let kit: JsonObject;
  let trust: Trust;
  let bare: Json;
  let proven: Json;
  /** With the proofs, under a checkpoint from before the last entry. */
  let older: Json;
  let signer: Signer;

  before(async () => {
    running = await run();
    const { live: key } = running;
    const say = (message: string, session_id = 's'): Promise<Answer> =>
      running.post('/api/v1/classify', { message, session_id }, { key });
    const exported = async (query = ''): Promise<Json> =>
      (await running.get(`/export/scitt/air/session/s.json${query}`, { key })).json;
    for (const message of ['one', 'two', 'three']) {
      await say(message);
      await say('between', 'other');
    }
    older = await exported('?proofs=true');
    await say('four');
    bare = await exported();
    proven = await exported('?proofs=true');
    kit = (await running.get('/export/offline-verify-kit.json')).json;
    trust = trustFromKit(kit, running.gateway.logs.live.origin, { suite: native });
    const keys = join(running.data, 'keys');
    const name = (await readdir(keys)).find((one) => one.startsWith('live-1-receipt-'));
    signer = new Signer(await readKeyFile(join(keys, name!)));
  });
  after(() => running.close());

  function verified(document: Json, trusted = trust): Promise<Finding> {
    const shown = recognised(Buffer.from(JSON.stringify(document)));
    assert.ok(shown.kind === 'air_session');
    return checkDocument(shown, trusted, { suite: native, kit });
  }

  const failing = async (document: Json, trusted?: Trust): Promise<string | undefined> =>
    (await verified(document, trusted)).checks.find(({ outcome }) => outcome === 'failed')?.name;

  const changed = (document: Json, change: (copy: Json) => void): Json => {
    const copy = structuredClone(document);
    change(copy);
    return copy;
  };

  it('proves each entry if the export has the proofs, and reports if it has none', async () => {
    for (const [document, outcome, size] of [
      [proven, 'ok', proven.size],
      [bare, 'not_shown', undefined],
    ] as const) {
      const { valid, checks, summary, facts } = await verified(document);
      assert.equal(valid, true, summary);
      assert.deepEqual(
        checks.map(({ name }) => name),
        ['completeness', 'export', 'records', 'inclusion'],
      );
      assert.equal(checks.at(-1)?.outcome, outcome);
      assert.equal(facts['records'], 4);
      assert.equal(facts['size'], size);
      assert.equal(summary.includes('each in the tree'), size !== undefined, summary);
    }
    assert.equal((await verified(older)).valid, true);
  });

  it('names the check that a changed record, proof or statement fails', async () => {
    const others = older.records;
    for (const [name, change] of [
      [
        'inclusion',
        (d: Json) => (d.records[1].entry = d.records[1].entry.replace('SAFE', 'CRISIS')),
      ],
      ['inclusion', (d: Json) => (d.records[1].entry = 'x')],
      ['inclusion', (d: Json) => (d.records[1].entry = '{"index":3,"links":7}')],
      ['record', (d: Json) => (d.records[1].record.outcome_state = 'failed')],
      ['content_hash', (d: Json) => (d.records[1].record.jurisdiction = 'DE')],
      ['inclusion', (d: Json) => d.records[2].inclusion_proof.reverse()],
      ['inclusion', (d: Json) => d.records[2].inclusion_proof.pop()],
      ['inclusion', (d: Json) => (d.records[2].inclusion_proof = d.records[1].inclusion_proof)],
      ['inclusion', (d: Json) => (d.records[2].inclusion_proof = others[2].inclusion_proof)],
      ['inclusion', (d: Json) => (d.records[2].inclusion_proof = null)],
      ['inclusion', (d: Json) => delete d.records[2].inclusion_proof],
      ['inclusion', (d: Json) => d.records.forEach((one: Json) => delete one.inclusion_proof)],
      ['cose_signature', (d: Json) => delete d.records[2].cose_sign1_b64],
      ['cose_signature', (d: Json) => (d.records[2].cose_sign1_b64 = d.records[1].cose_sign1_b64)],
      ['cose_receipt', (d: Json) => (d.records[2].cose_sign1_b64 = others[2].cose_sign1_b64)],
      ['completeness', (d: Json) => d.records.splice(1, 1)],
      ['completeness', (d: Json) => (d.count = d.records.splice(1, 3).length)],
      ['chain', (d: Json) => (d.records[1] = d.records[0])],
    ] as const) {
      const document = changed(proven, change);
      assert.equal(await failing(document), name, change.toString());
    }
    const { summary } = await verified(
      changed(proven, (d: Json) => d.records[2].inclusion_proof.pop()),
    );
    assert.match(summary, /^inclusion failed: record 2: /);
  });

  it('is valid after the key of its entries was revoked only with the proofs', async () => {
    const keys = trust.keys.map((key) => ({
      ...key,
      status: 'revoked' as const,
      revoked_index: proven.size,
    }));
    assert.equal(await failing(proven, { ...trust, keys }), undefined);
    assert.equal(await failing(bare, { ...trust, keys }), 'entry');
  });

  /** A record as the service would make it, of another entry that the log has signed. */
  async function forged(at: number, members: JsonObject, link: JsonObject = {}): Promise<Json> {
    const items = structuredClone(bare.records);
    const { signature: _signature, ...statement } = JSON.parse(items[at].entry);
    Object.assign(statement, members);
    Object.assign(
      statement.links.find(({ key }: Json) => key[0] === 'session'),
      link,
    );
    const signature = Buffer.from(signer.sign(Buffer.from(canonical(statement))));
    items[at].entry = canonical({ ...statement, signature: signature.toString('base64') });
    let prev: Uint8Array = Buffer.from(items[at].record.integrity.prev_chain_hash, 'hex');
    const [air] = running.gateway.keys.signers('exports', 'air', 'live');
    for (const [i, { entry, record }] of items.entries()) {
      if (i < at) continue;
      const entry_hash = sha256('\0', entry).toString('hex');
      const mapping = readCatalog('air.json') as unknown as AirMapping;
      const content = airRecord({ statement: JSON.parse(entry), entry_hash }, record, mapping);
      const content_hash = sha256(canonical(content));
      const place = [prev, content['action_timestamp_ms'] as number, record.agent_id] as const;
      const chain_hash = chainHash(content_hash, ...place);
      items[i].record = {
        ...content,
        integrity: {
          content_hash: content_hash.toString('hex'),
          prev_chain_hash: Buffer.from(prev).toString('hex'),
          chain_hash: Buffer.from(chain_hash).toString('hex'),
          sequence_number: i,
          signature: Buffer.from(await air.sign(chain_hash)).toString('base64'),
        },
      };
      prev = chain_hash;
    }
    return { ...bare, records: items };
  }

  it('refuses an entry that the log signed and that is not on the chain', async () => {
    assert.equal((await verified(await forged(1, {}))).valid, true, 'the export was not changed');
    const other = await verified(await forged(3, { classification: 'CRISIS' }));
    assert.match(other.summary, /^chain failed: record 3: the chain of the session ends with/);
    const torn = await verified(await forged(2, {}, { prev_ms: 1 }));
    assert.match(
      torn.summary,
      /^chain failed: record 2: the entry is not at this place of the session/,
    );
  });

  it('reports that a session has no entries', async () => {
    const { live: key } = running;
    const { json } = await running.get('/export/scitt/air/session/none.json?proofs=true', { key });
    const { valid, checks } = await verified(json);
    assert.equal(valid, true);
    assert.deepEqual(
      checks.map(({ name }) => name),
      ['completeness', 'export'],
    );
  });
});

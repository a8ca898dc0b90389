// Rotation of the keys that sign webhooks, AIR records and COSE messages: what the old key signed stays valid, and the new
// key signs immediately, also after a restart. gateway/API.md §2.2.

import assert from 'node:assert/strict';
import { native } from '../../../log/index.ts';
import type { JsonObject } from '../../../log/index.ts';
import { trustFromKit } from '../../../log/verify.ts';
import { adminCall } from '../../support/admin-call.ts';
import { checkDocument } from '../../../plugins/verifiers.ts';
import { recognised } from '../../support/recognised.ts';
import { startReceiver } from '../../gateway/egress/receiver.ts';
import { header, runSending, signedByJwks } from '../../gateway/webhooks/receiving.ts';
import type { Answer, Running } from '../../gateway/running.ts';
import { taken } from './taken.ts';

type Json = Answer['json'];

const USES = ['webhook', 'air', 'cose'];

describe('rotation of the keys of webhooks, AIR and COSE', () => {
  let running: Running;
  let kits: JsonObject[];
  let kids: string[];
  let entry_id: string;
  let shown: Uint8Array[][];

  const kitNow = async (): Promise<JsonObject> =>
    (await running.get('/export/offline-verify-kit.json')).json;
  const bytesOf = async (path: string): Promise<Buffer> => {
    const response = await fetch(running.url + path, { headers: { 'X-API-Key': running.live } });
    assert.equal(response.status, 200);
    return Buffer.from(await response.arrayBuffer());
  };
  /** An export of one entry, of its session, and a receipt. */
  const exported = (): Promise<Uint8Array[]> =>
    Promise.all(
      [
        `/export/scitt/air/${entry_id}.json`,
        '/export/scitt/air/session/s.json?proofs=true',
        `/entries/${entry_id}`,
      ].map(bytesOf),
    );
  const failing = async (bytes: Uint8Array, kit: JsonObject): Promise<string | undefined> => {
    const trust = trustFromKit(kit, running.gateway.logs.live.origin, { suite: native });
    const { checks } = await checkDocument(recognised(bytes), trust, { kit });
    return checks.find(({ outcome }) => outcome === 'failed')?.name;
  };
  const published = async (): Promise<Json[]> =>
    (await running.get('/crypto/jwks.json')).json.keys.filter(
      ({ origin, purpose }: Json) => origin === running.gateway.logs.live.origin && purpose,
    );

  before(async () => {
    running = await runSending();
    const body = { message: 'one', session_id: 's' };
    const ask = { key: running.live };
    for (let i = 0; i < 2; i += 1) {
      ({ entry_id } = (await running.post('/api/v1/classify', body, ask)).json);
    }
    kits = [await kitNow()];
    shown = [await exported()];
    kids = [];
    for (const use of USES) {
      const args = { use, kind: 'live' };
      const { kid } = (await adminCall(running.data, 'purpose-key rotate', args)) as {
        kid: string;
      };
      kids.push(kid);
    }
    kits.push(await kitNow());
    shown.push(await exported());
  });
  after(() => running.close());

  it('publishes the new key beside the old one', async () => {
    const keys = await published();
    for (const [i, use] of USES.entries()) {
      const ours = keys.filter(({ purpose }) => purpose === use).map(({ kid }) => kid);
      // COSE keys are in a separate key set, which also lists AIR keys.
      if (use === 'cose') continue;
      assert.equal(new Set(ours).size, 2);
      assert.equal(ours.at(-1), kids[i]);
    }
    const set = await bytesOf('/.well-known/scitt-keys');
    const { cose_keys } = kits[1] as Json;
    assert.equal(
      cose_keys.keys.filter(({ x }: Json) => set.includes(Buffer.from(x, 'base64url'))).length,
      6,
    );
  });

  it('leaves everything valid that the old keys signed', async () => {
    const [old, now] = [kits[0]!, kits[1]!];
    for (const bytes of shown[0]!) {
      assert.equal(await failing(bytes, old), undefined);
      assert.equal(await failing(bytes, now), undefined);
    }
  });

  it('signs with the new keys afterwards, which an older kit does not have', async () => {
    const [old, now] = [kits[0]!, kits[1]!];
    for (const bytes of shown[1]!) assert.equal(await failing(bytes, now), undefined);
    assert.deepEqual(await Promise.all(shown[1]!.map((bytes) => failing(bytes, old))), [
      'air_signature',
      'export',
      'inclusion',
    ]);
    const [first, second] = shown.map(([bytes]) => JSON.parse(Buffer.from(bytes!).toString()));
    assert.notEqual(first.record.operator_pubkey_id, kids[1]);
    assert.equal(second.record.operator_pubkey_id, kids[1]);
    const signatures = shown.map(([, , bytes]) => Buffer.from(taken(bytes!).signature));
    assert.notDeepEqual(signatures[0], signatures[1]);
  });

  it('signs webhooks with both for a day, and with the new one after it', async () => {
    const receiver = await startReceiver();
    const told = async (count: number): Promise<string[]> => {
      const body = { message: '', webhook_url: receiver.url() };
      await running.post('/api/v1/classify', body, { key: running.live });
      const received = (await receiver.whenReceived(count)).at(-1)!;
      assert.ok(await signedByJwks(running.url, received));
      return header(received, 'signature').split(' ');
    };
    assert.equal((await told(1)).length, 2);
    running.clock.pass(86_400_000 + 60_000);
    assert.equal((await told(2)).length, 1);
    await receiver.close();
  });

  it('refuses an unknown purpose and an unknown log', async () => {
    const rotate = (args: Record<string, string>) =>
      adminCall(running.data, 'purpose-key rotate', args);
    await assert.rejects(rotate({ use: 'receipt', kind: 'live' }), /no key for receipt/);
    await assert.rejects(rotate({ use: 'air' }), /kind is missing/);
  });

  it('survives a restart', async () => {
    await running.close(true);
    running = await runSending({ DATA_DIR: running.data });
    const air = (await published()).filter(({ purpose }) => purpose === 'air');
    assert.deepEqual([air.length, air.at(-1)?.kid], [2, kids[1]]);
  });
});

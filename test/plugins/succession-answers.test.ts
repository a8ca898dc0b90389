// A question about the time of a closed log is answered from that log, or refused, but never from its successor alone:
// witnesses, reports, session proofs, exports and counts. log/FORMAT.md §1; plugins/contract/entries.ts.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { native } from '../../log/crypto/native.ts';
import { canonical } from '../../log/index.ts';
import type { Log } from '../../log/index.ts';
import { trustedKeyOf, verifyAbsence, verifyReceipt } from '../../log/verify.ts';
import type { AbsenceResult, Trust } from '../../log/verify.ts';
import { skipInCluster } from '../cluster/suite-cluster.ts';
import { ok, run } from '../gateway/running.ts';
import type { Answer, Running } from '../gateway/running.ts';
import { settled } from '../support/settled.ts';
import { ENTITY, replayed } from './astl/surfaces.ts';
import type { Body } from './astl/surfaces.ts';
import { succeeded } from './succeeded.ts';

const beganMs = (log: Log): number => {
  const { issued_at_ms } = JSON.parse(log.entry(0) ?? '') as { readonly issued_at_ms: number };
  return issued_at_ms;
};

const SURFACE = 'policy_bind';
const WITNESS = '/api/v1/absence/witness';
const REPORT = '/api/v1/absence/spoliation-report';
const ARTICLE_12 = '/compliance/eu-ai-act/article-12';

describe('a question about the time of a closed log', function () {
  this.timeout(120_000);
  let running: Running;
  let key: string;
  let first: Log;
  let second: Log;
  /** The entry of session s3 in the first log. */
  let oldest: string;
  /** Windows in the first log, in the second, and over both. */
  let old: Window;
  let fresh: Window;
  let both: Window;

  interface Window {
    readonly from_ms: number;
    readonly to_ms: number;
  }

  const act = async (session_id: string) =>
    ok(
      await running.post(
        '/api/v1/classify',
        { message: 'Schedule the interview', entity: ENTITY, surface: SURFACE, session_id },
        { key },
      ),
    );
  const publish = async () =>
    ok(
      await running.post('/api/v1/astl/publish', { entity: ENTITY, surfaces: [SURFACE] }, { key }),
    );
  const ask = (path: string, body: object, headers: Record<string, string> = {}) =>
    running.post(path, body, { key, headers: { Prefer: 'wait=20', ...headers } });
  const witness = async (body: object) =>
    ok(await ask(WITNESS, { entity: ENTITY, surface: SURFACE, ...body }));
  const get = (path: string) => running.get(path, { key });
  /** Status, code, param, and whether the message refers to the first log. */
  const refusal = ({ status, json }: Answer) => [
    ...[status, json.error.code, json.error.param],
    String(json.error.message).includes('/log/live/1/proof/lookup?key='),
  ];
  const trust = (log: Log): Trust => {
    const { origin, vkey } = log;
    return { origin, vkey, keys: log.receiptKeys().map(trustedKeyOf) };
  };
  const verified = (log: Log, document: Body): AbsenceResult => {
    const options = { suite: native, now_ms: running.clock.wall() };
    return verifyAbsence(document, document.question, trust(log), options);
  };
  /** A time in whose millisecond there is no other entry. */
  const tick = async (): Promise<number> => {
    await sleep(20);
    const ms = running.clock.wall();
    await sleep(20);
    return ms;
  };

  before(async () => {
    running = await run();
    key = running.live;
    await publish();
    const from_ms = await tick();
    await act('s1');
    await act('s1');
    oldest = (await act('s3')).entry_id as string;
    const to_ms = await tick();
    old = { from_ms, to_ms };
    running = await succeeded(running);
    const [one, two] = running.gateway.served.live;
    assert.ok(one !== undefined && two !== undefined);
    [first, second] = [one, two];
    await publish();
    fresh = { from_ms: await tick(), to_ms: 0 };
    fresh = { ...fresh, to_ms: await tick() };
    both = { from_ms: old.from_ms, to_ms: fresh.to_ms };
    await tick();
    await act('s2');
    await act('s3');
    await settled(second);
  });
  after(() => running.close());

  it('is answered by a witness of that log, to which an entry of the open one commits', async () => {
    const answer = await witness(old);
    assert.deepEqual(Object.keys(answer), ['ok', 'witness', 'receipts']);
    const { witness: document, receipts } = answer;
    assert.equal(verified(first, document).verdict, 'PRESENT');
    assert.equal(document.entries.length, 3);
    assert.deepEqual(document.question, { key: ['surface', ENTITY, SURFACE], ...old });
    assert.equal('receipt' in document, false);
    const [receipt] = receipts;
    assert.equal(receipts.length, 1);
    assert.equal(receipt.origin, second.origin);
    assert.deepEqual(
      [receipt.type, receipt.log_number, receipt.verdict],
      ['absence.earlier_witness.v1', 1, 'PRESENT'],
    );
    const sha256 = createHash('sha256').update(canonical(document)).digest('hex');
    assert.equal(receipt.document_sha256, sha256);
    assert.equal(verifyReceipt(receipt, trust(second), { suite: native }).valid, true);
    const ledger = ok(await get('/api/v1/absence/ledger'));
    const [listed] = ledger.data;
    assert.deepEqual([listed.document_sha256, listed.log_number], [sha256, 1]);
  });

  it('seals what each log has of a session, and covers all of it', async () => {
    const sealed = ok(
      await ask('/api/v1/spoliation-seal', { trigger_event: 'a claim', session_ids: ['s3'] }),
    );
    assert.equal(sealed.seal.preserved_count, 1);
    assert.deepEqual(sealed.earlier_logs, [{ log: 'live/1', preserved_count: 1 }]);
    assert.equal(sealed.receipt.subject_sessions.length, 2);
    const erased = await running.ask('DELETE', `/api/v1/disclosures/${oldest}`, { key });
    assert.deepEqual([erased.status, erased.json.error.code], [409, 'retention_hold']);
  });

  it('is answered with a document of each log if it spans both', async () => {
    const { witnesses, receipts, decision, reasons } = await witness({ ...both, gate: true });
    assert.equal(witnesses.length, 2);
    const [before, since] = witnesses;
    assert.equal(verified(first, before).verdict, 'PRESENT');
    assert.equal(verified(second, since).verdict, 'UNDECLARED');
    assert.equal(since.receipt.type, 'absence.witness.v1');
    assert.equal(receipts.length, 1);
    assert.equal(before.question.from_ms, both.from_ms);
    assert.equal(before.question.to_ms, first.published().map_head_ms);
    const began_ms = beganMs(second);
    assert.equal(since.question.from_ms, began_ms);
    assert.equal(since.question.to_ms, both.to_ms);
    assert.equal(decision, 'BLOCK');
    assert.deepEqual(reasons, [`${SURFACE} is PRESENT in live/1`, `${SURFACE} is UNDECLARED`]);
    assert.match(before.statement, /log\/live\/1 at size/);
  });

  it('is answered with one document for each surface and log, and replayed byte for byte', async () => {
    const asked = { entity: ENTITY, surfaces: [SURFACE, 'claim_pay'], ...both };
    const headers = { 'Idempotency-Key': 'over-both' };
    const once = await ask(WITNESS, asked, headers);
    const { witnesses, receipts } = ok(once);
    assert.deepEqual(
      witnesses.map(({ verdict }: Body) => verdict),
      ['PRESENT', 'UNDECLARED', 'UNDECLARED', 'UNDECLARED'],
    );
    assert.equal(receipts.length, 2);
    const again = await ask(WITNESS, asked, headers);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.equal(again.text, once.text);
  });

  it('does not change a witness of the open log', async () => {
    const answer = await witness(fresh);
    assert.deepEqual(Object.keys(answer), ['ok', 'witness']);
    assert.equal(verified(second, answer.witness).verdict, 'ABSENT');
    assert.equal(answer.witness.receipt.type, 'absence.witness.v1');
  });

  it('is refused for a spoliation report, which is about one log', async () => {
    for (const window of [old, both]) {
      const answer = await ask(REPORT, { entity: ENTITY, surface: SURFACE, ...window });
      assert.deepEqual(refusal(answer), [400, 'parameter_invalid', 'from_ms', true]);
    }
    const began_ms = beganMs(second);
    const window = { from_ms: began_ms, to_ms: fresh.to_ms };
    ok(await ask(REPORT, { entity: ENTITY, surface: SURFACE, ...window }));
  });

  it('is refused for a silence receipt about a session that only that log has', async () => {
    const silence = (session_id: string) =>
      ask('/silence-receipt', { session_id, context: 'nothing was sent' });
    assert.deepEqual(refusal(await silence('s1')), [400, 'parameter_invalid', 'session_id', true]);
    const { silence: seen } = ok(await silence('s3'));
    assert.equal(seen.entries_in_window, 1);
    assert.equal(seen.earlier_logs.length, 1);
    const [{ log, entries, proof_url }] = seen.earlier_logs;
    assert.deepEqual([log, entries], [first.origin, 1]);
    const { pathname, search } = new URL(proof_url as string);
    assert.equal(verified(first, ok(await get(pathname + search))).entries, 1);
    const never = ok(await silence('never'));
    assert.equal(never.silence.entries_in_window, 0);
    assert.equal('earlier_logs' in never.silence, false);
    const { question } = never.completeness_proof;
    assert.equal(question.from_ms, beganMs(second));
  });

  it('is answered with the proof and the export of a session from the log that has it', async () => {
    const proof = (id: string, query = '') => get(`/api/v1/sessions/${id}/proof${query}`);
    const air = (id: string, query = '') => get(`/export/scitt/air/session/${id}.json${query}`);
    const document = ok(await proof('s1', `?to_ms=${String(both.to_ms)}`));
    assert.equal(verified(first, document).entries, 2);
    assert.equal(document.question.to_ms, first.published().map_head_ms);
    const batch = ok(await air('s1', '?proofs=true'));
    assert.deepEqual([batch.origin, batch.count, batch.records.length], [first.origin, 2, 2]);
    assert.equal(ok(await air('s2')).origin, second.origin);
    for (const asked of [proof, air]) {
      assert.deepEqual(refusal(await asked('s3')).slice(0, 3), [
        ...[400, 'parameter_invalid', 'log_number'],
      ]);
      assert.equal((await asked('s3', '?log_number=3')).status, 400);
    }
    for (const [number, log] of [[1, first] as const, [2, second] as const]) {
      const query = `?log_number=${String(number)}`;
      assert.equal(verified(log, ok(await proof('s3', query))).entries, 1);
      const { origin, count } = ok(await air('s3', query));
      assert.deepEqual([origin, count], [log.origin, 1]);
    }
    assert.equal(ok(await air('never')).count, 0);
  });

  it('is refused for a report of a session that only that log has', async () => {
    const packs = '/compliance/naic/exhibit-pack/';
    for (const path of [`${ARTICLE_12}?session_id=s1`, `${packs}s1`]) {
      assert.deepEqual(refusal(await get(path)), [400, 'parameter_invalid', 'session_id', true]);
    }
    const pack = { category_id: 'companion', session_id: 's1' };
    assert.deepEqual(refusal(await ask('/api/v1/conformity/generate', pack)), [
      ...[400, 'parameter_invalid', 'session_id', true],
    ]);
    for (const query of ['session_id=s1&log_number=2', 'session_id=s3&log_number=1']) {
      const refused = refusal(await get(`${ARTICLE_12}?${query}`));
      assert.deepEqual(refused, [400, 'parameter_invalid', 'log_number', true]);
    }
    assert.equal((await get(`${ARTICLE_12}?session_id=s3`)).status, 400);
    for (const path of [`${ARTICLE_12}?session_id=s3&log_number=2`, `${packs}s3?log_number=2`]) {
      const { entries, origin, does_not_assert } = ok(await get(path));
      assert.deepEqual([entries, origin], [1, second.origin]);
      assert.match(does_not_assert.at(-1) as string, /closed log live\/1$/);
    }
    const { entries, does_not_assert } = ok(await get(`${ARTICLE_12}?session_id=s2`));
    assert.equal(entries, 1);
    assert.doesNotMatch(does_not_assert.join('\n'), /live\/1/);
    assert.equal(ok(await get(`${ARTICLE_12}?session_id=never`)).entries, 0);
  });

  it('counts the attempts of both logs', async () => {
    const { classifications, last_24_hours, invariant } = ok(await running.get('/metrics/public'));
    assert.deepEqual([classifications.attempts, last_24_hours.attempts], [5, 5]);
    assert.equal(invariant.holds, true);
  });

  it('leaves both logs correct by every rule of the format', () => {
    for (const log of [first, second]) replayed(log);
  });

  it('is refused if the closed log is not served, unless it names the open one', async function () {
    skipInCluster(this, 'a node fills the copy of a closed log again');
    const { data } = running;
    const began_ms = beganMs(second);
    await running.close(true);
    await rm(join(data, 'live', '1'), { recursive: true });
    running = await run({ DATA_DIR: data });
    second = running.gateway.logs.live;
    assert.deepEqual([running.gateway.served.live.length, second.number], [1, 2]);
    const surface = { entity: ENTITY, surface: SURFACE };
    for (const path of [WITNESS, REPORT]) {
      for (const window of [old, both]) {
        const answer = await ask(path, { ...surface, ...window });
        assert.deepEqual(refusal(answer), [400, 'parameter_invalid', 'from_ms', false]);
      }
      const { message } = (await ask(path, { ...surface, ...both })).json.error;
      assert.match(message as string, new RegExp(`at least ${String(began_ms)}`));
      ok(await ask(path, { ...surface, from_ms: began_ms, to_ms: both.to_ms }));
    }
    assert.equal(verified(second, (await witness(fresh)).witness).verdict, 'ABSENT');
    const silence = { session_id: 's1', context: 'nothing was sent' };
    assert.equal((await ask('/silence-receipt', silence)).json.error.param, 'session_id');
    for (const path of [`${ARTICLE_12}?session_id=s1`, '/api/v1/sessions/s1/proof']) {
      const refused = refusal(await get(path));
      assert.deepEqual(refused, [400, 'parameter_invalid', 'log_number', false]);
    }
    assert.equal(ok(await get(`${ARTICLE_12}?session_id=s2`)).entries, 1);
    assert.equal(ok(await get('/api/v1/sessions/s1/proof?log_number=2')).verdict, 'ABSENT');
  });
});

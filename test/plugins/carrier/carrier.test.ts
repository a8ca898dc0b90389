// The carrier gate over a whole gateway: enrollment with its bundle, the ordered rules, the audit and its proofs,
// whose findings count, who may ask, and what happens at once. interface.md, Carrier; behaviour.md §8.3.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { fsck } from '../../../log/fsck.ts';
import { canonical, LogError } from '../../../log/index.ts';
import type { JsonObject, Log } from '../../../log/index.ts';
import { trustFromKit, verifyReceipt } from '../../../log/verify.ts';
import { readCatalog } from '../../../plugins/catalog.ts';
import { REASONS } from '../../../plugins/carrier/entries.ts';
import { broughtTypes } from '../../../tools/brought-types.ts';
import { codeOf } from '../../gateway/middleware/envelope.ts';
import { run } from '../../gateway/running.ts';
import type { Answer, Ask, Running } from '../../gateway/running.ts';

const DAY_MS = 86_400_000;
const VIOLATION = 'We do not hire people over 50.';

describe('plugins/carrier', () => {
  let running: Running;
  before(async () => {
    running = await run();
  });
  after(() => running.close());

  /** A key of a tenant of its own: findings of one test are none of another's. */
  let tenants = 0;
  const newKey = async (role: 'carrier' | 'insured' = 'carrier'): Promise<string> => {
    tenants += 1;
    return keyOf(`carrier-${String(tenants)}`, role);
  };
  const keyOf = async (tenant: string, role: 'carrier' | 'insured'): Promise<string> => {
    const { key } = await running.gateway.tenants.issue({ tenant, kind: 'live', role });
    return key;
  };
  const enroll = (key: string, company: string, more: object = {}): Promise<Answer> =>
    running.post('/carrier/v1/enroll', { company, ...more }, { key });
  const comply = (key: string, slug: string, query = ''): Promise<Answer> =>
    running.get(`/carrier/v1/insured/${slug}/compliance${query}`, { key });
  const bind = (key: string, body: object, ask: Ask = {}): Promise<Answer> =>
    running.post('/pas/v1/bind-check', { policy_id: 'POL-1', ...body }, { key, ...ask });
  const classify = async (key: string, message: string, more: object = {}): Promise<JsonObject> => {
    const { json, text } = await running.post('/api/v1/classify', { message, ...more }, { key });
    assert.ok(json.classification, text);
    return json as JsonObject;
  };
  const decided = ({ status, json, text }: Answer): [string, string[]] => {
    assert.equal(status, 200, text);
    return [json.decision as string, json.reasons as string[]];
  };
  const entryText = (index: number): string => running.gateway.logs.live.entry(index) ?? '';

  describe('POST /carrier/v1/enroll', () => {
    it('gives a mandate and the bundle that both sides keep, and names nobody in the log', async () => {
      const key = await newKey();
      const { status, json, text } = await enroll(key, 'Ácme Zebra & Söhne', { domain: 'zebra' });
      assert.equal(status, 200, text);
      assert.equal(json.slug, 'acme-zebra-sohne');
      assert.equal(json.mandate_id, json.receipt.entry_id);
      assert.equal(json.valid_until_ms - json.valid_from_ms, 365 * DAY_MS);
      const { bundle } = json;
      assert.equal(bundle.mandate_id, json.mandate_id);
      const digest = createHash('sha256').update(canonical(bundle.terms)).digest('hex');
      assert.equal(bundle.terms_sha256, digest);
      assert.equal(json.receipt.terms_sha256, digest);
      assert.ok(bundle.keys.some(({ kid }: { kid: string }) => kid === json.receipt.kid));
      assert.ok(bundle.checkpoint.startsWith(`${bundle.log.origin as string}\n`));
      assert.equal(bundle.kit_url, 'http://test.example/export/offline-verify-kit.json');
      assert.doesNotMatch(entryText(json.receipt.index), /zebra/i);
    });

    it('takes a slug once for a carrier, and again for another or when the mandate has expired', async () => {
      const [one, other] = [await newKey(), await newKey()];
      const valid_until_ms = running.clock.wall() + DAY_MS;
      assert.equal((await enroll(one, 'Twice', { valid_until_ms })).status, 200);
      const again = await enroll(one, ' TWICE ');
      assert.equal(codeOf(again, 409), 'manifest_exists');
      assert.equal(again.json.error.param, 'company');
      assert.equal((await enroll(other, 'Twice')).status, 200);
      running.clock.pass(DAY_MS + 1);
      assert.deepEqual(decided(await comply(one, 'twice')), ['BLOCK', ['mandate_expired']]);
      assert.equal((await enroll(one, 'Twice')).status, 200);
    });

    it('enrolls once of many at once', async () => {
      const key = await newKey();
      const answers = await Promise.all(Array.from({ length: 12 }, () => enroll(key, 'Contended')));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [
        200,
        ...Array.from({ length: 11 }, () => 409),
      ]);
    });

    it('takes every company, whatever its name in the log begins with', async () => {
      const key = await newKey();
      const companies = Array.from({ length: 200 }, (_, n) => `Company ${String(n)}`);
      const answers = await Promise.all(companies.map((company) => enroll(key, company)));
      for (const { status, text } of answers) assert.equal(status, 200, text);
    });

    it('refuses what it cannot enroll', async () => {
      const key = await newKey();
      assert.equal((await enroll(key, '株式会社')).json.error.param, 'company');
      assert.equal(
        codeOf(await enroll(key, 'Late', { valid_until_ms: 1 }), 400),
        'parameter_invalid',
      );
      assert.equal(codeOf(await enroll(key, 'x'.repeat(513)), 400), 'parameter_invalid');
      assert.equal(
        codeOf(await running.post('/carrier/v1/enroll', {}, { key }), 400),
        'parameter_missing',
      );
      const anonymous = await running.post('/carrier/v1/enroll', { company: 'Nobody' });
      assert.equal(codeOf(anonymous, 401), 'api_key_missing');
    });
  });

  describe('the rules, in their order', () => {
    it('are those of the catalog', () => {
      const { rules } = readCatalog('carrier.json') as unknown as {
        readonly rules: readonly { readonly reasons: readonly string[] }[];
      };
      assert.deepEqual(
        rules.flatMap(({ reasons }) => reasons),
        REASONS,
      );
    });

    it('block whom nobody enrolled, with 200 and a signed receipt', async () => {
      const key = await newKey();
      await classify(key, 'Schedule the interview for Monday');
      const answer = await comply(key, 'Nobody%20Known');
      assert.deepEqual(decided(answer), ['BLOCK', ['not_enrolled']]);
      const { json } = answer;
      assert.deepEqual([json.mandate_id, json.audit, json.audit_url], [null, [], null]);
      assert.equal(json.receipt.type, 'carrier.decision.v1');
      assert.doesNotMatch(entryText(json.receipt.index), /Nobody/);
      assert.deepEqual(decided(await bind(key, { company: 'Not There' })), [
        'BLOCK',
        ['not_enrolled'],
      ]);
    });

    it('block without evidence, allow with it, and block when it is stale', async () => {
      const key = await newKey();
      await enroll(key, 'Fresh');
      assert.deepEqual(decided(await comply(key, 'fresh')), ['BLOCK', ['evidence_missing']]);
      const { entry_id } = await classify(key, 'Schedule the interview for Monday');
      const allowed = await comply(key, 'fresh');
      assert.deepEqual(decided(allowed), ['ALLOW', []]);
      const parts = allowed.json.audit.map((item: JsonObject) => [item['part'], item['entry_id']]);
      assert.deepEqual(parts, [
        ['mandate', allowed.json.mandate_id],
        ['evidence', entry_id],
      ]);
      running.clock.pass(DAY_MS + 60_000);
      assert.deepEqual(decided(await comply(key, 'fresh')), ['BLOCK', ['evidence_missing']]);
    });

    it('block for 30 days after a VIOLATION or a CRISIS', async () => {
      const key = await newKey();
      await enroll(key, 'Finding');
      assert.equal((await classify(key, VIOLATION))['classification'], 'VIOLATION');
      assert.deepEqual(decided(await comply(key, 'finding')), ['BLOCK', ['open_violation']]);
      await classify(key, 'I want to kill myself');
      await classify(key, 'Schedule the interview for Monday');
      const both = await comply(key, 'finding');
      assert.deepEqual(decided(both), ['BLOCK', ['open_crisis', 'open_violation']]);
      assert.deepEqual(
        both.json.rules.map(({ result }: { result: string }) => result),
        ['passed', 'passed', 'failed', 'not_reached', 'not_reached'],
      );
      running.clock.pass(30 * DAY_MS - 3_600_000);
      assert.equal((await comply(key, 'finding')).json.reasons[0], 'open_crisis');
      running.clock.pass(2 * 3_600_000);
      await classify(key, 'Schedule the interview for Monday');
      assert.deepEqual(decided(await comply(key, 'finding')), ['ALLOW', []]);
    });

    it('count what the gate decided, and never an ERROR', async () => {
      const key = await newKey();
      await enroll(key, 'Gated');
      const gate = (message?: string): Promise<Answer> =>
        running.post(
          '/api/v1/execute-gate',
          {
            action_type: 'policy.bind',
            agent_id: 'a',
            ...(message === undefined ? {} : { message }),
          },
          { key },
        );
      await gate();
      assert.deepEqual(decided(await comply(key, 'gated')), ['ALLOW', []]);
      const { entry_id } = await classify(key, 'Schedule the interview for Monday');
      await classify(key, '');
      const failed = ['BLOCK', ['evidence_missing']];
      assert.deepEqual(decided(await comply(key, 'gated')), failed);
      assert.deepEqual(
        decided(await bind(key, { slug: 'gated', receipt_entry_id: entry_id })),
        failed,
        'an older receipt does not stand in for what could not be judged',
      );
      await gate('I want to kill myself');
      assert.deepEqual(decided(await comply(key, 'gated')), ['BLOCK', ['open_crisis']]);
    });

    it('compare limit and authority exactly', async () => {
      const key = await newKey();
      await enroll(key, 'Limit');
      await classify(key, 'Schedule the interview for Monday');
      const over = ['BLOCK', ['limit_over_authority']];
      const limited = async (limit_usd: unknown, most: unknown) =>
        decided(await bind(key, { slug: 'limit', limit_usd, authority: { limit_usd: most } }));
      assert.deepEqual(await limited('1000000.000001', 1_000_000), over);
      assert.deepEqual(await limited(0.3, '0.299999'), over);
      assert.deepEqual(await limited(0.3, '0.300000'), ['ALLOW', []]);
      assert.deepEqual(await limited('999999999999999.999999', '999999999999999.999998'), over);
      for (const limit_usd of ['1e3', '-1', '01', '1.0000001', 1e21, 1e-7, -1, null, {}]) {
        const answer = await bind(key, { slug: 'limit', limit_usd });
        assert.equal(codeOf(answer, 400), 'parameter_invalid', answer.text);
      }
    });

    it('judge by the receipt that the request names, if it is of the insured', async () => {
      const [key, other] = [await newKey(), await newKey()];
      await enroll(key, 'Named');
      const mine = await classify(key, 'Schedule the interview for Monday');
      const theirs = await classify(other, 'Schedule the interview for Monday');
      const named = async (receipt_entry_id: unknown) =>
        decided(await bind(key, { slug: 'named', receipt_entry_id }));
      assert.deepEqual(await named(mine['entry_id']), ['ALLOW', []]);
      assert.deepEqual(await named(`sha256:${mine['entry_hash'] as string}`), ['ALLOW', []]);
      const { json } = await comply(key, 'named');
      for (const no of [theirs['entry_id'], 'x', '0'.repeat(64), json.entry_id, json.mandate_id]) {
        assert.deepEqual(await named(no), ['BLOCK', ['evidence_missing']], String(no));
      }
    });

    it('look at the entity that was enrolled, whoever it belongs to', async () => {
      const [carrier, insured] = [await newKey(), await newKey()];
      const entity = 'insured-party';
      const surfaces = ['chat'];
      const published = await running.post(
        '/api/v1/astl/publish',
        { entity, surfaces },
        { key: insured },
      );
      assert.equal(published.status, 200, published.text);
      assert.equal((await enroll(carrier, 'Party', { entity })).status, 200);
      await classify(carrier, VIOLATION);
      assert.deepEqual(decided(await comply(carrier, 'party')), ['BLOCK', ['evidence_missing']]);
      await classify(insured, 'Schedule the interview for Monday', { entity });
      assert.deepEqual(decided(await comply(carrier, 'party')), ['ALLOW', []]);
      await classify(insured, VIOLATION, { entity });
      assert.deepEqual(decided(await comply(carrier, 'party')), ['BLOCK', ['open_violation']]);
    });
  });

  describe('an answer', () => {
    it('has the receipts that it rests on, and they verify offline', async () => {
      const key = await newKey();
      await enroll(key, 'Audited');
      await classify(key, VIOLATION);
      const { json } = await comply(key, 'audited', '?action=renew');
      assert.equal(json.action, 'renewal');
      assert.equal(json.checked_at, new Date(json.receipt.issued_at_ms).toISOString());
      const { json: kit } = await running.get('/export/offline-verify-kit.json');
      const trust = trustFromKit(kit, json.receipt.origin as string);
      assert.deepEqual(
        json.audit.map(({ part }: { part: string }) => part),
        ['mandate', 'violation'],
      );
      for (const { receipt, inclusion_proof } of json.audit) {
        assert.ok(Array.isArray(inclusion_proof));
        const proven = {
          ...receipt,
          log: { ...receipt.log, checkpoint: json.checkpoint, inclusion_proof },
        };
        const { valid, checks } = verifyReceipt(proven, trust);
        assert.equal(valid, true, JSON.stringify(checks));
      }
    });

    it('stands on the chain of its mandate, which the log proves whole', async () => {
      const key = await newKey();
      const { json: enrolled } = await enroll(key, 'Chained');
      for (const action of ['', '?action=bind', '?action=renewal'])
        await comply(key, 'chained', action);
      const { json } = await bind(key, { slug: 'chained' }, { headers: { Prefer: 'wait=10' } });
      const url = new URL(json.audit_url as string);
      const history = await running.get(url.pathname + url.search);
      assert.equal(history.status, 200, history.text);
      assert.equal(history.json.entries.length, 5);
      assert.equal(history.json.entries[0].index, enrolled.receipt.index);
      assert.equal(history.json.entries[4].index, json.receipt.index);
    });

    it('keeps policy, agent and money out of the log, and replays', async () => {
      const key = await newKey();
      await enroll(key, 'Private');
      await classify(key, 'Schedule the interview for Monday');
      const body = {
        company: 'Private',
        policy_id: 'ZEBRA 1',
        agent_id: 'zebra agent',
        premium_usd: '4242.424242',
        limit_usd: 9_191_919,
        authority: { limit_usd: '9191919' },
        session_id: 'zebra session',
      };
      const headers = { 'Idempotency-Key': 'bind-check-1' };
      const first = await bind(key, body, { headers });
      assert.deepEqual(decided(first), ['ALLOW', []]);
      const entry = entryText(first.json.receipt.index);
      assert.doesNotMatch(entry, /zebra|private|4242|9191/i);
      assert.equal(first.json.receipt.disclosures.policy_id.value, 'ZEBRA 1');
      await classify(key, VIOLATION);
      const again = await bind(key, body, { headers });
      assert.equal(again.headers.get('idempotent-replayed'), 'true');
      assert.equal(again.text, first.text);
    });

    it('sees the finding that came a moment before, whatever else is asked at once', async () => {
      const key = await newKey();
      await enroll(key, 'Racing');
      await classify(key, 'Schedule the interview for Monday');
      const answers = await Promise.all([
        classify(key, VIOLATION),
        ...Array.from({ length: 20 }, () => comply(key, 'racing')),
      ]);
      const [finding, ...checks] = answers;
      for (const { json } of checks) {
        const after = (json.receipt.index as number) > (finding['index'] as number);
        assert.equal(json.decision, after ? 'BLOCK' : 'ALLOW');
      }
    });
  });

  it('blocks in its error when the log does not answer, and never shows why', async () => {
    const key = await newKey();
    await enroll(key, 'Failing');
    await classify(key, 'Schedule the interview for Monday');
    const log = running.gateway.logs.live as Log & { append: Log['append'] };
    const { append } = log;
    const failures: readonly (readonly [Error, number, string])[] = [
      [new LogError('log_unavailable', 'the disk says zebra'), 503, 'log_unavailable'],
      [new LogError('log_busy', 'zebra'), 503, 'log_busy'],
      [new LogError('clock_untrusted', 'zebra'), 503, 'log_unavailable'],
      [new Error('zebra'), 500, 'internal_error'],
    ];
    for (const [failure, status, code] of failures) {
      log.append = () => Promise.reject(failure);
      try {
        for (const { status: got, json, text } of [
          await comply(key, 'failing'),
          await bind(key, { slug: 'failing' }),
        ]) {
          assert.deepEqual([got, json.error.code, json.decision], [status, code, 'BLOCK']);
          assert.doesNotMatch(text, /zebra/);
        }
      } finally {
        log.append = append;
      }
    }
    assert.deepEqual(decided(await comply(key, 'failing')), ['ALLOW', []]);
  });

  describe('who may ask', () => {
    it('lets an insured see its own compliance and nothing more', async () => {
      const carrier = await keyOf('with-roles', 'carrier');
      const insured = await keyOf('with-roles', 'insured');
      await enroll(carrier, 'Roles');
      assert.equal(decided(await comply(insured, 'roles'))[0], 'BLOCK');
      assert.equal(codeOf(await enroll(insured, 'Other'), 403), 'role_forbidden');
      assert.equal(codeOf(await bind(insured, { slug: 'roles' }), 403), 'role_forbidden');
    });

    it('keeps carriers, and sandbox and live, apart', async () => {
      const [one, other] = [await newKey(), await newKey()];
      await enroll(one, 'Apart');
      assert.deepEqual((await comply(other, 'apart')).json.reasons, ['not_enrolled']);
      assert.deepEqual((await comply(running.sandbox, 'apart')).json.reasons, ['not_enrolled']);
      const { json } = await enroll(running.sandbox, 'Apart');
      assert.equal(json.receipt.sandbox, true);
      assert.equal(
        codeOf(await running.get('/carrier/v1/insured/apart/compliance'), 401),
        'api_key_missing',
      );
    });

    it('refuses what it cannot read', async () => {
      const key = await newKey();
      assert.equal(codeOf(await comply(key, 'x', '?action=cancel'), 400), 'parameter_invalid');
      const missing = await bind(key, {});
      assert.equal(codeOf(missing, 400), 'parameter_missing');
      assert.equal(missing.json.error.param, 'slug');
      const both = await bind(key, { slug: 'a', company: 'B' });
      assert.equal(codeOf(both, 400), 'parameter_invalid');
      assert.equal(codeOf(await bind(key, { slug: 'a', policy_id: 7 }), 400), 'parameter_invalid');
    });
  });
});

describe('plugins/carrier, started again', () => {
  it('has its mandates and findings, which are what the log says', async () => {
    const first = await run();
    const { live: key, data } = first;
    const path = '/carrier/v1/insured/lasting/compliance';
    await first.post('/carrier/v1/enroll', { company: 'Lasting' }, { key });
    await first.post('/api/v1/classify', { message: VIOLATION }, { key });
    const before = (await first.get(path, { key })).json;
    await first.close(true);
    const folder = join(data, 'live', '1');
    const types = await broughtTypes({ PLUGINS: [] });
    assert.deepEqual((await fsck({ folder, types })).differences, []);
    const again = await run({ DATA_DIR: data });
    try {
      const { decision, reasons, mandate_id } = (await again.get(path, { key })).json;
      assert.deepEqual([decision, reasons], ['BLOCK', ['open_violation']]);
      assert.equal(mandate_id, before.mandate_id);
    } finally {
      await again.close();
    }
  });
});

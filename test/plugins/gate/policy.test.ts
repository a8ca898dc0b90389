// The policy of a tenant: its published grammar, its rules, and its versions in the log. gateway/API.md §8.1.

import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { canonical } from '../../../log/index.ts';
import { readCatalog } from '../../../plugins/index.ts';
import { asSchema } from '../../../plugins/contract/index.ts';
import { decide, matches } from '../../../plugins/gate/rules.ts';
import type { Act } from '../../../plugins/gate/rules.ts';
import { JUDGED, policyHash, PolicyInput } from '../../../plugins/gate/policies.ts';
import type { Policy, Rule } from '../../../plugins/gate/policies.ts';
import { problem } from '../astl/surfaces.ts';
import { GATE, PAY, POLICY, serveGate } from './asking.ts';
import type { Asking } from './asking.ts';

const names = fc.constantFrom('payment.release', 'payment.hold', 'data.read', 'wire');
const surfaces = fc.constantFrom('payment_authorize', 'data_export');
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const some = <T>(arbitrary: fc.Arbitrary<T>) =>
  optional(fc.uniqueArray(arbitrary, { minLength: 1, maxLength: 3 }));

const acts: fc.Arbitrary<Act> = fc
  .record({
    action_type: names,
    surface: optional(surfaces),
    amount_atomic: optional(fc.nat(10)),
    currency: optional(fc.constantFrom('USDC', 'EURC')),
    reversibility: optional(fc.constantFrom('reversible', 'irreversible')),
    classification: fc.constantFrom(...JUDGED),
  })
  .map((act) => JSON.parse(JSON.stringify(act)) as Act);

const rules: fc.Arbitrary<Rule> = fc
  .record({
    id: fc.constantFrom('a', 'b', 'c', 'd'),
    effect: fc.constantFrom('allow', 'deny', 'hold'),
    action_types: some(names),
    action_prefixes: some(fc.constantFrom('payment.', 'data')),
    surfaces: some(surfaces),
    amount: optional(
      fc.record({
        currency: fc.constantFrom('USDC', 'EURC'),
        over: optional(fc.nat(5)),
        at_most: optional(fc.integer({ min: 6, max: 10 })),
      }),
    ),
    reversibility: some(fc.constantFrom('reversible', 'irreversible')),
    classification: some(fc.constantFrom(...JUDGED)),
  })
  .map((rule) => JSON.parse(JSON.stringify(rule)) as Rule);

const policies: fc.Arbitrary<Policy> = fc.record({ rules: fc.array(rules, { maxLength: 6 }) });
const rank = ['PERMIT', 'SILENCE', 'HOLD', 'DENY'];

describe('the rules of a policy', () => {
  it('never permit an act that a rule denies or holds, whose message is prohibited, or that no rule allows', () => {
    fc.assert(
      fc.property(acts, policies, (act, policy) => {
        const { outcome } = decide(act, policy);
        if (outcome !== 'PERMIT') return;
        const effects = policy.rules
          .filter((rule) => matches(rule, act))
          .map((rule) => rule.effect);
        assert.deepEqual([...new Set(effects)], ['allow']);
        assert.ok(['SAFE', 'NONE'].includes(act.classification));
      }),
    );
  });

  it('give the same outcome in any order', () => {
    fc.assert(
      fc.property(acts, policies, (act, policy) => {
        const backwards = { rules: policy.rules.toReversed() };
        assert.equal(decide(act, backwards).outcome, decide(act, policy).outcome);
      }),
    );
  });

  it('give a stricter outcome with each deny or hold, and SILENCE without rules', () => {
    fc.assert(
      fc.property(acts, policies, rules, (act, policy, rule) => {
        if (rule.effect === 'allow') return;
        const before = rank.indexOf(decide(act, policy).outcome);
        const after = decide(act, { rules: [...policy.rules, rule] }).outcome;
        // With an unreadable message the outcome is SILENCE even if a rule holds; only a prohibition is stricter.
        assert.ok(rank.indexOf(after) >= before, `${rank[before] ?? ''} became ${after}`);
      }),
    );
    const act: Act = { action_type: 'x', classification: 'NONE' };
    assert.deepEqual(decide(act, { rules: [] }), { outcome: 'SILENCE', reasons: ['no_rule'] });
    assert.deepEqual(decide(act, null), { outcome: 'SILENCE', reasons: ['no_policy'] });
  });

  it('cannot be evaded by leaving out members', () => {
    fc.assert(
      fc.property(
        acts,
        policies,
        fc.constantFrom('surface', 'amount_atomic', 'currency', 'reversibility'),
        (act, policy, name) => {
          const less = Object.fromEntries(
            Object.entries(act).filter(([member]) => member !== name),
          ) as unknown as Act;
          if (decide(less, policy).outcome !== 'PERMIT') return;
          const against = policy.rules.filter(({ effect }) => effect !== 'allow');
          assert.equal(decide(act, { rules: against }).outcome, 'SILENCE');
        },
      ),
    );
  });

  it('match amounts above `over`, up to and including `at_most`', () => {
    const rule: Rule = {
      id: 'x',
      effect: 'allow',
      amount: { currency: 'USDC', over: 5, at_most: 10 },
    };
    const at = (amount_atomic: number, currency = 'USDC'): boolean =>
      matches(rule, { action_type: 'x', classification: 'NONE', amount_atomic, currency });
    assert.deepEqual([at(5), at(6), at(10), at(11)], [false, true, true, false]);
    assert.deepEqual([at(6, 'EURC'), at(Number.MAX_SAFE_INTEGER)], [false, false]);
    // The limit applies to every spelling of its currency, and to no other currency.
    assert.deepEqual(
      ['usdc', 'Usdc ', 'ＵＳＤＣ', 'EURC'].map((currency) => at(7, currency)),
      [true, true, true, false],
    );
  });
});

describe('the published grammar of policies', () => {
  it('is the schema that requests are checked by, with the same constants', () => {
    const published = readCatalog('gate/policy.schema.json') as Record<string, unknown>;
    const { $schema: _, title: __, ...schema } = published;
    assert.deepEqual(schema, asSchema(PolicyInput));
    const ajv = new Ajv2020({ strict: true, strictTypes: false });
    assert.ok(ajv.validate(published, POLICY));
    const constants = readCatalog('gate/gate.schema.json') as object;
    assert.ok(ajv.validate(constants, readCatalog('gate/gate.json')), ajv.errorsText());
  });
});

describe('the policy of a tenant', () => {
  let served: Asking;
  before(async () => {
    served = await serveGate();
  });
  after(() => served.close());

  const put = (body: object, key?: string) => served.post(`${GATE}/policy`, body, key);
  const read = (key: string, query = '') => served.running.get(`${GATE}/policy${query}`, { key });

  it('is logged as plain text, with its version and hash', async () => {
    const { json } = await read(served.agent);
    assert.deepEqual([json.policy_version, json.policy], [1, POLICY]);
    assert.equal(json.policy_sha256, policyHash(POLICY as Policy));
    assert.deepEqual(json.receipt.rules, POLICY.rules);
    assert.equal(json.receipt.toll, undefined);
  });

  it('is the same entry if it is put unchanged, and a new version if it changed', async () => {
    const first = (await read(served.agent)).json;
    const same = await put(JSON.parse(canonical(POLICY)) as object);
    assert.equal(same.json.receipt.entry_id, first.receipt.entry_id);
    const changed = await put({ rules: [] });
    assert.equal(changed.json.policy_version, 2);
    assert.equal(
      (await served.ask(PAY)).json.outcome,
      'SILENCE',
      'the new version is in force immediately',
    );
    const back = await put(POLICY);
    assert.equal(back.json.policy_version, 3, 'an earlier policy put again is a new version');
    assert.deepEqual((await read(served.agent, '?version=2')).json.policy, { rules: [] });
    assert.deepEqual(problem(await read(served.agent, '?version=9')), [
      ...[404, 'resource_missing', 'version'],
    ]);
  });

  it('can be put by an operator; the tenant can read it', async () => {
    assert.deepEqual(problem(await put(POLICY, served.agent)).slice(0, 2), [403, 'role_forbidden']);
    const none = (await read(served.other)).json;
    assert.deepEqual([none.policy_version, none.policy, none.receipt], [0, null, null]);
    const live = (await read(served.running.live)).json;
    assert.equal(live.policy_version, 0, 'the policy of one log is not in force in the other');
    const { status, json } = await served.running.get(`${GATE}/policy`);
    assert.deepEqual([status, json.error.code], [401, 'api_key_missing']);
  });

  it('is refused if it is invalid, with the member that is wrong', async () => {
    const rule = { id: 'x', effect: 'allow' };
    const cases: readonly [object, string][] = [
      [{}, 'rules'],
      [{ rules: {} }, 'rules'],
      [{ rules: [{ ...rule, id: 'Über' }] }, 'rules.0.id'],
      [{ rules: [{ id: 'x' }] }, 'rules.0.effect'],
      [{ rules: [{ ...rule, effect: 'permit' }] }, 'rules.0.effect'],
      [{ rules: [{ ...rule, action_types: ['free text'] }] }, 'rules.0.action_types.0'],
      [{ rules: [{ ...rule, action_types: [] }] }, 'rules.0.action_types'],
      [{ rules: [{ ...rule, amount: { over: 5 } }] }, 'rules.0.amount.currency'],
      [{ rules: [{ ...rule, amount: { currency: 'USDC', over: 0.5 } }] }, 'rules.0.amount.over'],
      [
        { rules: [{ ...rule, amount: { currency: 'USDC', over: 2 ** 53 } }] },
        'rules.0.amount.over',
      ],
      [{ rules: [{ ...rule, amount: { currency: 'X', over: 5, at_most: 5 } }] }, 'rules.0.amount'],
      [{ rules: [rule, rule] }, 'rules'],
      [
        { rules: [], receipt_required: [{ action_type: 'a', issuers: ['b'] }] },
        'receipt_required.0.issuers.0',
      ],
      [
        { rules: [], receipt_required: [{ action_type: 'a' }, { action_type: 'a' }] },
        'receipt_required',
      ],
      [
        { rules: Array.from({ length: 101 }, (_, i) => ({ ...rule, id: `r${String(i)}` })) },
        'rules',
      ],
    ];
    for (const [body, param] of cases) {
      const { status, json } = await put(body);
      assert.deepEqual([status, json.error.param], [400, param], JSON.stringify(body));
    }
    const typo = await put({ rules: [{ ...rule, surface: ['pay'] }] });
    assert.equal(typo.status, 400, 'an unknown condition is refused, not ignored');
  });

  it('applies to decisions from its index in the log on', async () => {
    const flips = Array.from({ length: 12 }, (_, i) => put(i % 2 === 0 ? { rules: [] } : POLICY));
    const asks = Array.from({ length: 24 }, () => served.ask(PAY));
    await Promise.all([...flips, ...asks]);
    const log = served.log();
    let version = 0;
    let rules = 0;
    for (let index = 0; index < log.size(); index++) {
      const entry = JSON.parse(log.entry(index) ?? '{}') as Record<string, unknown>;
      if (entry['type'] === 'gate.policy.v3') {
        version = entry['policy_version'] as number;
        rules = (entry['rules'] as unknown[]).length;
      }
      if (entry['type'] !== 'gate.decision.v3') continue;
      assert.equal(entry['policy_version'], version);
      assert.equal(entry['outcome'], rules === 0 ? 'SILENCE' : 'PERMIT');
    }
  });
});

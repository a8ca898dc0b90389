// A monitor against a log builder that shares no code with it: each rule of the format is broken once and must be
// reported with evidence that a third party can verify; honest logs must not be accused. log/FORMAT.md §7

import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { native } from '../../log/crypto/native.ts';
import { jwkOfPublicKey, publicKeyOfJwk, thumbprint } from '../../log/crypto/thumbprint.ts';
import type { JsonObject } from '../../log/encoding/json.ts';
import { RULES } from '../../log/rules/violation.ts';
import { isUnanswerable, violationVerifier } from '../../log/verify.ts';
import type { TrustedKey } from '../../log/verify.ts';
import { RULES as PROVABLE } from '../../log/verify/violation-rules.ts';
import { PAIR_RULES } from '../../log/verify/violation-pairs.ts';
import { runMonitor, type MonitorOptions } from '../../tools/monitor/run.ts';
import { Told } from '../tools/monitor/monitored.ts';
import { HONEST } from './honest.ts';
import { Host } from './host.ts';
import { judge, type Document } from './judge.ts';
import { CHAIN_LIES } from './lies/chains.ts';
import { ENTRY_LIES } from './lies/entries.ts';
import type { Lie } from './lies/lie.ts';
import { LINE_LIES } from './lies/lines.ts';
import { SERVING_LIES } from './lies/serving.ts';
import { TYPE_LIES } from './lies/types.ts';

const LIES: readonly (readonly [string, readonly Lie[]])[] = [
  ['about an entry', ENTRY_LIES],
  ['about types, keys, tenants and entities', TYPE_LIES],
  ['about chains, maps and checkpoints', CHAIN_LIES],
  ['between logs and looks', LINE_LIES],
  ['of a server', SERVING_LIES],
];

describe('a monitor and an independent liar', function () {
  this.timeout(30_000);
  const host = new Host();
  let state: string;

  before(() => host.start());
  after(() => host.stop());
  beforeEach(async () => {
    state = await mkdtemp(join(tmpdir(), 'actlog-liar-'));
    host.clear();
  });
  afterEach(() => rm(state, { recursive: true, force: true }));

  /** The exit code of `actlog monitor`, and its report. */
  async function watch(more: Partial<MonitorOptions>): Promise<{ code: number; told: Told }> {
    const told = new Told();
    const code = await runMonitor(
      host.url,
      {
        ...{ log: 'live', interval: '100ms', state },
        ...{ maxCosignatureAge: '15m', cosignServe: '', ...more },
      },
      {
        ...{ threads: 0, signal: new AbortController().signal, report: told },
        ...{ mirror: { attempts: 1 }, missing: { attempts: 2, pause_ms: 0 } },
      },
    );
    return { code, told };
  }

  const said = ({ violations, troubles }: Told): string =>
    JSON.stringify([violations.map(({ rule, detail }) => [rule, detail]), troubles]);

  /** The rules of which the offline verifier has proved a finding. */
  const proven = new Set<string>();

  /** Verifies a finding offline with the keys of the log that it names. */
  async function verify(document: JsonObject): Promise<void> {
    const [log] = host.logs().filter(({ story }) => story.origin === document['origin']);
    assert.ok(log !== undefined);
    const { origin, vkey, entries } = log.story;
    const keys = receiptKeys(entries);
    const logs = new Map(host.logs().map(({ story: one }) => [one.origin, one.vkey]));
    const trust = { origin, vkey, keys, logs };
    const rule = document['rule'] as string;
    try {
      const finding = await violationVerifier.check(document, trust, { suite: native });
      assert.equal(document['proof'], 'signed');
      assert.ok(finding.valid || finding.untold === true, `${rule}: ${finding.summary}`);
      if (finding.valid) proven.add(rule);
      else assert.ok(!Object.hasOwn(PAIR_RULES, rule), `${rule}: ${finding.summary}`);
    } catch (error) {
      if (!isUnanswerable(error)) throw error;
      assert.equal(document['proof'], 'observed', error.message);
    }
  }

  function check(lie: Lie, told: Told): void {
    const document = told.violations.at(-1) as unknown as Document;
    const rules = typeof lie.rule === 'string' ? [lie.rule] : lie.rule;
    assert.ok(rules.includes(document.rule), `the reported rule is ${said(told)}`);
    judge(document);
    if (lie.proof !== undefined) assert.equal(document.proof, lie.proof);
    if (lie.entries !== undefined) {
      assert.deepEqual(
        document.entries.map(({ index }) => index),
        lie.entries,
      );
    }
    if (lie.shows !== undefined) assert.equal(document.entries.at(-1)?.index, lie.shows);
    if (lie.withheld === true)
      assert.ok(document.withheld !== undefined, 'the finding says what was withheld');
  }

  for (const [about, lies] of LIES) {
    describe(about, () => {
      for (const lie of lies) {
        it(`${String(lie.rule)}: ${lie.name}`, async () => {
          const log = lie.both === true ? 'both' : 'live';
          for (const [i, step] of lie.steps.entries()) {
            host.asked.length = 0;
            step(host);
            const last = i === lie.steps.length - 1;
            const once = !(last && lie.polls === true);
            const { code, told } = await watch({ log, once });
            if (!last) assert.equal(code, 0, said(told));
            else {
              assert.equal(code, 3, said(told));
              check(lie, told);
              await verify(told.violations.at(-1) ?? {});
            }
          }
        });
      }
    });
  }

  describe('the findings of the tests above', () => {
    it('are proven by the offline verifier for every rule that it can prove', function () {
      if (proven.size === 0) this.skip(); // skipped if this test runs alone
      assert.deepEqual(
        Object.keys(PROVABLE).filter((rule) => !proven.has(rule)),
        ['entry_size'],
      );
    });
  });

  describe('honest logs', () => {
    for (const { name, steps } of HONEST) {
      it(name, async () => {
        for (const step of steps) {
          step(host);
          const { code, told } = await watch({ once: true });
          assert.equal(code, 0, said(told));
        }
      });
    }
  });

  it('does not accuse a log of a note by an unknown key, or of unavailability', async () => {
    const [first] = HONEST;
    first?.steps[0]?.(host);
    host.interfere = (path) => (path.endsWith('checkpoint') ? Buffer.from('x\n1\nAA==\n\n') : null);
    assert.equal((await watch({ once: true })).code, 4);
    host.interfere = (path) => (path.includes('tile') ? 503 : null);
    assert.equal((await watch({ once: true })).code, 4);
    host.interfere = () => null;
    assert.equal((await watch({ once: true })).code, 0);
  });

  it('has a lie for every rule that an entry can break over HTTP', () => {
    const broken = new Set(LIES.flatMap(([, lies]) => lies.flatMap(({ rule }) => rule)));
    // An entry over 65,535 bytes does not fit into a bundle, whose lengths are u16.
    assert.deepEqual(
      RULES.filter((rule) => !broken.has(rule)),
      ['entry_size'],
    );
  });

  it('shares no code with the product', async () => {
    const files = (await readdir(import.meta.dirname, { recursive: true })).filter(
      (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
    );
    assert.ok(files.length >= 10);
    for (const file of files) {
      const text = await readFile(join(import.meta.dirname, file), 'utf8');
      for (const [, from = ''] of text.matchAll(/^(?:import|export) .*from '([^']+)'/gms)) {
        assert.match(from, /^(node:|\.\/|\.\.\/(bytes|host|story)\.ts$)/, file);
      }
    }
  });
});

/** The receipt keys that the entries of a log declare. */
function receiptKeys(entries: readonly Buffer[]): TrustedKey[] {
  return entries.flatMap((bytes) => {
    try {
      const { jwk, key } = JSON.parse(bytes.toString()) as { jwk?: JsonObject; key?: JsonObject };
      const own = jwkOfPublicKey(publicKeyOfJwk((jwk ?? key)!));
      return [{ kid: thumbprint(native, own), jwk: own }];
    } catch {
      return []; // an entry that declares no key
    }
  });
}

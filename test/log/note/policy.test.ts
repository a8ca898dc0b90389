// Policy files and their quorums (C2SP tlog-policy).

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { native } from '../../../log/crypto/native.ts';
import { LogError } from '../../../log/errors.ts';
import { parsePolicy, policyOf, countQuorum, quorumTime } from '../../../log/note/policy.ts';
import type { CosignerName, Policy } from '../../../log/note/policy.ts';
import { formatVkey, parseVkey } from '../../../log/note/note.ts';
import { seededSigner } from './seeded-signer.ts';

const refused = { name: 'LogError', code: 'policy_invalid' };
const keyOf = (name: string, seed: number, type: 1 | 4 = 4): string =>
  formatVkey(native, name, type, seededSigner(seed).publicKey);
const [x1, x2, x3, y1, y2, y3] = ['x1', 'x2', 'x3', 'y1', 'y2', 'y3'].map((name, i) =>
  keyOf(`${name}.example`, 10 + i),
) as [string, string, string, string, string, string];
const map = keyOf('monitor.example/map', 20);
const log = keyOf('log.example', 21, 1);

/** The example of C2SP tlog-policy, with tabs, comments and URLs. */
const NESTED = `# two organisations

log ${log} https://log.example/
witness X1 ${x1}\thttps://x1.example/
witness X2 ${x2}
  witness X3\t${x3}\t
witness monitor ${map}
group X-witnesses 2 X1 X2 X3
witness Y1 ${y1}
witness Y2 ${y2}
witness Y3 ${y3}
 # any of these
group Y-witnesses any Y1 Y2 Y3
group X-and-Y all X-witnesses Y-witnesses
quorum X-and-Y`;

const met = (policy: Policy, ...vkeys: string[]): boolean =>
  countQuorum(
    policy,
    vkeys.map((vkey) => parseVkey(native, vkey)),
  );
const flat = (rule: string): Policy =>
  parsePolicy(native, `witness a ${x1}\nwitness b ${x2}\nwitness c ${x3}\n${rule}\n`);

describe('witness policies', () => {
  it('reads logs, witnesses and URLs', () => {
    const { logs, witnesses } = parsePolicy(native, NESTED);
    assert.deepEqual(
      logs.map(({ name, url }) => [name, url]),
      [['log.example', 'https://log.example/']],
    );
    assert.deepEqual(
      witnesses.map(({ name }) => name),
      ['X1', 'X2', 'X3', 'monitor', 'Y1', 'Y2', 'Y3'],
    );
    assert.equal(witnesses[0]?.url, 'https://x1.example/');
    assert.equal(witnesses[0].verifier.name, 'x1.example');
    assert.equal('url' in (witnesses[1] ?? {}), false);
  });

  it('counts nested groups', () => {
    const policy = parsePolicy(native, NESTED);
    assert.equal(met(policy, x1, x3, y2), true);
    assert.equal(met(policy, x1, x2, x3, y1, y2, y3, map), true);
    assert.equal(met(policy, x1, x2, x3, map), false);
    assert.equal(met(policy, x1, y1, y2, y3), false);
    assert.equal(met(policy), false);
  });

  it('supports all, any, a number, a single witness and none', () => {
    assert.equal(met(flat('group g all a b c\nquorum g'), x1, x2), false);
    assert.equal(met(flat('group g all a b c\nquorum g'), x1, x2, x3), true);
    assert.equal(met(flat('group g any a b c\nquorum g'), x3), true);
    assert.equal(met(flat('group g 2 a b c\nquorum g'), x3, x1), true);
    assert.equal(met(flat('group g 2 a b c\nquorum g'), x3, y1), false);
    assert.equal(met(flat('quorum b'), x2), true);
    assert.equal(met(flat('quorum b'), x1, x3), false);
    assert.equal(met(flat('quorum none')), true);
    assert.equal(flat('quorum none').quorum, null);
  });

  it('counts a cosigner once, and only with its name and key id', () => {
    const policy = flat('group g 2 a b c\nquorum g');
    assert.equal(met(policy, x1, x1, x1), false);
    const first: CosignerName = parseVkey(native, x1);
    const second: CosignerName = parseVkey(native, x2);
    assert.equal(countQuorum(policy, [first, { ...second, key_id: 1 }]), false);
    assert.equal(countQuorum(policy, [first, { ...second, name: 'x1.example' }]), false);
  });

  it('gives the newest time at which enough had cosigned', () => {
    const at = (vkey: string, time_s: number) => ({ ...parseVkey(native, vkey), time_s });
    const policy = flat('group g 2 a b c\nquorum g');
    assert.equal(quorumTime(policy, [at(x1, 10), at(x2, 30), at(x3, 20)]), 20);
    assert.equal(quorumTime(policy, [at(x1, 10), at(x2, 10)]), 10);
    assert.equal(quorumTime(policy, [at(x1, 10), at(y1, 30)]), null);
    assert.equal(quorumTime(flat('quorum none'), [at(x1, 10)]), null);
    const nested = parsePolicy(native, NESTED);
    assert.equal(quorumTime(nested, [at(x1, 50), at(x2, 40), at(x3, 30), at(y1, 35)]), 35);
  });

  it('agrees with a count for k of n at any times', () => {
    const keys = [x1, x2, x3, y1, y2, y3];
    const times = fc.array(fc.option(fc.integer({ min: 1, max: 9 })), {
      minLength: 6,
      maxLength: 6,
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), times, (k, all) => {
        const cosigned = keys.flatMap((vkey, i) => {
          const time_s = all[i] ?? null;
          return time_s === null ? [] : [{ ...parseVkey(native, vkey), time_s }];
        });
        const newest = cosigned.map(({ time_s }) => time_s).sort((a, b) => b - a);
        const policy = policyOf(native, k, keys);
        assert.equal(quorumTime(policy, cosigned), newest[k - 1] ?? null);
        assert.equal(countQuorum(policy, cosigned), cosigned.length >= k);
      }),
    );
  });

  it('can be made from keys alone; monitors do not count', () => {
    const policy = policyOf(native, 2, [x1, map, x2]);
    assert.equal(policy.witnesses.length, 3);
    assert.equal(met(policy, x1, map), false);
    assert.equal(met(policy, x1, x2), true);
    assert.equal(policyOf(native, 0, [x1]).quorum, null);
    assert.throws(() => policyOf(native, 3, [x1, map, x2]), refused);
    assert.throws(() => policyOf(native, 1, [map]), refused);
    assert.throws(() => policyOf(native, -1, [x1]), refused);
    assert.throws(() => policyOf(native, 1, ['x1 y']), refused);
    assert.throws(() => policyOf(native, 1, [`${x1}\nquorum none`]), refused);
  });

  const W = `witness a ${x1}\nwitness b ${x2}\nwitness m ${map}\n`;
  const cases: readonly (readonly [string, string])[] = [
    ['no quorum', W],
    ['nothing', ''],
    ['two quorums', `${W}quorum a\nquorum b`],
    ['two quorums of none', 'quorum none\nquorum none'],
    ['a quorum without a name', 'quorum'],
    ['a quorum of two names', `${W}quorum a b`],
    ['a quorum defined below', `quorum a\n${W}`],
    ['a quorum of a monitor', `${W}quorum m`],
    ['a monitor in a group', `${W}group g any a m\nquorum g`],
    ['an unknown line', `${W}policy a\nquorum a`],
    ['an upper-case keyword', `${W}Quorum a`],
    ['a comment after a line', `${W}quorum a # the only one`],
    ['a witness twice', `${W}witness c ${x1}\nquorum a`],
    ['a key under another name', `${W}witness c ${keyOf('other.example', 10)}\nquorum a`],
    ['a log twice', `log ${log}\nlog ${log}\nquorum none`],
    ['a key of a log and a witness', `log ${keyOf('l', 10, 1)}\n${W}quorum a`],
    ['a name twice', `${W}witness a ${x3}\nquorum a`],
    ['a group named like a witness', `${W}group a any b\nquorum a`],
    ['a witness named none', `witness none ${x1}\nquorum none`],
    ['none in a group', `${W}group g any none a\nquorum g`],
    ['a member defined below', `group g any a\n${W}quorum g`],
    ['a group in itself', `${W}group g any a g\nquorum g`],
    ['a member twice', `${W}group g 2 a a\nquorum g`],
    ['a member of two groups', `${W}group g any a\ngroup h any a b\nquorum h`],
    ['a group without members', `${W}group g any\nquorum g`],
    ['a threshold of 0', `${W}group g 0 a b\nquorum g`],
    ['a threshold over the members', `${W}group g 3 a b\nquorum g`],
    ['a threshold with a leading zero', `${W}group g 01 a b\nquorum g`],
    ['a negative threshold', `${W}group g -1 a b\nquorum g`],
    ['a threshold in words', `${W}group g most a b\nquorum g`],
    ['a cosigner key as log', `log ${x1}\nquorum none`],
    ['a log key as witness', `witness l ${log}\nquorum none`],
    ['a broken vkey', `witness l ${x1}A\nquorum none`],
    ['a witness without a key', `witness l\nquorum none`],
    ['a witness with two urls', `witness l ${x1} a b\nquorum none`],
    ['a log with two urls', `log ${log} a b\nquorum none`],
    ['a carriage return', `${W}quorum a\r\n`],
    ['a form feed', `${W}quorum\fa`],
    ['a delete character', `${W}quorum a\u007f`],
    ['half a surrogate pair', `${W}# \ud800\nquorum a`],
    ['a very long file', `${W}quorum a\n${'#'.repeat(300_000)}`],
  ];
  for (const [name, text] of cases) {
    it(`refuses ${name}`, () => {
      assert.throws(() => parsePolicy(native, text), refused);
    });
  }

  it('reports the invalid line', () => {
    assert.throws(() => parsePolicy(native, `${W}\ngroup g 3 a b\nquorum g`), /line 5: threshold/);
  });

  it('accepts a no-break space as part of a name', () => {
    assert.equal(met(parsePolicy(native, `witness a\u00a0b ${x1}\nquorum a\u00a0b`), x1), true);
  });

  it('accepts 32 logs, witnesses and groups', () => {
    const lines = Array.from({ length: 32 }, (_, i) => [
      `log ${keyOf(`l${String(i)}`, 100 + i, 1)}`,
      `witness w${String(i)} ${keyOf(`w${String(i)}`, 140 + i)}`,
      `group g${String(i)} any w${String(i)}${i === 0 ? '' : ` g${String(i - 1)}`}`,
    ]);
    const policy = parsePolicy(native, [...lines.flat(), 'quorum g31'].join('\n'));
    assert.equal(policy.logs.length, 32);
    assert.equal(met(policy, keyOf('w0', 140)), true);
  });

  it('throws only LogError for any text', () => {
    const word = fc.constantFrom(
      'log',
      'witness',
      'group',
      'quorum',
      'none',
      'a',
      'b',
      '1',
      x1,
      x2,
    );
    const gap = fc.constantFrom(' ', ' ', ' ', '\n', '\t', '\n#');
    const words = fc.array(fc.tuple(word, gap), { maxLength: 30 });
    const any = fc.oneof(
      fc.string({ unit: 'binary' }),
      words.map((parts) => parts.flat().join('')),
    );
    fc.assert(
      fc.property(any, (text) => {
        try {
          parsePolicy(native, text);
        } catch (error) {
          if (!(error instanceof LogError)) throw error;
        }
      }),
      { numRuns: 1000 },
    );
  });
});

// The request to a witness (C2SP tlog-witness).

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { LogError } from '../../../log/errors.ts';
import { formatAddCheckpoint, parseAddCheckpoint } from '../../../log/note/checkpoint.ts';

const refused = { name: 'LogError', code: 'note_invalid' };
const NOTE =
  'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n— a b\n';
/** The proof lines of the example in C2SP tlog-witness. */
const LINES = [
  'PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=',
  'jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=',
  '5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=',
  '/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=',
];
const EXAMPLE = ['old 20852014', ...LINES, '', NOTE].join('\n');
const hashes = fc.array(fc.uint8Array({ minLength: 32, maxLength: 32 }), { maxLength: 63 });

describe('add-checkpoint', () => {
  it('has the lines of the example of C2SP tlog-witness', () => {
    const { old, path, note } = parseAddCheckpoint(EXAMPLE);
    assert.equal(old, 20852014);
    assert.deepEqual(
      path.map((hash) => Buffer.from(hash).toString('base64')),
      LINES,
    );
    assert.equal(note, NOTE);
    assert.equal(formatAddCheckpoint({ old, path, note }), EXAMPLE);
  });

  it('has no proof lines for a witness without a checkpoint', () => {
    assert.equal(formatAddCheckpoint({ old: 0, path: [], note: NOTE }), `old 0\n\n${NOTE}`);
  });

  it('is parsed to its parts, with the note unchanged', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), hashes, fc.string(), (old, path, note) => {
        const request = { old, path, note };
        assert.deepEqual(parseAddCheckpoint(formatAddCheckpoint(request)), request);
      }),
    );
  });

  for (const [what, body] of Object.entries({
    nothing: '',
    'no blank line': EXAMPLE.replaceAll('\n\n', '\n'),
    'no old line': EXAMPLE.slice(EXAMPLE.indexOf('\n') + 1),
    'a line before it': `\n${EXAMPLE}`,
    'a byte order mark': `\ufeff${EXAMPLE}`,
    'a leading zero': EXAMPLE.replace('old 2', 'old 02'),
    'a sign': EXAMPLE.replace('old 2', 'old -2'),
    'a size over 2^53': EXAMPLE.replace('old 20852014', 'old 9007199254740992'),
    'a second space': EXAMPLE.replace('old 2', 'old  2'),
    'carriage returns': EXAMPLE.replaceAll('\n', '\r\n'),
    'a short hash': EXAMPLE.replace(LINES[1]!, 'AAAA'),
    base64url: EXAMPLE.replace('5+p', '5-p'),
    'spare bits': EXAMPLE.replace('pkaw=', 'pkax='),
    'unpadded base64': EXAMPLE.replace('pkaw=', 'pkaw'),
    '64 hashes': formatAddCheckpoint({
      old: 1,
      path: Array.from({ length: 64 }, () => new Uint8Array(32)),
      note: NOTE,
    }),
  })) {
    it(`is refused with ${what}`, () => {
      assert.throws(() => parseAddCheckpoint(body), refused);
    });
  }

  it('throws only LogError, and accepts one encoding of each request', () => {
    const broken = fc
      .tuple(fc.nat(EXAMPLE.length), fc.nat(8), fc.string({ maxLength: 8 }))
      .map(([at, cut, put]) => EXAMPLE.slice(0, at) + put + EXAMPLE.slice(at + cut));
    fc.assert(
      fc.property(fc.oneof(broken, fc.string()), (body) => {
        try {
          assert.equal(formatAddCheckpoint(parseAddCheckpoint(body)), body);
        } catch (error) {
          assert.ok(error instanceof LogError && error.code === 'note_invalid', String(error));
        }
      }),
      { numRuns: 2000 },
    );
  });
});

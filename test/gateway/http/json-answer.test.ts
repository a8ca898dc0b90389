// Tests of gateway/http/json-answer.ts: pre-rendered JSON is sent unchanged, and parses to the value that it was made of.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { printAnswer } from '../../../gateway/http/json-answer.ts';
import { ReadyJson } from '../../../plugins/contract/index.ts';

const members = fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 4 }), fc.jsonValue(), {
  noNullPrototype: true,
});

describe('the JSON of an answer', () => {
  it('equals JSON.stringify for values without pre-rendered text', () => {
    fc.assert(
      fc.property(members, (answer) => {
        assert.equal(printAnswer(answer), JSON.stringify(answer));
      }),
    );
    const odd = {
      a: undefined,
      b: () => 1,
      c: Symbol('c'),
      d: NaN,
      e: new Date(0),
      f: [undefined],
    };
    assert.equal(printAnswer(odd), JSON.stringify(odd));
    assert.equal(printAnswer({ a: undefined }), '{}');
  });

  it('inserts a pre-rendered text at any depth, together with the other members', () => {
    const some = members.filter((made) => Object.keys(made).length > 0);
    fc.assert(
      fc.property(some, members, members, (own, more, others) => {
        const text = JSON.stringify(own);
        const rest = Object.fromEntries(Object.entries(more).filter(([name]) => !(name in own)));
        const ready = new ReadyJson(text, rest);
        const answer = printAnswer({ ...others, ready });
        assert.ok(answer.includes(text.slice(0, -1)));
        const whole = JSON.parse(JSON.stringify({ ...own, ...rest })) as unknown;
        const expected = { ...(JSON.parse(JSON.stringify(others)) as object), ready: whole };
        assert.deepEqual(JSON.parse(answer), expected);
        assert.deepEqual(JSON.parse(printAnswer(ready)), whole);
        assert.deepEqual(JSON.parse(printAnswer({ list: [ready] })), { list: [whole] });
        const within = new ReadyJson('{"outer":1}', { ready });
        assert.deepEqual(JSON.parse(printAnswer({ within })), {
          within: { outer: 1, ready: whole },
        });
      }),
    );
  });

  it('does not expose its internal form to a plugin that spreads it', () => {
    assert.deepEqual(Object.assign({}, new ReadyJson(`{"own":1}`, { more: 2 })), {});
  });
});

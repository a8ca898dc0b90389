// Tests of plugins/absence/document.ts.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { canonical } from '../../../log/encoding/canonical.ts';
import type { Json, JsonObject } from '../../../log/encoding/json.ts';
import { Wording } from '../../../plugins/absence/document.ts';

/** The value, deeply frozen. */
function frozen(value: Json): Json {
  if (typeof value === 'object' && value !== null) Object.values(value as object).forEach(frozen);
  return Object.freeze(value);
}

const wording = new Wording();

describe('the canonical text of an absence document', () => {
  it('is that of canonical JSON, whichever parts of it are shared', () => {
    const value = fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' });
    const names = fc.constantFrom('b', 'a', '10', '9', '', '\u00e4', '"', '__proto__x');
    const members = fc.dictionary(names, value, { noNullPrototype: true });
    fc.assert(
      fc.property(members, members, (own, shared) => {
        const part = shared as JsonObject;
        const document = { z: part, ...own, list: [part, own, part] } as JsonObject;
        assert.equal(wording.canonical(document), canonical(document));
        frozen(part);
        const again = { ...document, other: part };
        assert.equal(wording.canonical(again), canonical(again));
        assert.equal(wording.canonical(again), canonical(again), 'a second call returns the same');
      }),
    );
  });

  it('does not exist if a value has none', () => {
    for (const bad of [undefined, NaN, '\ud800', { a: undefined }]) {
      const document = { a: 1, b: bad } as unknown as JsonObject;
      assert.throws(() => wording.canonical(document), { code: 'json_invalid' });
    }
  });
});

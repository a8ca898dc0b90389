// Tests of plugins/contract/schemas.ts.

import assert from 'node:assert/strict';
import { Type } from 'typebox';
import { asSchema, entryTypeOf, receiptOf, shapeOf } from '../../plugins/contract/index.ts';
import type { JsonObject } from '../../plugins/contract/index.ts';
import { PLUGINS } from '../../plugins/index.ts';
import { answerCheck } from '../../tools/plugin-test/answer-check.ts';

describe('plugins/receipt-schema', () => {
  const members = Type.Object({ of: Type.Integer(), note: Type.Optional(Type.String()) });
  const type = { name: 'pdtr.a_word.v2', schema: asSchema(members), keys: [] };

  it('is named for the type, has its members and the shared ones, and keeps optional members optional', () => {
    const { $id, allOf } = receiptOf(type) as unknown as {
      readonly $id: string;
      readonly allOf: readonly { required: readonly string[]; properties: JsonObject }[];
    };
    const required = allOf.flatMap((part) => part.required);
    const properties = Object.assign({}, ...allOf.map((part) => part.properties)) as JsonObject;
    assert.equal($id, 'PdtrAWordV2Receipt');
    assert.deepEqual(properties['type'], { type: 'string', const: 'pdtr.a_word.v2' });
    assert.ok(required.includes('signature') && required.includes('of'));
    assert.ok('note' in properties && !required.includes('note'));
  });

  it('gives every type of every plugin a different name', () => {
    const types = PLUGINS.flatMap((plugin) => plugin.types);
    const names = types.map((one) => (receiptOf(one) as unknown as { readonly $id: string }).$id);
    assert.equal(new Set(names).size, types.length);
  });

  it('finds the type of a plugin by its name, and reports an unknown one', () => {
    const plugin = { name: 'pdtr', types: [type] };
    assert.equal(entryTypeOf(plugin, type.name), type);
    assert.throws(
      () => entryTypeOf(plugin, 'pdtr.none.v1'),
      /pdtr has no entry type pdtr\.none\.v1/,
    );
  });
});

describe('plugins/shape-of', () => {
  const document = { a: [{ b: 1 }, { b: 'x', c: null }], d: true, e: [] };

  it('accepts the document and similar ones, and nothing with another member', () => {
    const check = answerCheck(shapeOf(document));
    check(document);
    check({ a: [], d: false, e: [7] });
    for (const other of [
      { ...document, f: 1 },
      { ...document, d: 'true' },
      { ...document, a: [{ c: null }] },
      { a: document.a, d: true },
    ]) {
      assert.throws(() => check(other), JSON.stringify(other));
    }
  });
});

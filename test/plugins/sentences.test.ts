// The sentence about an entry, for every entry type of the product, made from statements as they are in logs.
// plugins/GUIDE.md, Entry types; gateway/API.md §1.4.

import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { GATEWAY_TYPES } from '../../gateway/routes/index.ts';
import { BUILTIN_TYPES } from '../../log/map/grammar.ts';
import type { JsonObject } from '../../log/index.ts';
import { MAX_SENTENCE, sentencesOf } from '../../plugins/contract/index.ts';
import type { AnyEntryType } from '../../plugins/contract/index.ts';
import { PLUGINS } from '../../plugins/index.ts';
import { SAID, SUBJECT, TENANT } from './statements.ts';

const TYPES: readonly AnyEntryType[] = [...GATEWAY_TYPES, ...PLUGINS.flatMap(({ types }) => types)];
const sentence = sentencesOf(TYPES);
const statementOf = (type: string, members: JsonObject): JsonObject => ({
  ...{ type, origin: 'log.example/log/live/1', tenant_ref: TENANT, ...members },
});

describe('the sentence of an entry', () => {
  const declared = new Map(TYPES.map((type) => [type.name, type]));
  const ajv = new Ajv2020({ strict: false });

  it('exists for every type that the product writes', () => {
    // All versions of a type have one sentence, unless the table above has one for the version.
    const base = (name: string): string => name.replace(/\.v\d+$/, '');
    const said = new Set(SAID.map(([type]) => base(type)));
    const names = [...BUILTIN_TYPES, ...declared.keys()];
    // These types share the sentence of `carriedType`.
    const carried = /^(?!succession).*\.carried\.v\d+$/;
    assert.deepEqual(
      names.filter((name) => !said.has(base(name)) && !carried.test(name)),
      [],
    );
    assert.ok(TYPES.every((type) => typeof type.sentence === 'function'));
  });

  for (const [type, members, expected] of SAID) {
    it(`of ${type}: ${expected}`, () => {
      const { schema } = declared.get(type) ?? {};
      if (schema !== undefined) {
        assert.ok(ajv.validate(schema, members), ajv.errorsText());
      }
      assert.equal(sentence(statementOf(type, members)), expected);
      assert.ok(expected.length <= MAX_SENTENCE);
    });
  }

  it('stays within its limit with names of any length, and keeps the text of its type', () => {
    const entity = 'a'.repeat(256);
    const surface = 'b'.repeat(64);
    for (const [type, members] of SAID) {
      const named = {
        ...members,
        ...('entity' in members ? { entity } : {}),
        ...('surface' in members ? { surface } : {}),
        ...(members['subject_key'] === SUBJECT.subject_key
          ? { subject_key: ['surface', entity, surface] }
          : {}),
      };
      const text = sentence(statementOf(type, named));
      assert.ok(text.length <= MAX_SENTENCE, text);
      assert.ok(!text.startsWith('An entry of the type'), type);
    }
  });

  it('is a general one for a type without one, or if its own one breaks the rules', () => {
    const statement = { type: 'notes.note.v1', entity: 'acme' };
    const general = 'An entry of the type notes.note.v1 of entity acme was logged.';
    const type = { name: 'notes.note.v1', schema: {}, keys: [] };
    const broken: readonly (() => unknown)[] = [
      () => 'Without a full stop',
      () => `${'long '.repeat(40)}.`,
      () => undefined,
      () => {
        throw new TypeError('no such member');
      },
    ];
    assert.equal(sentencesOf([])(statement), general);
    assert.equal(sentencesOf([type])(statement), general);
    for (const own of broken) {
      const given = { ...type, sentence: own as () => string };
      assert.equal(sentencesOf([given])(statement), general);
    }
  });
});

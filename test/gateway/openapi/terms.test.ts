// Every member of a request, an answer or a message has a description in the OpenAPI document, and so has every
// parameter; catalogs/terms.json describes nothing that the document lacks.

import assert from 'node:assert/strict';
import type { Json, JsonObject } from '../../../plugins/contract/index.ts';
import { isJsonObject, readCatalog } from '../../../plugins/contract/index.ts';
import { run } from '../running.ts';
import { referred } from './referred.ts';

/** A member or a parameter, and its place. */
interface Member {
  readonly name: string;
  readonly at: string;
  readonly schema: JsonObject;
}

/** Every member of every schema, and every parameter, at any depth. */
function* membersOf(value: Json, at = ''): Generator<Member> {
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) yield* membersOf(item as Json, `${at}/${String(i)}`);
  }
  if (!isJsonObject(value)) return;
  const { properties, in: place, name } = value;
  if (typeof place === 'string' && typeof name === 'string') yield { name, at, schema: value };
  if (isJsonObject(properties)) {
    for (const [member, schema] of Object.entries(properties)) {
      if (isJsonObject(schema)) yield { name: member, at, schema };
    }
  }
  for (const [word, inner] of Object.entries(value)) {
    if (!EXAMPLES.has(word)) yield* membersOf(inner, `${at}/${word}`);
  }
}

const EXAMPLES = new Set(['example', 'examples', 'default', 'enum', 'const']);

describe('members in the OpenAPI document', () => {
  it('are all described, and no other members are', async () => {
    const running = await run();
    try {
      const document = (await running.get('/openapi.json')).json as unknown as JsonObject;
      const { paths, webhooks, components } = document;
      const members = [...membersOf({ paths, webhooks, components } as JsonObject)];
      assert.ok(members.length > 3000);
      const plain = members.filter(({ schema }) => {
        const { description } = { ...referred(document, schema), ...schema };
        return typeof description !== 'string' || description.length < 4;
      });
      const lines = new Set(plain.map(({ at, name }) => `${at} ${name}`));
      assert.deepEqual([...lines].slice(0, 20), []);
      const names = new Set(members.map(({ name }) => name));
      const { terms } = readCatalog('terms.json') as { readonly terms: JsonObject };
      const unused = Object.keys(terms).filter((term) => {
        const [first = '', name = first] = term.split('.');
        return !names.has(name === '*' ? first : name);
      });
      assert.deepEqual(unused, []);
    } finally {
      await running.close();
    }
  });
});

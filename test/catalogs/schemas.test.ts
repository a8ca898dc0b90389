// Each catalog of catalogs/ is valid by its schema, and the schema refuses other members.

import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { catalogUrl, readCatalog } from '../../plugins/contract/index.ts';

const names = readdirSync(catalogUrl(''))
  .filter((file) => file.endsWith('.json') && !file.endsWith('.schema.json'))
  .map((file) => file.slice(0, -'.json'.length));

describe('catalogs/', () => {
  it('has a schema for each catalog', () => {
    const alone = names.filter((name) => !existsSync(catalogUrl(`${name}.schema.json`)));
    assert.deepEqual(alone, []);
  });

  for (const name of names) {
    it(`${name}.json is valid, and is refused with another member or without its schema`, () => {
      const ajv = new Ajv2020({ strict: true, strictRequired: false });
      const validate = ajv.compile(readCatalog(`${name}.schema.json`) as object);
      const catalog = readCatalog(`${name}.json`) as object;
      assert.equal(validate(catalog), true, JSON.stringify(validate.errors));
      assert.equal(validate({ ...catalog, more: 1 }), false);
      const { schema: _, ...less } = catalog as { readonly schema: string };
      assert.equal(validate(less), false);
    });
  }
});

// The catalog of the layer, and its illustrative arithmetic.

import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { readCatalog } from '../../../plugins/contract/index.ts';
import { run } from '../../gateway/running.ts';

describe('the pdtr catalog', () => {
  it('matches its schema, and computes an illustrative total', async () => {
    const gateway = await run();
    after(() => gateway.close());
    const ajv = new Ajv2020({ strict: true, strictRequired: false });
    const validate = ajv.compile(readCatalog('pdtr.schema.json') as object);
    const written = readCatalog('pdtr.json') as object;
    assert.equal(validate(written), true, JSON.stringify(validate.errors));
    assert.equal(validate({ ...written, more: 1 }), false);
    const { json: catalog } = await gateway.get('/api/v1/pdtr/catalog');
    assert.deepEqual(
      [catalog.schema, catalog.toll_usd, catalog.rails.length],
      ['svc-pdtr-v1', 0.1, 3],
    );
    const { json } = await gateway.get('/api/v1/pdtr/scale?entities=2&days=1');
    assert.equal(json.illustrative, true);
    assert.equal(json.results.at(-1).value, 4);
  });
});

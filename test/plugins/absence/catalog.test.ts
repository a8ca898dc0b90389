// The catalogs of absence and astl: equal to the tables of the interface, and valid by their schemas.

import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { readCatalog } from '../../../plugins/contract/index.ts';
import { serveSurfaces } from '../astl/surfaces.ts';
import type { Body, Surfaces } from '../astl/surfaces.ts';

describe('the catalogs of absence and astl', () => {
  let served: Surfaces;
  let absence: Body;
  let astl: Body;
  before(async () => {
    served = await serveSurfaces();
    absence = (await served.gateway.get('/api/v1/absence/catalog')).json;
    astl = (await served.gateway.get('/api/v1/astl/catalog')).json;
  });
  after(() => served.close());

  it('are valid by their schemas, which allow no other member', () => {
    for (const name of ['absence', 'astl']) {
      const ajv = new Ajv2020({ strict: true, strictRequired: false });
      const validate = ajv.compile(readCatalog(`${name}.schema.json`) as object);
      const catalog = readCatalog(`${name}.json`) as object;
      assert.equal(validate(catalog), true, JSON.stringify(validate.errors));
      assert.equal(validate({ ...catalog, more: 1 }), false);
    }
  });

  it('have the schema values, the layers and the tolls of the interface', () => {
    assert.equal(absence.schema, 'svc-absence-exchange-v1');
    assert.deepEqual(absence.layer, { id: 'absence', order: 7, role: 'Possibility surface' });
    assert.deepEqual(absence.toll_inputs_usd, { witness: 0.05 });
    assert.equal(astl.schema, 'svc-astl-v1');
    assert.deepEqual(astl.layer, { id: 'astl', order: 11, role: 'Transparency log' });
    assert.deepEqual(astl.toll_inputs_usd, { publish: 0.25 });
    assert.deepEqual(absence.units, {
      registry: 'attempt_surface_paths x entity',
      witness: 'declared_surface x non_membership_witness',
    });
  });

  it('have the presets of the interface, surface by surface', () => {
    assert.deepEqual(absence.presets, {
      agentic: [
        'tool_invoke',
        'payment_authorize',
        'policy_bind',
        'content_publish',
        'data_export',
      ],
      hiring: [
        ...['candidate_screen', 'offer_extend', 'background_pull', 'adverse_action', 'policy_bind'],
      ],
      insurance: [
        ...['policy_bind', 'policy_renewal', 'premium_commit', 'endorsement_bind'],
        'coverage_extension',
      ],
    });
  });

  it('name the four primitives, and paths that this service answers', () => {
    assert.deepEqual(
      absence.primitives.map(({ name }: Body) => name),
      ['Apoha Gate', 'Nyquist Floor', 'Absence Ledger', 'Type III spoliation'],
    );
    const routes = served.gateway.gateway.routes();
    for (const { method, path, url } of [
      ...Object.values<Body>(absence.apis),
      ...Object.values<Body>(astl.apis),
    ]) {
      assert.ok(
        routes.some((route) => route.method === method && route.path === path),
        path,
      );
      assert.ok(url.endsWith(path));
    }
  });

  it('are scaled by the values of a query', async () => {
    const { json } = await served.gateway.get('/api/v1/absence/scale?entities=2&days=1');
    assert.equal(json.illustrative, true);
    assert.deepEqual(
      json.results.map(({ name, value }: Body) => [name, value]),
      [
        ['registry_units', 10],
        ['witness_units', 10],
        ['witness_usd', 0.5],
      ],
    );
    const total = await served.gateway.get('/api/v1/astl/scale?heartbeats_per_surface=10');
    assert.equal(total.json.results.at(-1).value, 6000);
    const wrong = await served.gateway.get('/api/v1/astl/scale?entities=many');
    assert.equal(wrong.status, 400);
    assert.equal(wrong.json.error.param, 'entities');
  });
});

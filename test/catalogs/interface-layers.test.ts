// The layers, their stack and the foundry: every number, path and order in the tables of the interface is in the
// served catalogs.

import assert from 'node:assert/strict';
import { readCatalog } from '../../plugins/contract/index.ts';
import type { Body } from '../support/body.ts';
import { served, URL_OF } from './served.ts';
import { copiedSections, list, rows, section } from './tables.ts';

describe('the catalogs match the interface', () => {
  it('orn: apis, primitives and inputs', () => {
    const orn = served('orn');
    const { prose } = section('Catalog: ORN');
    for (const { name } of orn.primitives) assert.ok(prose.includes(name as string), name);
    assert.equal(orn.primitives.length, 4);
    const named = /inputs: (.*)\.$/.exec(prose)?.[1];
    const inputs = list(named).map((text) => /^(\w+)(?: \(([\d.]+)\))?$/.exec(text) ?? []);
    assert.deepEqual(
      Object.keys(orn.scale.inputs as object),
      inputs.map(([, name]) => name),
    );
    for (const [, name = '', price] of inputs)
      if (price !== undefined) assert.equal(orn.scale.inputs[name].default, Number(price), name);
    assert.deepEqual(orn.toll_inputs_usd, { sharp: 1.2, ga_declare: 25 });
    for (const api of ['catalog', 'declare', 'scale', 'sharp'])
      assert.equal(orn.apis[api].path, `/api/v1/orn/${api}`);
    assert.equal(orn.layer.order, 6);
  });

  it('absence, astl and pdtr: presets and prices', () => {
    const absence = served('absence');
    assert.deepEqual(
      absence.presets,
      Object.fromEntries(
        rows('Catalog: absence').map(({ Preset, Surfaces }) => [Preset, list(Surfaces)]),
      ),
    );
    const price = (start: string): number =>
      Number(/(?:input:|toll_usd) ([\d.]+\d)/.exec(section(start).prose)?.[1]);
    assert.equal(absence.toll_inputs_usd.witness, price('Catalog: absence'));
    assert.equal(served('astl').toll_inputs_usd.publish, price('Catalog: ASTL'));
    assert.equal(served('pdtr').toll_usd, price('Catalog: PDTR'));
    const order = (start: string): number =>
      Number(
        /stack layer (\d+)/.exec(
          Object.keys(copiedSections).find((heading) => heading.startsWith(start)) ?? '',
        )?.[1],
      );
    for (const [name, start] of [
      ['absence', 'Catalog: absence'],
      ['astl', 'Catalog: ASTL'],
      ['pdtr', 'Catalog: PDTR'],
    ] as const)
      assert.equal(served(name).layer.order, order(start), name);
  });

  it('require-receipt: status, header, badge, manifest and price', () => {
    const catalog = served('require-receipt');
    const { prose } = section('Catalog: Require-Receipt');
    assert.ok(prose.includes(`Status code ${catalog.status_code as string};`));
    assert.ok(prose.includes(`header ${catalog.header as string};`));
    assert.ok(prose.includes(`badge '${catalog.conformance_badge as string}'.`));
    assert.ok(prose.includes(`Manifest at ${catalog.apis.manifest.path as string};`));
    assert.ok(prose.includes(`text at ${catalog.apis.standard.path as string}.`));
    for (const { part } of catalog.conformance_requires) assert.ok(prose.includes(`a ${part}`));
    const price = Number(/toll input: ([\d.]+\d)/.exec(prose)?.[1]);
    assert.equal(catalog.scale.inputs.challenge_toll_usd.default, price);
  });

  it('stack: eleven layers with every field, fees, chokepoint and formula', () => {
    const stack = served('stack');
    const fields = list(/each with (.*?):/.exec(section('Stack catalog').prose)?.[1]);
    const expected = rows('Stack catalog');
    assert.equal(expected.length, 11);
    for (const [at, row] of expected.entries()) {
      const layer = stack.layers[at];
      assert.deepEqual(Object.keys(layer as object).sort(), [...fields].sort());
      assert.equal(String(layer.order), row['order']);
      assert.equal(layer.id, row['id']);
      assert.equal(layer.role, row['role']);
      assert.equal(layer.api, row['catalog api']);
      assert.equal(layer.url, URL_OF(layer.path as string));
      assert.equal(layer.catalog_url, URL_OF(layer.api as string));
    }
    assert.equal(stack.layers.length, expected.length);
    const { prose } = section('Stack catalog');
    const { platform_annual_usd: annual, mandate_overage_usd: overage } = stack.signal_fees;
    const unit = `platform fee of ${annual} USD per year plus ${overage} USD per mandate overage`;
    assert.ok(prose.includes(unit));
    assert.equal(stack.layers[4].unit, unit);
    assert.ok(
      prose.includes(
        `is the ${stack.chokepoint.label as string} (${(stack.chokepoint.acts as string[]).join(', ')})`,
      ),
    );
    assert.equal(
      stack.revenue_formula,
      stack.layers.map(({ id }: Body) => id as string).join(' + '),
    );
  });

  it('the catalog of each layer has its place in the stack', () => {
    for (const { id, order, role } of served('stack').layers) {
      const file = (id as string).replace('_', '-');
      assert.deepEqual((readCatalog(`${file}.json`) as Body).layer, { id, order, role });
    }
  });

  it('both attach flows, in order', () => {
    const stack = served('stack');
    assert.deepEqual(
      stack.attach_flow.map((step: Body) => [String(step.step), step.layer, step.action]),
      section('Attach flow of the stack').tables[0]?.rows,
    );
    const { attach_flow } = served('foundry');
    assert.deepEqual(
      attach_flow.map((s: Body) => [String(s.step), s.layer, `${s.action}; ${s.outcome}`]),
      section('Attach flow of the foundry').tables[0]?.rows,
    );
    assert.deepEqual(stack.foundry_attach_flow, attach_flow);
  });

  it('foundry: layers, sources, custody, templates, categories, settlements', () => {
    const foundry = served('foundry');
    const { prose } = section('Foundry catalog');
    for (const [at, { Layer, id, api }] of rows('Foundry catalog').entries()) {
      const layer = foundry.layers[at];
      assert.deepEqual([String(layer.layer), layer.id], [Layer, id]);
      const feed = layer.feed === undefined ? '' : ` (feed at ${layer.feed as string})`;
      assert.equal(`${layer.api as string}${feed}`, api);
    }
    assert.equal(foundry.layers.length, 10);
    assert.deepEqual(
      foundry.oracle.sources,
      rows('Foundry catalog', 1).map(({ source_id, latency_ms, weight }) => ({
        source_id,
        latency_ms: Number(latency_ms),
        weight: Number(weight),
      })),
    );
    assert.ok(prose.includes(`method: ${foundry.oracle.description as string}`));
    assert.ok(
      prose.includes(`event_type values: ${(foundry.custody.event_types as string[]).join(', ')}.`),
    );
    const expected = rows('Foundry catalog', 2);
    assert.equal(foundry.triggers.templates.length, expected.length);
    for (const [at, row] of expected.entries()) {
      const template = foundry.triggers.templates[at];
      assert.equal(template.template_id, row['template_id']);
      assert.equal(template.default_action, row['default_action']);
      assert.deepEqual(template.callable_actions, list(row['callable_actions']));
      assert.equal(template.exposure_ceiling_usd, Number(row['exposure_ceiling_usd']));
      assert.equal(template.fee_bps, Number(row['fee_bps']));
      assert.ok(template.regulatory_hooks.length > 0);
    }
    const categories = foundry.conformity.categories.map((c: Body) => c.category_id as string);
    assert.ok(prose.includes(`category_id values: ${categories.join(', ')}.`));
    for (const category of foundry.conformity.categories) {
      assert.ok(category.label.length > 0 && category.article_12.length > 0);
      assert.ok(category.risk_controls.length > 0);
    }
    assert.deepEqual(foundry.recent_settlements, []);
  });

  it('signal: the fees of the stack and the templates of the foundry', () => {
    const signal = served('signal');
    assert.deepEqual(signal.fees, { platform_annual_usd: 125000, mandate_overage_usd: 3 });
    assert.deepEqual(signal.trigger_templates, served('foundry').triggers.templates);
  });
});

// Every number, path and schema value of the interface's tables, in the catalogs as they are served. The tables
// are read from ../shared/spec/interface.md where it is, and from the copy beside this file everywhere.

import assert from 'node:assert/strict';
import { readCatalog } from '../../plugins/catalog.ts';
import { servedCatalog } from '../../plugins/served-catalog.ts';
import { copiedSections, interfaceSections, rowsOf } from './tables.ts';
import type { Section } from './tables.ts';
import type { Body } from '../support/body.ts';

const URL_OF = (path: string): string => `https://log.example${path}`;

function served(name: string): Body {
  return servedCatalog({ catalog: readCatalog, url: URL_OF }, `${name}.json`, `/of/${name}`);
}

describe('the copy of the interface (skipped where ../shared/spec is missing)', () => {
  it('says what interface.md says', function () {
    const sections = interfaceSections();
    if (sections === null) this.skip(); // the tables are read in place
    assert.deepEqual(copiedSections(), sections);
  });
});

describe('the catalogs, as the interface has them', () => {
  const sections = copiedSections();
  const section = (start: string): Section => {
    const found = Object.entries(sections).find(([heading]) => heading.startsWith(start));
    if (found === undefined) throw new Error(`the interface has no ${start}`);
    return found[1];
  };
  const rows = (start: string, at = 0) => rowsOf(section(start).tables[at]);
  const list = (text: string | undefined): string[] => (text ?? '').split(', ');

  it('have the schema values of Versioning, and no others', () => {
    const values = /carry a schema field .*?: (.*?)\. \d/.exec(section('Versioning').prose)?.[1];
    const ours = [
      ...['clear', 'clearing', 'nap', 'orn', 'absence', 'astl', 'pdtr', 'require-receipt'],
      ...['issuer-pays', 'relay', 'stack', 'foundry'],
    ];
    assert.deepEqual(
      ours.map((name) => (readCatalog(`${name}.json`) as Body).schema as string),
      list(values),
    );
  });

  it('tolls: 26 keys in their order, to the cent', () => {
    const expected = rows('Catalog: tolls').map(({ Key, USD }) => [Key, Number(USD)]);
    assert.equal(expected.length, 26);
    assert.deepEqual(Object.entries(served('clear').tolls_usd as object), expected);
  });

  it('clear: tiers, premium SKUs, verticals and paths', () => {
    const clear = served('clear');
    assert.deepEqual(
      clear.bps_tiers,
      rows('Catalog: clear').map(({ id, bps, 'upper bound (USD per month)': bound }) => ({
        id,
        bps: Number(bps),
        upper_bound_usd_per_month: bound === 'null (unbounded)' ? null : Number(bound),
      })),
    );
    const { prose } = section('Catalog: clear');
    assert.ok(prose.includes(`Pricing model: ${clear.pricing_model as string}.`));
    assert.ok(prose.includes(`toll): ${(clear.nap_skus as string[]).join(', ')}.`));
    assert.deepEqual(
      clear.verticals,
      rows('Catalog: clear', 1).map((row) => ({
        id: row['Vertical'],
        capital_commitment: list(row['Capital commitment']),
        endpoint: row['Endpoint'],
        embed_path: row['Embed path'],
      })),
    );
    assert.deepEqual(Object.keys(clear.paths as object), [
      ...['exposure', 'network', 'usage', 'dashboard', 'agent_actions_manifest'],
      ...['x402_discovery', 'clearing_checkpoint', 'credits_catalog'],
    ]);
    assert.equal(clear.paths.dashboard, '/clear/dashboard');
  });

  it('nap: every SKU with its endpoint and toll, and the inputs of its scale', () => {
    const nap = served('nap');
    const { tolls_usd } = served('clear');
    for (const [at, row] of rows('Catalog: NAP').entries()) {
      const sku = nap.skus[at];
      assert.equal(sku.sku, row['sku']);
      assert.equal(sku.toll_usd, Number(row['Toll USD']));
      assert.equal(sku.toll_usd, tolls_usd[sku.sku as string]);
      assert.equal(sku.nap, true);
      const [, endpoint, note] = /^(\w+ \S+?)(?: \((.*)\))?$/.exec(row['Endpoint'] ?? '') ?? [];
      assert.equal(sku.endpoint, endpoint);
      if (sku.outcomes !== undefined) assert.equal(note, `${sku.outcomes.join(' or ')} outcome`);
      else if (sku.maps_to !== undefined)
        assert.equal(note, `legacy alias; maps to ${sku.maps_to}`);
      else assert.equal(note, undefined);
    }
    assert.equal(nap.skus.length, rows('Catalog: NAP').length);
    const named = /inputs named (.*)\.$/.exec(section('Catalog: NAP').prose)?.[1];
    assert.deepEqual(Object.keys(nap.scale.inputs as object), list(named));
  });

  it('clearing: the windows and the fields, none of them ready by itself', () => {
    const clearing = served('clearing');
    const fields = ['id', 'interval', 'weeks', 'price_usd', 'gam_credits_usd', 'metadata_sku'];
    const skus = clearing.skus as readonly Record<string, unknown>[];
    assert.deepEqual(
      skus.map((sku) => fields.map((field) => String(sku[field]))),
      rows('Catalog: proof').map((row) => fields.map((field) => row[field])),
    );
    const { prose } = section('Catalog: proof');
    const [, top, each] = /fields: (.*?)\. Each sku has: (.*?), and a payment/.exec(prose) ?? [];
    for (const field of list(top)) assert.ok(field in clearing, field);
    for (const sku of skus) for (const field of list(each)) assert.ok(field in sku, field);
    assert.equal(clearing.total_count, skus.length);
    assert.deepEqual([clearing.all_ready, clearing.ready_count], [false, 0]);
    assert.equal(clearing.network_checkpoint, URL_OF('/api/v1/clearing/network/latest.json'));
    assert.equal(clearing.catalog_url, URL_OF('/api/v1/clearing/catalog'));
  });

  it('credits: what the windows grant', () => {
    const fields = ['weeks', 'price_usd', 'gam_credits_usd'];
    const granted = (rowOf: Body) => fields.map((field) => rowOf[field] as number);
    assert.deepEqual(
      served('credits').grants.map((grant: Body) => [grant.window, ...granted(grant)]),
      served('clearing').skus.map((sku: Body) => [sku.id, ...granted(sku)]),
    );
  });

  it('issuer-pays: the tiers, nine rankings, and whose word the grade is', () => {
    const catalog = served('issuer-pays');
    const { prose } = section('Catalog: issuer-pays');
    const tiers = Object.entries(catalog.tiers as Record<string, number>);
    assert.ok(prose.includes(`Tiers (USD): ${tiers.map((tier) => tier.join(' ')).join(', ')}.`));
    assert.ok(prose.includes(`Stack layer ${catalog.layer.order as string}.`));
    assert.ok(prose.includes(`rankings_count is ${catalog.rankings_count as string}.`));
    assert.ok(prose.includes(`own grade is ${catalog.operator_grade as string}.`));
    assert.equal(catalog.operator_grade_basis, 'self-assigned');
    const { rankings, grade, grade_basis } = readCatalog('scoreboard.json') as Body;
    assert.equal(rankings.length, catalog.rankings_count);
    assert.deepEqual([grade, grade_basis], ['A', 'self-assigned']);
    for (const unit of Object.keys(catalog.units as object)) assert.ok(prose.includes(unit), unit);
    assert.ok(prose.includes(`carrier_seat (${catalog.units.carrier_seat as string})`));
    assert.ok(prose.includes(`vendor_listing (${catalog.units.vendor_listing as string})`));
  });

  it('relay: prices, shares, patterns and nine targets', () => {
    const relay = served('relay');
    const field = new Map(
      rows('Catalog: partner relay').map(({ Field = '', Value = '' }) => [Field, Value]),
    );
    const wholesale = Object.entries(relay.wholesale as Record<string, number>);
    assert.equal(wholesale.map((price) => price.join(' ')).join(', '), field.get('wholesale'));
    const { monitor_usd: monitor, sprint_usd: sprint } = relay.retail_band;
    assert.equal(
      `monitor ${monitor.from} to ${monitor.to} USD; sprint ${sprint.from} to ${sprint.to} USD`,
      field.get('retail_band'),
    );
    const { partner_retail_spread_pct: spread, referred_tenant_toll_bps: bps } = relay.rev_share;
    assert.equal(
      `partner_retail_spread_pct ${spread}; referred_tenant_toll_bps ${bps.toFixed(1)} (future)`,
      field.get('rev_share'),
    );
    assert.equal(relay.rev_share.referred_tenant_toll_status, 'future');
    for (const name of ['enroll_api', 'network_api', 'status_pattern'])
      assert.equal(relay[name], field.get(name)?.replace('{base_url}', URL_OF('')), name);
    assert.deepEqual(
      relay.track_targets,
      rows('Catalog: partner relay', 1).map(({ target, path }) => ({
        target,
        path,
        url: URL_OF(`/go/{partner}/${String(target)}`),
      })),
    );
  });

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
        /stack layer (\d+)/.exec(Object.keys(sections).find((h) => h.startsWith(start)) ?? '')?.[1],
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

  it('each layer by itself has the place that the stack gives it', () => {
    for (const { id, order, role } of served('stack').layers) {
      const file = (id as string).replace('_', '-');
      assert.deepEqual((readCatalog(`${file}.json`) as Body).layer, { id, order, role });
    }
  });

  it('both attach flows, in their order', () => {
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

// The schema values of the interface and every price in its tables are in the served catalogs. The tables are read
// from a copy in this folder, which is compared with the document of the interface if that is present.

import assert from 'node:assert/strict';
import { readCatalog } from '../../plugins/contract/index.ts';
import type { Body } from '../support/body.ts';
import { served, URL_OF } from './served.ts';
import { copiedSections, interfaceSections, list, rows, section } from './tables.ts';

describe('the copy of the interface (skipped if ../shared/spec is missing)', () => {
  it('is the same as the document of the interface', function () {
    const sections = interfaceSections();
    if (sections === null) this.skip(); // the tables are read in place
    assert.deepEqual(copiedSections, sections);
  });
});

describe('the catalogs match the interface', () => {
  it('have the schema values of section Versioning, and no others', () => {
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

  it('tolls: 26 keys in order, with exact prices', () => {
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

  it('clearing: the windows and the fields, with no window ready', () => {
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

  it('credits: the grant of each window', () => {
    const fields = ['weeks', 'price_usd', 'gam_credits_usd'];
    const granted = (rowOf: Body) => fields.map((field) => rowOf[field] as number);
    assert.deepEqual(
      served('credits').grants.map((grant: Body) => [grant.window, ...granted(grant)]),
      served('clearing').skus.map((sku: Body) => [sku.id, ...granted(sku)]),
    );
  });

  it('issuer-pays: the tiers, nine rankings, and the basis of the grade', () => {
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
});

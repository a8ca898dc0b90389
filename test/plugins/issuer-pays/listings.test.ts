// Listings on the index: which members are public, which tenant has a slug and for how long, and where listings are
// shown. gateway/API.md §15.1.

import assert from 'node:assert/strict';
import { ok, run } from '../../gateway/running.ts';
import type { Answer, Running } from '../../gateway/running.ts';
import type { Body } from '../../support/body.ts';

const PATH = '/api/v1/issuer-pays/listings';
const SCOREBOARD = '/standards/issuer-pays-scoreboard.json';
const YEAR_MS = 365 * 86_400_000;
const ZEBRA = { issuer: 'Zebra Receipts', domain: 'receipts.zebra.example' };

describe('listings', () => {
  let running: Running;
  let rival: string;
  before(async () => {
    running = await run();
    rival = (await running.gateway.tenants.issue({ tenant: 'rival', kind: 'live' })).key;
  });
  after(() => running.close());

  const list = (body: object, key = running.live): Promise<Answer> =>
    running.post(PATH, body, { key });
  const refusal = async (body: object, key = running.live): Promise<unknown[]> => {
    const { status, json } = await list(body, key);
    return [status, json.error?.code, json.error?.param];
  };

  const logged = (): number => {
    const log = running.gateway.logs.live;
    const entries = Array.from({ length: log.size() }, (_, index) => log.entry(index) ?? '');
    return entries.filter((entry) => entry.includes('"type":"issuer-pays.listing.v1"')).length;
  };

  it('are entries with the price of the catalog, and names stay out of the log', async () => {
    const listed = ok(await list({ ...ZEBRA, contact: 'zoe@zebra.example' }));
    const { receipt } = listed;
    assert.equal(receipt.type, 'issuer-pays.listing.v1');
    assert.deepEqual(
      [listed.issuer, listed.domain, listed.price_usd, listed.listing_id],
      ['zebra-receipts', ZEBRA.domain, 4999, receipt.entry_id],
    );
    assert.equal(receipt.price_micro_usd, 4_999_000_000);
    assert.equal(receipt.toll, undefined, 'no toll');
    assert.equal(listed.valid_until_ms, Number(receipt.issued_at_ms) + YEAR_MS);
    assert.equal(receipt.disclosures.issuer.value, ZEBRA.issuer);
    assert.doesNotMatch(
      running.gateway.logs.live.entry(receipt.index as number) ?? '',
      /Zebra Receipts|zoe@/,
    );
    const again = ok(await list(ZEBRA));
    assert.equal(again.listing_id, listed.listing_id, 'the same listing returns the same entry');
    const moved = ok(await list({ ...ZEBRA, domain: 'zebra.example' }));
    assert.notEqual(moved.listing_id, listed.listing_id);
  });

  it('belong to their tenant until they expire', async () => {
    const mine = { issuer: 'Quagga', domain: 'quagga.example' };
    const { listing_id } = ok(await list(mine));
    const before = logged();
    assert.deepEqual(await refusal(mine, rival), [403, 'tenant_forbidden', 'issuer']);
    assert.equal(logged(), before);
    assert.equal((await running.post(PATH, mine)).status, 401);
    running.clock.pass(YEAR_MS + 1000);
    const { data } = ok(await running.get(PATH)) as { data: Body[] };
    assert.deepEqual(data, [], 'no listing is in force');
    const theirs = ok(await list(mine, rival));
    assert.notEqual(theirs.listing_id, listing_id);
  });

  it('are shown ungraded beside the nine rankings, and in pages ordered by slug', async () => {
    for (const issuer of ['Addax', 'Bongo', 'Civet']) {
      ok(await list({ issuer, domain: `${issuer.toLowerCase()}.example` }));
    }
    const { rankings_count, rankings, listings } = ok(await running.get(SCOREBOARD));
    assert.deepEqual([rankings_count, rankings.length], [9, 9]);
    assert.deepEqual(
      listings.map(({ issuer, grade, grade_basis }: Body) => [issuer, grade, grade_basis]),
      ['addax', 'bongo', 'civet', 'quagga'].map((issuer) => [issuer, null, 'not assessed']),
    );
    const { text } = await running.get(`${SCOREBOARD}?format=txt`);
    assert.match(text, /addax, addax\.example \(not assessed\)/);
    const pages: string[][] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const after: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const page: Body = ok(await running.get(`${PATH}?limit=3${after}`));
      pages.push(page.data.map(({ issuer }: Body) => issuer as string));
      assert.equal(page.has_more, page.next_cursor !== null);
      cursor = page.next_cursor as string | null;
    }
    assert.deepEqual(pages, [['addax', 'bongo', 'civet'], ['quagga']]);
    const { data } = ok(await running.get(`${PATH}?log=sandbox`)) as { data: Body[] };
    assert.deepEqual(data, []);
  });

  it('require a name with letters and a DNS domain', async () => {
    const wrong = [
      ...['', 'example', 'Zebra.example', 'https://zebra.example', 'zebra.example/', 'a..example'],
      ...['-a.example', 'a-.example', `${'a'.repeat(64)}.example`, '127.0.0.1', 'zebra.example:1'],
    ];
    for (const domain of wrong) {
      const found = await refusal({ ...ZEBRA, domain });
      assert.deepEqual(found, [400, 'parameter_invalid', 'domain'], domain);
    }
    const { domain } = ZEBRA;
    assert.deepEqual(await refusal({ domain }), [400, 'parameter_missing', 'issuer']);
    assert.deepEqual(await refusal({ issuer: '…', domain }), [400, 'parameter_invalid', 'issuer']);
    assert.deepEqual(await refusal({ ...ZEBRA, price_usd: 1 }), [
      ...[400, 'parameter_unknown', 'price_usd'],
    ]);
  });
});

// Lookups with proof for every kind of chain, counts by seq, and questions as of an older size. log/FORMAT.md §5, §6.

import assert from 'node:assert/strict';
import { Type } from 'typebox';
import { native } from '../../../log/crypto/native.ts';
import { verifyAbsence } from '../../../log/verify.ts';
import { asSchema, definePlugin, route } from '../../../plugins/contract/index.ts';
import type { JsonObject } from '../../../plugins/contract/index.ts';
import { ENTITY, serveSurfaces } from '../astl/surfaces.ts';
import type { Body, Surfaces } from '../astl/surfaces.ts';

/** Appends an entry with the reserved members of the body. */
const deeds = definePlugin({
  contract: 1,
  name: 'deeds',
  title: 'Deeds',
  types: [
    {
      name: 'deeds.deed.v1',
      schema: asSchema(
        Type.Object(
          Object.fromEntries(
            ['entity', 'surface', 'session_ref', 'payment_hash', 'action_ref'].map((name) => [
              name,
              Type.Optional(Type.String()),
            ]),
          ),
          { additionalProperties: false },
        ),
      ),
      keys: [],
    },
  ],
  routes: () => [
    route({
      method: 'POST',
      path: '/deeds',
      tag: 'deeds',
      summary: 'A deed',
      access: 'key',
      idempotent: true,
      body: Type.Object({}),
      responses: { 200: { description: 'Done.', schema: Type.Object({ index: Type.Integer() }) } },
      handle: (ctx) =>
        ctx.state.append([{ type: 'deeds.deed.v1', members: ctx.state.body as JsonObject }]),
      respond: ([entry]) => ({ index: entry?.index }),
    }),
  ],
});

describe('GET /log/{kind}/proof/lookup, by kind', () => {
  let served: Surfaces;
  const members = {
    entity: ENTITY,
    surface: 'pay',
    session_ref: 'A'.repeat(43),
    payment_hash: 'f'.repeat(64),
    action_ref: '0'.repeat(64),
  };
  const keys = [
    ['entity', ENTITY],
    ['surface', ENTITY, 'pay'],
    ['session', members.session_ref],
    ['payment', members.payment_hash],
    ['action', members.action_ref],
  ];
  const indexes: number[] = [];

  before(async () => {
    served = await serveSurfaces([deeds]);
    await served.publish({ entity: ENTITY, surfaces: ['pay'] });
    for (let n = 0; n < 5; n++) {
      const { json, status, text } = await served.gateway.post('/deeds', members, {
        key: served.gateway.sandbox,
      });
      assert.equal(status, 200, text);
      indexes.push(json.index);
      await served.head();
    }
  });
  after(() => served.close());

  const lookup = async (key: readonly string[], more: Record<string, string> = {}) => {
    const query = new URLSearchParams({ key: JSON.stringify(key), ...more }).toString();
    const { json, status, text } = await served.gateway.get(`/log/sandbox/proof/lookup?${query}`);
    assert.equal(status, 200, text);
    const options = { suite: native, now_ms: served.gateway.clock.wall() };
    const document: Body = json;
    const result = verifyAbsence(document, document.question, served.trust(), options);
    return { document, result };
  };
  const seqOn = (key: readonly string[], entry: string): number => {
    const { links } = JSON.parse(entry) as { links: { key: string[]; seq: number }[] };
    return links.find((link) => link.key.join() === key.join())?.seq ?? -1;
  };

  it('returns every entry of an entity, a surface, a session, a payment and an action', async () => {
    for (const key of keys) {
      const { document, result } = await lookup(key);
      assert.deepEqual([result.verdict, result.entries], ['PRESENT', 5], key.join());
      assert.deepEqual(
        document.entries.map(({ index }: Body) => index),
        indexes,
      );
    }
  });

  it('counts a window by the seq after it less the first, on every page', async () => {
    const key = ['payment', members.payment_hash];
    const times = indexes.map(
      (index) => JSON.parse(served.log().entry(index) ?? '').issued_at_ms as number,
    );
    const window = { from_ms: String(times[1]), to_ms: String(times[3]) };
    const { document: page } = await lookup(key, { ...window, limit: '1' });
    assert.equal(page.more, true);
    let last = page;
    while (last.more === true) {
      const after = String(last.entries.at(-1).index);
      // Each further page is requested with the last entry of the page before.
      const query = new URLSearchParams({ key: JSON.stringify(key), ...window, after, limit: '1' });
      last = (await served.gateway.get(`/log/sandbox/proof/lookup?${query.toString()}`)).json;
    }
    const closing = seqOn(key, last.proof.successor.entry);
    assert.equal(closing - seqOn(key, page.entries[0].entry), 3);
    const { document: all } = await lookup(key);
    assert.equal(all.proof.head.count - seqOn(key, all.entries[0].entry), 5);
  });

  it('answers as of an older size: the window ends at its map head', async () => {
    const key = ['session', members.session_ref];
    const { document: newest } = await lookup(key);
    const size = indexes[2]! + 2;
    const { document, result } = await lookup(key, { size: String(size) });
    assert.equal(result.entries, 3);
    assert.equal(
      document.question.to_ms,
      JSON.parse(served.log().entry(size - 1) ?? '').issued_at_ms,
    );
    assert.equal(
      document.checkpoint,
      newest.checkpoint,
      'lookups in the past use the newest checkpoint',
    );
  });
});

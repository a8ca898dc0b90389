// What the sequence point lets through, and what it refuses: nothing that a replay would call a violation.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { FORMAT, LogError, parseJson, readEntry, receiptOf, toHex } from '../../log/index.ts';
import type { Draft, EntryType, Json, JsonObject } from '../../log/index.ts';
import { manifestHash } from '../../log/surfaces/rules.ts';
import { native } from '../../log/crypto/native.ts';
import { verifyReceipt } from '../../log/verify.ts';
import { code, KeptLog, note, NOTE, OTHER_TENANT, START_MS, TENANT, withLog } from './kept-log.ts';

const act = (type: string, members: Draft['members'], rest: Partial<Draft> = {}): Draft => ({
  type,
  tenant_ref: TENANT,
  members,
  ...rest,
});

/** A type that takes anything as JSON Schema sees it. */
const LOOSE: EntryType = {
  name: 'gate.loose.v1',
  schema: { type: 'object', properties: { text: {}, list: {}, id: {} } },
  keys: [],
};

const claim = (action: string, members: JsonObject = {}): Draft =>
  act('astl.entity.v1', { entity: 'acme', action, ...members });

const manifest = (members: JsonObject = {}): Draft => {
  const own = { entity: 'acme', surfaces: ['bind'], valid_from_ms: 1, ...members };
  const surface_manifest_hash = manifestHash(native, own);
  return act('astl.manifest.v1', { ...own, surface_manifest_hash });
};

describe('placing: members', () => {
  for (const member of ['type', 'index', 'links', 'kid', 'toll', 'commitments', 'submitter']) {
    it(
      `refuses ${member} among a draft's own members`,
      withLog(async (kept) => {
        await assert.rejects(kept.append(note('a', { [member]: 'x' })), code('entry_invalid'));
      }),
    );
  }

  for (const member of ['signature', 'entry_hash', 'permalink', 'disclosures', 'log']) {
    it(
      `refuses the receipt's ${member}`,
      withLog(async (kept) => {
        await assert.rejects(kept.append(note('a', { [member]: 'x' })), code('entry_invalid'));
      }),
    );
  }

  const unclear: readonly (readonly [string, JsonObject])[] = [
    ['free text in a member of the schema', { text: 'she said: no' }],
    ['free text in a nested object', { text: { id: 'not an id' } }],
    ['free text in an array', { list: ['fine', 'not fine'] }],
    ['a member name that is free text', { 'my note': 1 }],
    ['a string in a member that the schema does not name', { other: 'word' }],
    ['a fraction', { text: 1.5 }],
    ['a nested fraction', { list: [{ id: 0.1 }] }],
    ['an integer that is not safe', { text: 2 ** 53 }],
    ['a lone surrogate', { text: '\ud800' }],
    ['nesting that no reader takes', { list: JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`) }],
    ['nesting of 17', { list: JSON.parse(`${'['.repeat(16)}${']'.repeat(16)}`) }],
    ['a member __proto__ with free text', JSON.parse('{"__proto__":"free text"}') as JsonObject],
  ];
  for (const [title, members] of unclear) {
    it(
      `refuses ${title}`,
      withLog(async (kept) => {
        await kept.log.declare([LOOSE]);
        const size = kept.log.size();
        await assert.rejects(kept.append(act(LOOSE.name, members)), LogError);
        assert.equal(kept.log.size(), size);
      }),
    );
  }

  it(
    'takes what may stand in clear',
    withLog(async (kept) => {
      await kept.log.declare([LOOSE]);
      await kept.append(
        act(LOOSE.name, {
          text: '-12.50',
          id: 'a:b.c-d_e',
          list: [
            1,
            true,
            null,
            'id',
            { id: 'x' },
            JSON.parse(`${'['.repeat(12)}${']'.repeat(12)}`),
          ],
        }),
        note('a', { outcome: 'on hold' }),
      );
    }),
  );

  it(
    'refuses what breaks the schema, a type that is not declared, and one of the core that does not exist',
    withLog(async (kept) => {
      await assert.rejects(kept.append(note('a', { amount: 'x' })), code('entry_invalid'));
      await assert.rejects(kept.append(act('gate.other.v1', {})), code('type_undeclared'));
      for (const type of ['log.note.v1', 'astl.claim.v1', 'Gate.note.v1', 'gate', '']) {
        await assert.rejects(kept.append(act(type, {})), LogError);
      }
    }),
  );

  it(
    'refuses an entry over 65,535 bytes and takes one of exactly that',
    withLog(async (kept) => {
      await kept.log.declare([LOOSE]);
      const sized = (n: number): Draft =>
        act(LOOSE.name, { list: Array.from({ length: n }, () => 1) });
      await assert.rejects(kept.append(sized(40_000)), code('entry_too_large'));
      const [small] = await kept.append(sized(30_000));
      const bytes = Buffer.byteLength(small!.text);
      // Each 1 takes two bytes; a digit more in the last one makes it odd or even. The index has as
      // many digits as before.
      const room = 65_535 - bytes;
      const members = (more: number): JsonObject => ({
        list: [
          ...Array.from({ length: 30_000 + Math.floor(more / 2) - 1 }, () => 1),
          more % 2 ? 10 : 1,
        ],
      });
      const [exact] = await kept.append(act(LOOSE.name, members(room)));
      assert.equal(Buffer.byteLength(exact!.text), 65_535);
      await assert.rejects(
        kept.append(act(LOOSE.name, members(room + 1))),
        code('entry_too_large'),
      );
    }),
  );

  it(
    'gives an entry exactly the members it should have',
    withLog(async (kept) => {
      const [entry] = await kept.append(note('a', { outcome: 'DENY' }));
      const { kid } = kept.log.receiptKeys()[0]!;
      const { index, entry_id, issued_at_ms, links } = entry!;
      assert.deepEqual(entry!.statement, {
        type: 'gate.note.v1',
        origin: 'log.example/log/live/1',
        entry_id,
        index,
        issued_at_ms,
        kid,
        sandbox: false,
        tenant_ref: TENANT,
        case_id: 'a',
        outcome: 'DENY',
        links,
      });
      const { statement, signature } = entry!;
      assert.deepEqual(readEntry(entry!.text), {
        entry: { ...statement, signature },
        statement,
        signature,
      });
    }),
  );

  it(
    'marks the entries of a sandbox',
    withLog(
      async (kept) => {
        const [entry] = await kept.append(note('a'));
        assert.equal(entry!.statement.sandbox, true);
        assert.equal(kept.log.origin, 'log.example/log/sandbox/1');
      },
      { kind: 'sandbox' },
    ),
  );
});

describe('placing: links', () => {
  const WIDE: EntryType = {
    name: 'gate.wide.v1',
    schema: {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 10 }, (_, i) => [`id${String(i)}`, { type: 'string' }]),
      ),
    },
    keys: Array.from({ length: 10 }, (_, i) => [`gate.id${String(i)}`, `id${String(i)}`]),
  };
  const wide = (n: number): Draft =>
    act(
      WIDE.name,
      Object.fromEntries(Array.from({ length: n }, (_, i) => [`id${String(i)}`, 'x'])),
    );

  it(
    'are at most 8',
    withLog(async (kept) => {
      await kept.log.declare([WIDE]);
      const [entry] = await kept.append(wide(8));
      assert.equal(entry!.links.length, 8);
      await assert.rejects(kept.append(wide(9)), code('links_exceeded'));
      const [next] = await kept.append(wide(1));
      assert.equal(next!.links[0]?.seq, 1);
    }),
  );

  it(
    'come from reserved members by their grammar, in the order of the table',
    withLog(async (kept) => {
      await kept.log.declare([LOOSE]);
      await kept.append(claim('claim'));
      const session_ref = 's'.repeat(43);
      const [entry] = await kept.append(
        act(LOOSE.name, { session_ref, surface: 'bind', entity: 'acme' }),
      );
      assert.deepEqual(
        entry!.links.map(({ key }) => key),
        [
          ['entity', 'acme'],
          ['surface', 'acme', 'bind'],
          ['session', session_ref],
        ],
      );
      for (const bad of [
        { surface: 'bind' },
        { entity: 'Acme', surface: 'bind' },
        { entity: 'acme', surface: 7 },
        { session_ref: 'short' },
        { action_ref: 'x'.repeat(64) },
      ]) {
        await assert.rejects(kept.append(act(LOOSE.name, bad)), LogError);
      }
    }),
  );
});

describe('placing: tenants and entities', () => {
  it(
    'refuses a tenant that is not registered, and sees one of the same round',
    withLog(async (kept) => {
      const draft = { ...note('a'), tenant_ref: OTHER_TENANT };
      await assert.rejects(kept.append(draft), code('tenant_unknown'));
      const [, entries] = await Promise.all([
        kept.log.registerTenant(OTHER_TENANT, '1'.repeat(64)),
        kept.append(draft),
      ]);
      assert.equal(entries.length, 1);
    }),
  );

  it(
    'registers a tenant once, however often it is asked',
    withLog(async (kept) => {
      const size = kept.log.size();
      const register = () => kept.log.registerTenant(OTHER_TENANT, '1'.repeat(64));
      await Promise.all([register(), register(), register()]);
      await register();
      await kept.restart();
      await register();
      assert.equal(kept.log.size() - size, 2, 'the tenant and the map head of the restart');
      await assert.rejects(
        kept.append({
          type: 'log.tenant.v1',
          tenant_ref: OTHER_TENANT,
          members: { key_sha256: '2'.repeat(64) },
        }),
        LogError,
      );
    }),
  );

  it(
    'refuses a malformed registration',
    withLog(async (kept) => {
      await assert.rejects(kept.log.registerTenant('short', '1'.repeat(64)), LogError);
      await assert.rejects(kept.log.registerTenant(OTHER_TENANT, 'x'), LogError);
      await kept.log.registerTenant(OTHER_TENANT, '1'.repeat(64));
    }),
  );

  it(
    'follows an entity through claim, transfer and release',
    withLog(async (kept) => {
      await kept.log.declare([LOOSE]);
      await kept.log.registerTenant(OTHER_TENANT, '1'.repeat(64));
      const on = (tenant_ref: string): Draft => ({
        ...act(LOOSE.name, { entity: 'acme', surface: 'bind' }),
        tenant_ref,
      });
      await assert.rejects(kept.append(on(TENANT)), code('entity_unclaimed'));
      await assert.rejects(kept.append(claim('release')), code('entity_unclaimed'));
      await kept.append(claim('claim'), on(TENANT));
      await assert.rejects(kept.append(claim('claim')), code('entity_forbidden'));
      await assert.rejects(kept.append(on(OTHER_TENANT)), code('entity_forbidden'));
      await kept.append(claim('transfer', { to_tenant_ref: OTHER_TENANT }), on(OTHER_TENANT));
      await assert.rejects(kept.append(on(TENANT)), code('entity_forbidden'));
      await assert.rejects(kept.append(claim('release')), code('entity_forbidden'));
      await kept.append({ ...claim('release'), tenant_ref: OTHER_TENANT });
      assert.equal(kept.log.surfaces().owner('acme'), null);
      await kept.append(claim('claim'));
      assert.equal(kept.log.surfaces().owner('acme'), TENANT);
    }),
  );

  it(
    'checks manifests and runs of heartbeats',
    withLog(async (kept) => {
      await kept.append(claim('claim'), manifest());
      assert.deepEqual(kept.log.surfaces().manifest('acme')?.surfaces, ['bind']);
      const wrong = manifest({ surfaces: ['bind', 'quote'] });
      await assert.rejects(
        kept.append({
          ...wrong,
          members: { ...(wrong.members as JsonObject), valid_from_ms: 2 },
        }),
        code('entry_invalid'),
      );
      const beat = (interval_ms: number): Draft =>
        act('astl.heartbeat.v1', ({ surfaces, issued_at_ms }) => {
          const before = surfaces.heartbeat('acme', 'bind');
          const goesOn =
            before?.interval_ms === interval_ms &&
            issued_at_ms - before.issued_at_ms <= interval_ms;
          return {
            entity: 'acme',
            surface: 'bind',
            interval_ms,
            run_since_ms: goesOn ? before.run_since_ms : issued_at_ms,
          };
        });
      const since: number[] = [];
      for (const pass of [10, 1000, 1000, 1001, 5]) {
        kept.time.advance(pass);
        const [entry] = await kept.append(beat(1000));
        since.push(entry!.statement.run_since_ms as number);
      }
      const start = since[0]!;
      assert.deepEqual(since, [start, start, start, start + 3001, start + 3001]);
      await assert.rejects(
        kept.append(
          act('astl.heartbeat.v1', {
            entity: 'acme',
            surface: 'bind',
            interval_ms: 1000,
            run_since_ms: 1,
          }),
        ),
        code('entry_invalid'),
      );
    }),
  );
});

describe('placing: the table', () => {
  it(
    'takes event times within the window and refuses those outside it',
    withLog(async (kept) => {
      const { issued_at_ms: now } = (await kept.append(note('a')))[0]!;
      const at = (event_at_ms: number): Draft => ({ ...note('a'), event_at_ms });
      for (const event_at_ms of [now - FORMAT.max_lag_ms, now, now + FORMAT.skew_ms]) {
        const [entry] = await kept.append(at(event_at_ms));
        assert.equal(entry!.statement.event_at_ms, event_at_ms);
      }
      for (const off of [-FORMAT.max_lag_ms - 1, FORMAT.skew_ms + 1, Infinity, -Infinity]) {
        await assert.rejects(kept.append(at(now + off)), code('event_time_out_of_range'));
      }
      for (const bad of [now - 0.5, NaN]) await assert.rejects(kept.append(at(bad)), LogError);
    }),
  );

  it(
    'writes tolls and refuses malformed ones',
    withLog(async (kept) => {
      const [entry] = await kept.append({
        ...note('a'),
        toll: { id: 'hold', micro_usd: 2000, cleared_micro_usd: 1000 },
      });
      const { toll, toll_micro_usd, cleared_micro_usd } = entry!.statement;
      assert.deepEqual([toll, toll_micro_usd, cleared_micro_usd], ['hold', 2000, 1000]);
      for (const bad of [
        { id: 'on hold', micro_usd: 1 },
        { id: 'hold', micro_usd: 1.5 },
        { id: 'hold', micro_usd: 1, cleared_micro_usd: NaN },
      ]) {
        await assert.rejects(kept.append({ ...note('a'), toll: bad }), LogError);
      }
    }),
  );

  it(
    'commits to private values, and the disclosures open the receipt',
    withLog(async (kept) => {
      const values = { message: 'We should not hire her', score: 0.25, parts: { a: [1.5, null] } };
      const [entry, same] = await kept.append(
        { ...note('a'), private: values },
        { ...note('a'), private: values },
      );
      const { disclosures, statement } = entry!;
      assert.deepEqual(
        Object.fromEntries(Object.entries(disclosures).map(([name, { value }]) => [name, value])),
        values,
      );
      assert.ok(!entry!.text.includes('hire'));
      assert.notDeepEqual(statement.commitments, same!.statement.commitments);
      const receipt = receiptOf(
        entry!,
        { base_url: 'https://log.example', sandbox: false },
        disclosures,
      );
      const outcome = (json: Json): unknown => {
        const { valid, checks } = verifyReceipt(json, kept.trust());
        return [valid, checks.find(({ name }) => name === 'disclosures')?.outcome];
      };
      assert.deepEqual(outcome(receipt), [true, 'ok']);
      const lied = {
        ...receipt,
        disclosures: { message: { ...disclosures.message!, value: 'no' } },
      };
      assert.deepEqual(outcome(lied), [false, 'failed']);
    }),
  );

  it(
    'refuses commitments with a free-text name and takes none for no private values',
    withLog(async (kept) => {
      await assert.rejects(kept.append({ ...note('a'), private: { 'a b': 1 } }), LogError);
      const [entry] = await kept.append({ ...note('a'), private: {} });
      assert.ok(!('commitments' in entry!.statement));
    }),
  );

  it(
    'refuses entries of the log itself that break its life',
    withLog(async (kept) => {
      const { jwk } = kept.log.receiptKeys()[0]!;
      const key = { kty: jwk.kty, crv: jwk.crv, x: jwk.x };
      const root = '0'.repeat(64);
      const drafts: Draft[] = [
        { type: 'log.open.v1', members: { ...FORMAT, jwk: key, predecessor: null } },
        {
          type: 'log.map_head.v1',
          members: ({ index }) => ({ covered: index, map_root: root, prev_map_head: 1 }),
        },
        { type: 'log.key.v1', members: { key, status: 'active' } },
        { type: 'log.closed.v1', members: { successor: 'log.example/log/live/3' } },
        { type: 'log.closed.v1', members: { successor: 'log.example/log/sandbox/2' } },
      ];
      for (const draft of drafts) await assert.rejects(kept.append(draft), LogError);
    }),
  );
});

describe('placing: rows', () => {
  it(
    'of one plugin are not for another to write',
    withLog(async (kept) => {
      const thief: EntryType = {
        name: 'other.note.v1',
        schema: { type: 'object' },
        keys: [],
        project: (_entry, rows) => {
          rows.put('gate/case/a', 1);
        },
      };
      await kept.log.declare([thief]);
      const size = kept.log.size();
      await assert.rejects(kept.append(act(thief.name, {})), /row gate\/case\/a of another/);
      assert.equal(kept.log.size(), size);
      assert.equal(kept.log.row('gate/case/a'), undefined);
    }),
  );
});

describe('placing: hostile drafts', () => {
  it('never writes what a replay refuses', async () => {
    const kept = await KeptLog.open();
    try {
      await kept.log.declare([LOOSE]);
      const name = fc.oneof(
        fc.constantFrom('text', 'list', 'id', 'entity', 'surface', 'session_ref', 'signature'),
        fc.constantFrom('__proto__', 'constructor', 'links', 'case_id', 'amount', 'entry_id'),
        fc.string({ maxLength: 5, unit: 'binary' }),
      );
      const value = fc.oneof(
        fc.jsonValue({ maxDepth: 3, noUnicodeString: false }) as fc.Arbitrary<Json>,
        fc.constantFrom<Json>('ok', 'acme', 'a b', '12.5', -0, 1.5, NaN, null, 2 ** 60),
      );
      const members = fc.dictionary(name, value, { maxKeys: 3, noNullPrototype: true });
      const rarely = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
        fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
      const draft: fc.Arbitrary<Draft> = fc
        .record({
          type: fc.constantFrom(LOOSE.name, NOTE.name, NOTE.name, 'astl.entity.v1'),
          tenant_ref: fc.constantFrom(TENANT, TENANT, TENANT, OTHER_TENANT, ''),
          base: fc.constantFrom<JsonObject>({ case_id: 'a' }, { entity: 'acme', action: 'claim' }),
          members,
          values: rarely(members),
          event_at_ms: rarely(
            fc.oneof(fc.constant(kept.time.wall()), fc.double(), fc.constant(0.5 + START_MS)),
          ),
          toll: rarely(
            fc.record({
              id: fc.constantFrom('hold', 'on hold', ''),
              micro_usd: fc.oneof(fc.integer(), fc.double()),
            }),
          ),
        })
        .map(({ type, tenant_ref, base, members: own, values, event_at_ms, toll }) => ({
          type,
          tenant_ref,
          members: { ...base, ...own },
          ...(values === undefined ? {} : { private: values }),
          ...(event_at_ms === undefined ? {} : { event_at_ms }),
          ...(toll === undefined ? {} : { toll }),
        }));
      let taken = 0;
      await fc.assert(
        fc.asyncProperty(draft, async (hostile) => {
          const size = kept.log.size();
          try {
            const [entry] = await kept.append(hostile);
            taken += 1;
            assert.deepEqual(parseJson(entry!.text), JSON.parse(entry!.text));
            assert.equal(toHex(entry!.leaf_hash), toHex(kept.log.leafHash(entry!.index)));
          } catch (error) {
            assert.ok(error instanceof LogError, String(error));
            assert.equal(kept.log.size(), size);
          }
        }),
        { numRuns: 1500 },
      );
      assert.ok(taken > 20, `${String(taken)} were taken`);
    } finally {
      await kept.end();
    }
  });
});

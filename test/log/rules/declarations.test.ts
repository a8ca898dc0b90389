// Types are declared in the log once, before their first entry, and a kind keeps its number of members.

import assert from 'node:assert/strict';
import { LogError } from '../../../log/index.ts';
import type { EntryType, JsonObject } from '../../../log/index.ts';
import type { KeptLog } from '../write/kept-log.ts';
import { code, note, NOTE, statementOf, TENANT, withLog } from '../write/kept-log.ts';

const type = (name: string, change: Partial<EntryType> = {}): EntryType => ({
  name,
  schema: { type: 'object', properties: { id: { type: 'string' }, other: { type: 'string' } } },
  keys: [],
  ...change,
});

const declared = (kept: KeptLog): string[] =>
  Array.from({ length: kept.log.size() }, (_, i) => statementOf(kept.log, i))
    .filter((statement) => statement.type === 'log.entry_type.v1')
    .map((statement) => statement.name as string);

const conflict = code('type_conflict');

describe('declarations', () => {
  it(
    'are entries with schema and keys, in the given order, before the first entry of the type',
    withLog(async (kept) => {
      const types = [
        type('gate.b.v1', { keys: [['gate.b', 'id']] }),
        type('gate.a.v1'),
        type('gate.b.v2', { keys: [['gate.b', 'id']] }),
      ];
      const before = kept.log.size();
      await kept.log.declare(types);
      assert.deepEqual(declared(kept), [NOTE.name, 'gate.b.v1', 'gate.a.v1', 'gate.b.v2']);
      const { name, schema, keys } = statementOf(kept.log, before);
      assert.deepEqual({ name, schema, keys }, types[0]);
      const [entry] = await kept.append({
        type: 'gate.b.v2',
        tenant_ref: TENANT,
        members: { id: 'x' },
      });
      assert.deepEqual(entry!.links[0]?.key, ['gate.b', 'x']);
    }),
  );

  it(
    'of the same type again append nothing, also after a restart and concurrently',
    withLog(async (kept) => {
      const again = { ...NOTE, schema: { ...NOTE.schema } };
      await kept.log.declare([again]);
      await Promise.all([
        kept.log.declare([type('gate.a.v1')]),
        kept.log.declare([type('gate.a.v1')]),
      ]);
      await kept.restart({ types: [] });
      await kept.log.declare([NOTE, type('gate.a.v1')]);
      assert.deepEqual(declared(kept), [NOTE.name, 'gate.a.v1']);
    }),
  );

  it(
    'with another schema or other keys are a conflict, and change nothing',
    withLog(async (kept) => {
      const size = kept.log.size();
      const project = (): never => {
        throw new Error('the refused type projects');
      };
      await assert.rejects(
        kept.log.declare([{ ...NOTE, schema: { type: 'object' }, keys: [], project }]),
        conflict,
      );
      await assert.rejects(kept.log.declare([{ ...NOTE, keys: [], project }]), conflict);
      assert.equal(kept.log.size(), size);
      await kept.append(note('a'));
      assert.deepEqual(kept.log.row('gate/case/a'), { count: 1, last: size });
    }),
  );

  it(
    'of a kind with another number of members are a conflict, with the log and within one call',
    withLog(async (kept) => {
      const taken = type('gate.a.v1', { keys: [['gate.case', 'id']] });
      const both = [
        type('gate.c.v1', { keys: [['gate.c', 'id']] }),
        type('gate.d.v1', { keys: [['gate.c', 'id', 'other']] }),
      ];
      const size = kept.log.size();
      await assert.rejects(
        kept.log.declare([
          type('gate.case.v1', {
            schema: { type: 'object', properties: { case_id: {}, id: {} } },
            keys: [['gate.case', 'case_id', 'id']],
          }),
        ]),
        conflict,
      );
      await assert.rejects(kept.log.declare([taken]), conflict);
      await assert.rejects(kept.log.declare(both), conflict);
      await assert.rejects(
        kept.log.declare([type('gate.e.v1'), type('gate.e.v1', { schema: { type: 'object' } })]),
        conflict,
      );
      assert.equal(kept.log.size(), size);
      for (const name of ['gate.a.v1', 'gate.c.v1', 'gate.e.v1']) {
        await assert.rejects(
          kept.append({ type: name, tenant_ref: TENANT, members: {} }),
          code('type_undeclared'),
        );
      }
      // Names of refused declarations are free.
      await kept.log.declare([type('gate.d.v1', { keys: [['gate.c', 'id', 'other']] })]);
    }),
  );

  const malformed: readonly (readonly [string, EntryType])[] = [
    ['of the core', type('log.note.v1')],
    ['without a version', type('gate.note')],
    ['with a template of another plugin', type('gate.x.v1', { keys: [['other.x', 'id']] })],
    ['with a template of no member', type('gate.x.v1', { keys: [['gate.x']] })],
    ['with a template of a foreign member', type('gate.x.v1', { keys: [['gate.x', 'nope']] })],
    ['with an invalid schema', type('gate.x.v1', { schema: { type: 'nonsense' } })],
    ['with an unknown keyword', type('gate.x.v1', { schema: { typ: 'object' } })],
    [
      'with a fraction in the schema',
      type('gate.x.v1', {
        schema: { type: 'object', properties: { id: { type: 'number', maximum: 0.5 } } },
      }),
    ],
    [
      'with an asynchronous schema',
      type('gate.x.v1', { schema: { $async: true, type: 'object' } }),
    ],
    [
      'with a schema over the largest entry',
      type('gate.x.v1', {
        schema: {
          type: 'object',
          properties: Object.fromEntries(
            Array.from({ length: 5000 }, (_, i) => [`member${String(i)}`, {}]),
          ),
        },
      }),
    ],
    [
      'with a member that only receipts have',
      type('gate.x.v1', { schema: { type: 'object', properties: { signature: {} } } }),
    ],
  ];
  for (const [title, bad] of malformed) {
    it(
      `are refused for a type ${title}, with all types of the same call`,
      withLog(async (kept) => {
        const size = kept.log.size();
        await assert.rejects(kept.log.declare([type('gate.good.v1'), bad]), LogError);
        assert.equal(kept.log.size(), size);
        const draft = { type: 'gate.good.v1', tenant_ref: TENANT, members: { id: 'x' } };
        await assert.rejects(kept.append(draft), code('type_undeclared'));
        await kept.log.declare([type('gate.good.v1')]);
        await kept.append(draft);
      }),
    );
  }

  it(
    'remain known if the type is missing in the program',
    withLog(async (kept) => {
      await kept.append(note('a'));
      await kept.restart({ types: [] });
      const [entry] = await kept.append(note('a'));
      assert.equal(entry!.links[0]?.seq, 1);
      const row = kept.log.row('gate/case/a') as JsonObject;
      assert.equal(row.count, 1, 'no projection ran');
    }),
  );
});

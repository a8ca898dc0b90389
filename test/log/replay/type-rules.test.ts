// Each rule about built-in and declared types and about clear text, broken once. log/FORMAT.md §2.

import type { Json } from '../../../log/encoding/json.ts';
import { act, breaksRules, refuses } from '../../support/break-rule.ts';
import type { Break, Case } from '../../support/break-rule.ts';
import { DECISION, Forge, TENANT } from '../../support/forge.ts';

const declare =
  (name: string, schema: Json, keys: Json = []): Break =>
  (log) => {
    log.add('log.entry_type.v1', { name, schema, keys });
  };

const cases: readonly Case[] = [
  ['builtin_members', 'another type of log.', (log) => log.add('log.note.v1')],
  [
    'builtin_members',
    'another version of astl.',
    (log) => log.add('astl.manifest.v2', { tenant_ref: TENANT }),
  ],
  ['builtin_members', 'an unknown member', (log) => log.mapHead({ statement: { note: 'x' } })],
  ['builtin_members', 'a member missing', (log) => log.add('log.closed.v1')],
  [
    'builtin_members',
    'covered is another index',
    (log) => log.mapHead({ statement: { covered: 5 } }),
  ],
  ['builtin_members', 'a declaration of log.', declare('log.note.v1', {})],
  [
    'builtin_members',
    'a template of another plugin',
    declare('ext.note.v1', DECISION, [['gate.case', 'case_id']]),
  ],
  [
    'builtin_members',
    'a template of a member that the schema lacks',
    declare('ext.note.v1', {}, [['ext.case', 'case_id']]),
  ],
  [
    'builtin_members',
    'a manifest with unsorted surfaces',
    (log) => log.manifest({ surfaces: ['b', 'a'] }),
  ],
  [
    'builtin_members',
    'a heartbeat interval over half the gap',
    (log) => log.manifest({ heartbeat_interval_ms: 6, min_detectable_gap_ms: 10 }),
  ],
  [
    'type_undeclared',
    'a type without a declaration',
    (log) => log.add('gate.other.v1', { outcome: 'PERMIT' }),
  ],
  [
    'type_declared_twice',
    'a type',
    declare('gate.decision.v1', DECISION, [['gate.case', 'case_id']]),
  ],
  ['type_schema', 'an unknown keyword', declare('ext.note.v1', { propertys: {} })],
  [
    'type_schema',
    'a reference that leads nowhere',
    declare('ext.note.v1', { $ref: 'https://example.org/x' }),
  ],
  [
    'type_schema',
    'a reference to what only another declaration names',
    (log) => {
      declare('ext.first.v1', { properties: { a: { $id: 'https://example.org/x' } } })(log);
      declare('ext.note.v1', { properties: { a: {}, b: { $ref: 'https://example.org/x' } } })(log);
    },
  ],
  ['type_schema', 'a validator that answers later', declare('ext.note.v1', { $async: true })],
  [
    'type_template',
    'a kind with another member list',
    declare('gate.other.v1', DECISION, [['gate.case', 'outcome']]),
  ],
  ['schema', 'a member of another type', act({ case_id: 7 })],
  ['schema', 'a member missing', act({ outcome: null })],
  ['clear_text', 'free text in a named member', act({ case_id: 'what she said' })],
  ['clear_text', 'a string in a member that the schema does not name', act({ remark: 'short' })],
  ['clear_text', 'free text as a name', act({ detail: { 'what she said': 1 } })],
  ['clear_text', 'free text in a list', act({ amount: ['what she said'] })],
  ['clear_text', 'a decimal of 19 places', act({ remark: '0.1234567890123456789' })],
];

describe('type rules', () => {
  breaksRules('type-rules', cases);

  it('builtin_members: a changed constant of the format', () => {
    refuses(new Forge().open({ skew_ms: 1 }), 'builtin_members');
  });
});

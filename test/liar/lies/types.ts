// Lies about types, keys, tenants, and the beginning and the end of a log. log/FORMAT.md §1, §2, §4

import { keyOf } from '../bytes.ts';
import type { Members } from '../bytes.ts';
import { ENTITY, hex, OTHER, START_MS, Story, TENANT } from '../story.ts';
import { act, bad, whole } from './lie.ts';
import type { Lie } from './lie.ts';

const built = (name: string, type: string, members: Members): Lie =>
  bad('builtin_members', name, (story) => story.add(type, members));
const opened = (rule: string, name: string, members: Members): Lie =>
  whole(rule, name, () => new Story().open(members).mapHead(), { entries: [0], proof: 'signed' });
const jwk = keyOf(0x11).jwk;

const BUILTIN: readonly Lie[] = [
  built('an unknown type of log.', 'log.note.v1', {}),
  built('an unknown type of astl.', 'astl.note.v1', { tenant_ref: TENANT }),
  built('a tenant without the hash of its key', 'log.tenant.v1', { tenant_ref: OTHER }),
  built('a tenant with a name', 'log.tenant.v1', {
    ...{ tenant_ref: OTHER, key_sha256: hex('k'), name: 'x' },
  }),
  built('a tenant of another hash form', 'log.tenant.v1', { tenant_ref: OTHER, key_sha256: 'x' }),
  built('a key with a private part', 'log.key.v1', {
    key: { ...jwk, d: jwk.x },
    status: 'retired',
  }),
  built('a key of another curve', 'log.key.v1', {
    key: { ...jwk, crv: 'P-256' },
    status: 'active',
  }),
  // The declaration is signed correctly, but no signature by such a key is valid.
  bad(['builtin_members', 'kid'], 'a key of low order', (story) => {
    const key = { ...jwk, x: Buffer.alloc(32).toString('base64url') };
    story.add('log.key.v1', { key, status: 'active' });
  }),
  built('an unknown key status', 'log.key.v1', { key: jwk, status: 'lost' }),
  built('a closing entry without a successor', 'log.closed.v1', {}),
  built('a map head that covers another index', 'log.map_head.v1', {
    ...{ covered: 7, map_root: hex('r'), prev_map_head: 7 },
  }),
  built('a map head with an extension', 'log.map_head.v1', {
    ...{ covered: 8, map_root: hex('r'), prev_map_head: 7, note: 'x' },
  }),
  built('a map head before itself', 'log.map_head.v1', {
    ...{ covered: 8, map_root: hex('r'), prev_map_head: 8 },
  }),
  built('an unknown action', 'astl.entity.v1', {
    ...{ tenant_ref: TENANT, entity: ENTITY, action: 'seize' },
  }),
  built('a transfer without a new owner', 'astl.entity.v1', {
    ...{ tenant_ref: TENANT, entity: ENTITY, action: 'transfer' },
  }),
  built('a claim with a new owner', 'astl.entity.v1', {
    ...{ tenant_ref: TENANT, entity: 'other', action: 'claim', to_tenant_ref: OTHER },
  }),
  built('a claim of no tenant', 'astl.entity.v1', { entity: 'other', action: 'claim' }),
  bad('builtin_members', 'a manifest with unsorted surfaces', (story) => {
    story.manifest({ surfaces: ['policy_bind', 'offer_extend'] });
  }),
  bad('builtin_members', 'a manifest with a surface twice', (story) => {
    story.manifest({ surfaces: ['policy_bind', 'policy_bind'] });
  }),
  bad('builtin_members', 'a manifest with a surface in upper case', (story) => {
    story.manifest({ surfaces: ['Policy'] });
  }),
  bad('builtin_members', 'a gap without a heartbeat interval', (story) => {
    story.manifest({ min_detectable_gap_ms: 120_000 });
  }),
  bad('builtin_members', 'a heartbeat interval over half of the gap', (story) => {
    story.manifest({ heartbeat_interval_ms: 60_001, min_detectable_gap_ms: 120_000 });
  }),
  bad('builtin_members', 'a heartbeat interval of 0', (story) => {
    story.manifest({ heartbeat_interval_ms: 0, min_detectable_gap_ms: 120_000 });
  }),
  bad('builtin_members', 'a heartbeat without an interval', (story) => {
    story.beat({}, { set: { interval_ms: undefined } });
  }),
  bad('builtin_members', 'a heartbeat with acts below 0', (story) =>
    story.beat({ acts_total: -1 }),
  ),
  bad('builtin_members', 'commitments of a built-in type', (story) => {
    story.tenant(OTHER, { set: { commitments: { note: hex('x') } } });
  }),
];

const LIFE: readonly Lie[] = [
  opened('builtin_members', 'another format', { format: 2 }),
  opened('builtin_members', 'another max_lag_ms', { max_lag_ms: 86_400_001 }),
  opened('builtin_members', 'another skew_ms', { skew_ms: 1 }),
  opened('builtin_members', 'another idle_ms', { idle_ms: 1 }),
  opened('builtin_members', 'another max_merge_delay_ms', { max_merge_delay_ms: 1 }),
  opened('builtin_members', 'no predecessor member', { predecessor: undefined }),
  opened('predecessor', 'a predecessor of the first log', {
    predecessor: { origin: 'liar.example/log/live/1', size: 2, root: hex('r') },
  }),
  whole('log_open', 'an act as entry 0', () => new Story().tenant().mapHead(), { entries: [0] }),
  bad('log_open', 'opened twice', (story) => story.open(), { entries: [0, 8] }),
  bad('successor', 'a successor of the other kind', (story) => {
    story.add('log.closed.v1', { successor: 'liar.example/log/sandbox/2' });
  }),
  bad('successor', 'a successor one too far', (story) => {
    story.add('log.closed.v1', { successor: 'liar.example/log/live/3' });
  }),
  bad('successor', 'itself as its successor', (story) => {
    story.add('log.closed.v1', { successor: 'liar.example/log/live/1' });
  }),
  bad('log_closed', 'an act after the end', (story) => story.close(null).act(), {
    entries: [8, 10],
  }),
  bad(
    'log_closed',
    'an act before the last map head',
    (story) => {
      story.add('log.closed.v1', { successor: null }).act();
    },
    { entries: [8, 9] },
  ),
  bad('log_closed', 'a second map head after the end', (story) => story.close(null), {
    entries: [8, 10],
  }),
  bad('log_closed', 'opened again after the end', (story) => story.close(null).open(), {
    entries: [8, 10],
  }),
];

const SCHEMA = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } };
const declared = (rule: string, name: string, of: string, schema: Members, keys: string[][] = []) =>
  bad(rule, name, (story) => story.declare(of, schema, keys));

const TYPES: readonly Lie[] = [
  bad('type_undeclared', 'an undeclared type', (story) => story.add('demo.other.v1')),
  bad('type_undeclared', 'the next version of a type', (story) => story.add('demo.act.v2')),
  bad('type_undeclared', 'a type that is declared later', (story) => {
    story.add('demo.other.v1').declare('demo.other.v1', SCHEMA, []);
  }),
  bad('type_declared_twice', 'a type declared twice', (story) => story.declare(), {
    entries: [2, 8],
  }),
  declared('type_schema', 'an unknown keyword', 'demo.b.v1', { ...SCHEMA, requires: ['a'] }),
  declared('type_schema', 'an invalid schema', 'demo.b.v1', { type: 'thing' }),
  declared('type_schema', 'an invalid pattern', 'demo.b.v1', {
    type: 'object',
    properties: { a: { pattern: '(' } },
  }),
  bad(
    'type_template',
    'another member list for a kind',
    (story) => {
      story.declare('demo.b.v1', SCHEMA, [['demo.case', 'a']]);
    },
    { entries: [2, 8] },
  ),
  declared('builtin_members', 'a declaration of log.', 'log.b.v1', SCHEMA),
  declared('builtin_members', 'a declaration of astl.', 'astl.b.v1', SCHEMA),
  declared('builtin_members', 'a kind of another plugin', 'demo.b.v1', SCHEMA, [['other.x', 'a']]),
  declared('builtin_members', 'a kind of the core', 'demo.b.v1', SCHEMA, [['entity', 'a']]),
  declared('builtin_members', 'a template of no member', 'demo.b.v1', SCHEMA, [['demo.x']]),
  declared(
    'builtin_members',
    'a template of a member that is not in the schema',
    'demo.b.v1',
    SCHEMA,
    [['demo.x', 'c']],
  ),
  declared('builtin_members', 'a template of a common member', 'demo.b.v1', SCHEMA, [
    ['demo.x', 'kid'],
  ]),
  act('schema', 'a member of another type', { amount: 'many' }),
  bad(
    'schema',
    'a member that is missing',
    (story) => {
      story.act({}, { set: { outcome: undefined } });
    },
    { entries: [2, 8] },
  ),
  act('schema', 'an outcome that is not enumerated', { outcome: 'PERHAPS' }),
];

const other = keyOf(0x31);
const KEYS: readonly Lie[] = [
  bad(
    'key_status',
    'the key in force declared active again',
    (story) => {
      story.keyEntry(story.key, 'active');
    },
    { entries: [0, 8] },
  ),
  bad('key_status', 'an unknown key retired', (story) => story.keyEntry(other, 'retired')),
  bad('key_status', 'an unknown key revoked', (story) => story.keyEntry(other, 'revoked')),
  bad(
    'key_status',
    'a retired key that returns',
    (story) => {
      const old = story.key;
      story.rotate(other).keyEntry(old, 'active');
    },
    { entries: [9, 10] },
  ),
  bad(
    'key_status',
    'a revoked key that is retired',
    (story) => {
      const old = story.key;
      story.rotate(other).keyEntry(old, 'revoked').keyEntry(old, 'retired');
    },
    { entries: [10, 11] },
  ),
  bad(
    'key_status',
    'a key revoked twice',
    (story) => {
      const old = story.key;
      story.rotate(other).keyEntry(old, 'revoked').keyEntry(old, 'revoked');
    },
    { entries: [10, 11] },
  ),
  bad(
    'key_rotation',
    'a new key without an end of the old one',
    (story) => {
      story.keyEntry(other, 'active');
      story.key = other;
      story.act();
    },
    { entries: [8, 9] },
  ),
  bad(
    'key_rotation',
    'a new key, and another one retired',
    (story) => {
      story.keyEntry(other, 'active');
      story.key = other;
      story.keyEntry(other, 'retired');
    },
    { entries: [8, 9] },
  ),
  bad(
    'kid',
    'a new key that does not sign at once',
    (story) => {
      const old = story.key;
      story.keyEntry(other, 'active').keyEntry(old, 'retired');
    },
    { entries: [8, 9] },
  ),
  bad('kid', 'entries after the last key was retired', (story) => {
    story.keyEntry(story.key, 'retired').act();
  }),
  whole('kid', 'entry 0 signed in the name of another key', () => {
    return new Story().open({}, { set: { kid: other.kid }, signer: other }).mapHead();
  }),
  whole('signature', 'entry 0 signed by another key', () => {
    return new Story().open({}, { signer: other }).mapHead();
  }),
  bad('tenant_declared_twice', 'a tenant registered twice', (story) => story.tenant(), {
    entries: [1, 8],
  }),
];

const ENTITIES: readonly Lie[] = [
  bad('entity_claim', 'an entity claimed twice', (story) => story.claim(), { entries: [3, 8] }),
  bad(
    'entity_claim',
    'an entity claimed by another',
    (story) => {
      story.tenant(OTHER).claim(ENTITY, OTHER);
    },
    { entries: [3, 9] },
  ),
  bad(
    'entity_claim',
    'a transfer by another',
    (story) => {
      const members = { tenant_ref: OTHER, action: 'transfer', to_tenant_ref: OTHER };
      story.tenant(OTHER).entity(members);
    },
    { entries: [3, 9] },
  ),
  bad(
    'entity_claim',
    'a release by another',
    (story) => {
      story.tenant(OTHER).entity({ tenant_ref: OTHER, action: 'release' });
    },
    { entries: [3, 9] },
  ),
  bad('entity_claim', 'a release of an unowned entity', (story) => {
    story.entity({ entity: 'nobodys', action: 'release' });
  }),
  act('entity_owner', 'an act of an unclaimed entity', { entity: 'nobodys' }),
  bad(
    'entity_owner',
    'an act of another tenant',
    (story) => {
      story.tenant(OTHER).act({ tenant_ref: OTHER });
    },
    { entries: [3, 9] },
  ),
  act('entity_owner', 'an act of no tenant', { tenant_ref: undefined }),
  bad('entity_owner', 'an act after the release', (story) => {
    story.entity({ action: 'release' }).act();
  }),
  bad(
    'entity_owner',
    'an act of the former owner',
    (story) => {
      story.tenant(OTHER).entity({ action: 'transfer', to_tenant_ref: OTHER }).act();
    },
    { entries: [9, 10] },
  ),
  bad(['entity_owner', 'manifest'], 'a manifest of another', (story) => {
    story.tenant(OTHER).manifest({ tenant_ref: OTHER });
  }),
  bad(['entity_owner', 'heartbeat'], 'a heartbeat of another', (story) => {
    story.tenant(OTHER).beat({ tenant_ref: OTHER });
  }),
  bad('manifest', 'a manifest with another hash', (story) => {
    story.manifest({ surface_manifest_hash: hex('x') });
  }),
  bad('manifest', 'a manifest whose hash leaves a member out', (story) => {
    story.manifest({}, { set: { valid_until_ms: START_MS + 9e9 } });
  }),
  bad('heartbeat', 'a run that begins anew too early', (story) => story.beat()),
  bad('heartbeat', 'a run from before its first heartbeat', (story) => {
    story.beat({ run_since_ms: START_MS });
  }),
  bad('heartbeat', 'a run over a gap', (story) => {
    story.beat({ run_since_ms: START_MS + 5000 }, { after_ms: 60_001 });
  }),
  bad('heartbeat', 'a run over another interval', (story) => {
    story.beat({ interval_ms: 50_000, run_since_ms: START_MS + 5000 });
  }),
  bad('heartbeat', 'a first heartbeat with a run', (story) => {
    story.beat({ surface: 'offer_extend', run_since_ms: START_MS + 5000 });
  }),
];

export const TYPE_LIES: readonly Lie[] = [...BUILTIN, ...LIFE, ...TYPES, ...KEYS, ...ENTITIES];

// The built-in types: entries of the vectors are accepted, and each breach of log/FORMAT.md §2 and §4 is refused.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { JsonObject } from '../../../log/encoding/json.ts';
import { BUILTIN_TYPES, checkBuiltin, isBuiltin } from '../../../log/rules/builtin.ts';

const VECTORS = new URL('../../vectors/absence.json', import.meta.url);
const { entries } = JSON.parse(readFileSync(VECTORS, 'utf8')) as { entries: string[] };

const TENANT = 'dGVuYW50LWV4YW1wbGUtMQ';
const HASH = 'a'.repeat(64);
const JWK = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };

/** A valid statement of each type; common members beside `type` are left out if no rule reads them. */
const GOOD: Readonly<Record<string, JsonObject>> = {
  'log.open.v1': {
    format: 1,
    jwk: JWK,
    max_lag_ms: 86_400_000,
    skew_ms: 60_000,
    idle_ms: 600_000,
    max_merge_delay_ms: 60_000,
    predecessor: { origin: 'log.example/log/live/1', size: 5, root: HASH },
  },
  'log.closed.v1': { successor: 'log.example/log/live/2' },
  'log.entry_type.v1': {
    name: 'gate.decision.v1',
    schema: { properties: { outcome: {}, step: {} } },
    keys: [
      ['gate.outcome', 'outcome'],
      ['gate.step', 'step', 'outcome'],
    ],
  },
  'log.map_head.v1': { index: 9, covered: 9, map_root: HASH, prev_map_head: 3 },
  'log.key.v1': { key: JWK, status: 'retired' },
  'log.tenant.v1': { tenant_ref: TENANT, key_sha256: HASH },
  'astl.entity.v1': {
    tenant_ref: TENANT,
    entity: 'acme',
    action: 'transfer',
    to_tenant_ref: 'A'.repeat(22),
  },
  'astl.manifest.v1': {
    tenant_ref: TENANT,
    entity: 'acme',
    surfaces: ['offer_extend', 'policy_bind'],
    surface_manifest_hash: HASH,
    valid_from_ms: 0,
    valid_until_ms: 10,
    heartbeat_interval_ms: 30,
    min_detectable_gap_ms: 60,
  },
  'astl.heartbeat.v1': {
    tenant_ref: TENANT,
    entity: 'acme',
    surface: 'policy_bind',
    interval_ms: 1,
    run_since_ms: 0,
    acts_total: 0,
  },
};

function refuses(type: string, changes: JsonObject, without: readonly string[] = []): void {
  const statement: Record<string, JsonObject[string]> = { type, ...GOOD[type], ...changes };
  for (const name of without) Reflect.deleteProperty(statement, name);
  assert.throws(
    () => {
      checkBuiltin(statement);
    },
    (error: Error & { code?: string }) =>
      error.name === 'LogError' && ['entry_invalid', 'key_invalid'].includes(error.code ?? ''),
  );
}

function accepts(type: string, without: readonly string[]): void {
  const statement: Record<string, JsonObject[string]> = { type, ...GOOD[type] };
  for (const name of without) Reflect.deleteProperty(statement, name);
  checkBuiltin(statement);
}

describe('surfaces/builtin', () => {
  it('accepts every entry of the vectors', () => {
    for (const text of entries) {
      const statement = JSON.parse(text) as Record<string, JsonObject[string]>;
      delete statement['signature'];
      checkBuiltin(statement);
    }
  });

  for (const type of BUILTIN_TYPES) {
    describe(type, () => {
      it('is built in, and a valid statement is accepted', () => {
        assert.ok(isBuiltin(type));
        checkBuiltin({ type, ...GOOD[type] });
      });

      it('is refused with another member or with commitments', () => {
        refuses(type, { extra: 1 });
        refuses(type, { signature: 'x' });
        refuses(type, { commitments: {} });
        refuses(type, { toString: 1 });
      });

      it('is refused without any one of its members', () => {
        const optional = [
          'index',
          'to_tenant_ref',
          'valid_until_ms',
          'heartbeat_interval_ms',
          'min_detectable_gap_ms',
          'acts_total',
        ];
        for (const name of Object.keys(GOOD[type] ?? {})) {
          if (!optional.includes(name)) refuses(type, {}, [name]);
        }
      });

      it('is refused with a member of another form', () => {
        for (const name of Object.keys(GOOD[type] ?? {})) {
          if (name === 'index') continue;
          for (const value of [-1, true, '', [1], { a: 1 }]) refuses(type, { [name]: value });
        }
      });
    });
  }

  it('refuses any other type of log. and astl.', () => {
    for (const type of ['log.open.v2', 'log.note.v1', 'astl.witness.v1']) refuses(type, {});
    checkBuiltin({ type: 'logs.note.v1', anything: true });
  });

  it('refuses tenants, tolls and submitters in entries of the log itself', () => {
    refuses('log.map_head.v1', { tenant_ref: TENANT });
    refuses('log.key.v1', { toll: 'hold' });
    refuses('log.closed.v1', { submitter: {} });
  });

  it('requires the four constants of format 1', () => {
    refuses('log.open.v1', { max_lag_ms: 86_400_001 });
    refuses('log.open.v1', { format: 2 });
  });

  it('requires a predecessor of exactly origin, size and root', () => {
    checkBuiltin({ type: 'log.open.v1', ...GOOD['log.open.v1'], predecessor: null });
    const good = { origin: 'log.example/log/live/1', size: 5, root: HASH };
    for (const bad of [
      { ...good, size: 0 },
      { ...good, note: 'x' },
      { ...good, origin: 'log.example/log/other/1' },
      { ...good, origin: 'log example/log/live/1' },
      { ...good, root: HASH.toUpperCase() },
    ]) {
      refuses('log.open.v1', { predecessor: bad });
    }
  });

  it('requires a JWK of exactly kty, crv and x', () => {
    for (const bad of [
      { ...JWK, kid: 'x' },
      { ...JWK, d: JWK.x },
      { ...JWK, crv: 'X25519' },
      { ...JWK, x: `${JWK.x.slice(0, 42)}p` },
    ]) {
      refuses('log.key.v1', { key: bad });
    }
  });

  it('requires a map head to cover exactly the entries before it', () => {
    refuses('log.map_head.v1', { covered: 8 });
    refuses('log.map_head.v1', { prev_map_head: 9 });
  });

  it('requires the new owner in a transfer, and refuses it elsewhere', () => {
    refuses('astl.entity.v1', { action: 'claim' });
    refuses('astl.entity.v1', { action: 'release' });
    refuses('astl.entity.v1', {}, ['to_tenant_ref']);
  });

  it('requires sorted, unique surfaces of the grammar', () => {
    for (const surfaces of [['b', 'a'], ['a', 'a'], ['A'], ['a', 1]]) {
      refuses('astl.manifest.v1', { surfaces });
    }
  });

  it('requires a heartbeat interval of at most half of the detectable gap', () => {
    refuses('astl.manifest.v1', { heartbeat_interval_ms: 31 });
    refuses('astl.manifest.v1', { heartbeat_interval_ms: 0 });
    refuses('astl.manifest.v1', {}, ['heartbeat_interval_ms']);
    accepts('astl.manifest.v1', ['min_detectable_gap_ms']);
  });
});

describe('surfaces/declaration', () => {
  it('refuses names that begin with log. or astl.', () => {
    refuses('log.entry_type.v1', { name: 'log.note.v1', keys: [] });
    refuses('log.entry_type.v1', { name: 'astl.note.v1', keys: [] });
  });

  it('requires templates of its own plugin over members of its own schema', () => {
    for (const keys of [
      [['other.step', 'step']],
      [['gate', 'step']],
      [['surface', 'step']],
      [['gate.step']],
      [[]],
      ['gate.step'],
      [['gate.step', 'kid']],
      [['gate.step', 'unknown']],
      [['gate.step', 'toString']],
      [
        ['gate.step', 'step'],
        ['gate.step', 'outcome'],
      ],
    ]) {
      refuses('log.entry_type.v1', { keys });
    }
  });

  it('refuses members of the envelope of a statement', () => {
    refuses('log.entry_type.v1', { schema: { properties: { permalink: {} } }, keys: [] });
  });
});

// Each rule about links, owners of entities, heartbeat runs and the head map, broken once. log/FORMAT.md §3, §4.

import { toHex } from '../../../log/encoding/bytes.ts';
import type { Json, JsonObject } from '../../../log/encoding/json.ts';
import { act, bent, breaksRules, OTHER } from '../../support/break-rule.ts';
import type { Break, Case } from '../../support/break-rule.ts';
import type { Forge } from '../../support/forge.ts';
import { ACT, ENTITY, hex64, TENANT } from '../../support/forge.ts';

const heartbeat =
  (run_since_ms: number, after_ms = 1000, interval_ms = 5000): Break =>
  (log) => {
    const members = { entity: ENTITY, surface: 'policy_bind', interval_ms, run_since_ms };
    log.add('astl.heartbeat.v1', { tenant_ref: TENANT, ...members }, { after_ms });
  };

const link = (log: Forge, change: JsonObject): Json => {
  const key = ['entity', ENTITY];
  return { key, seq: 1, prev_index: 4, prev_ms: log.ms - 1000, ...change };
};

const cases: readonly Case[] = [
  ['reserved_members', 'an entity in upper case', act({ entity: 'did:example:ACME' })],
  [
    'reserved_members',
    'a surface without an entity',
    (log) => log.add('gate.decision.v1', { outcome: 'DENY', surface: 'policy_bind' }),
  ],
  ['reserved_members', 'a session_ref with spare bits', act({ session_ref: `${'A'.repeat(42)}B` })],
  ['reserved_members', 'an action_ref that is a number', act({ action_ref: 7 })],
  ['reserved_members', 'a payment_hash that is not normal', act({ payment_hash: `0x${hex64(1)}` })],
  ['reserved_members', 'a trigger_id that is no UUIDv7', act({ trigger_id: 'x' })],
  ['links', 'none', bent({ links: undefined })],
  ['links', 'no list', bent({ links: {} })],
  ['links', 'one left out', (log) => bent({ links: [link(log, {})] })(log)],
  [
    'links',
    'the wrong order',
    (log) => {
      const surface = link(log, { key: ['surface', ENTITY, 'policy_bind'] });
      bent({ links: [surface, link(log, {})] })(log);
    },
  ],
  ...(
    [
      { seq: 2 },
      { prev_index: 3 },
      { prev_ms: 1 },
      { seq: 0, prev_index: null, prev_ms: null },
      { more: 1 },
    ] as const
  ).map((change): Case => [
    'links',
    JSON.stringify(change),
    (log) => {
      const surface = link(log, { key: ['surface', ENTITY, 'policy_bind'] });
      bent({ links: [link(log, change), surface] })(log);
    },
  ]),
  [
    'links',
    'on an entry that is on no chain',
    (log) => log.add('gate.decision.v1', { outcome: 'DENY' }, { statement: { links: [] } }),
  ],
  [
    'links',
    'a template left out',
    (log) => {
      const links = [link(log, {}), link(log, { key: ['surface', ENTITY, 'policy_bind'] })];
      log.add('gate.decision.v1', { ...ACT, case_id: 'c-1' }, { statement: { links } });
    },
  ],
  ['entity_claim', 'claimed already', (log) => log.claim()],
  [
    'entity_claim',
    'released by another',
    (log) => {
      log.tenant(OTHER);
      log.add('astl.entity.v1', { tenant_ref: OTHER, entity: ENTITY, action: 'release' });
    },
  ],
  ['entity_owner', 'an unclaimed entity', act({ entity: 'did:example:nobody' })],
  [
    'entity_owner',
    "another tenant's entity",
    (log) => {
      log.tenant(OTHER);
      log.add('gate.decision.v1', { ...ACT, tenant_ref: OTHER });
    },
  ],
  [
    'entity_owner',
    'no tenant',
    (log) => log.add('gate.decision.v1', { outcome: 'DENY', entity: ENTITY }),
  ],
  [
    'entity_owner',
    'after a transfer',
    (log) => {
      log.tenant(OTHER);
      log.add('astl.entity.v1', {
        tenant_ref: TENANT,
        entity: ENTITY,
        action: 'transfer',
        to_tenant_ref: OTHER,
      });
      log.add('gate.decision.v1', ACT);
    },
  ],
  [
    'manifest',
    'another hash',
    (log) => log.manifest({}, { statement: { surface_manifest_hash: hex64(1) } }),
  ],
  [
    'entity_owner',
    'a manifest of another',
    (log) => {
      log.tenant(OTHER);
      log.manifest({}, { statement: { tenant_ref: OTHER } });
    },
  ],
  ['heartbeat', 'a run from before the first', (log) => heartbeat(log.ms)(log)],
  [
    'heartbeat',
    'a run over a gap',
    (log) => {
      heartbeat(log.ms + 1000)(log);
      heartbeat(log.ms, 5001)(log);
    },
  ],
  [
    'heartbeat',
    'a run over a change of interval',
    (log) => {
      heartbeat(log.ms + 1000)(log);
      heartbeat(log.ms, 1000, 6000)(log);
    },
  ],
  [
    'heartbeat',
    'a new run without a gap',
    (log) => {
      heartbeat(log.ms + 1000)(log);
      heartbeat(log.ms + 5000, 5000)(log);
    },
  ],
  ['prev_map_head', 'none', (log) => log.mapHead({ statement: { prev_map_head: null } })],
  ['prev_map_head', 'another', (log) => log.mapHead({ statement: { prev_map_head: 4 } })],
  [
    'map_root',
    'of an older map',
    (log) => {
      const map_root = toHex(log.mapRoot());
      log.add('gate.decision.v1', ACT);
      log.mapHead({ statement: { map_root } });
    },
  ],
];

describe('chain rules', () => {
  breaksRules('chain-rules', cases);
});

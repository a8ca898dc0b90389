// Claims, manifests and heartbeat runs: the vectors replayed, each rule broken once, and runs compared with an
// independent implementation of log/FORMAT.md §4.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { native } from '../../../log/crypto/native.ts';
import type { JsonObject } from '../../../log/encoding/json.ts';
import {
  applySurfaces,
  checkSurfaces,
  isInForce,
  manifestHash,
  runSince,
} from '../../../log/rules/surfaces.ts';
import type { SurfaceState } from '../../../log/rules/surfaces.ts';
import type { Heartbeat, Manifest } from '../../../log/types.ts';

const VECTORS = new URL('../../vectors/absence.json', import.meta.url);
const { entries } = JSON.parse(readFileSync(VECTORS, 'utf8')) as { entries: string[] };

const ANNA = 'A'.repeat(22);
const BERT = 'B'.repeat(22);

function openState(): SurfaceState {
  const owners = new Map<string, string | null>();
  const manifests = new Map<string, Manifest>();
  const heartbeats = new Map<string, Heartbeat>();
  return {
    reader: {
      owner: (entity) => owners.get(entity) ?? null,
      manifest: (entity) => manifests.get(entity) ?? null,
      heartbeat: (entity, surface) => heartbeats.get(`${entity} ${surface}`) ?? null,
    },
    setOwner: (entity, tenant) => void owners.set(entity, tenant),
    setManifest: (entity, manifest) => void manifests.set(entity, manifest),
    setHeartbeat: (entity, surface, heartbeat) =>
      void heartbeats.set(`${entity} ${surface}`, heartbeat),
  };
}

function claim(tenant_ref: string, action = 'claim', more: JsonObject = {}): JsonObject {
  return { type: 'astl.entity.v1', entity: 'acme', tenant_ref, action, ...more };
}

function manifest(tenant_ref: string, more: JsonObject = {}): JsonObject {
  const members = { entity: 'acme', surfaces: ['policy_bind'], valid_from_ms: 5, ...more };
  return {
    type: 'astl.manifest.v1',
    tenant_ref,
    issued_at_ms: 7,
    surface_manifest_hash: manifestHash(native, members),
    ...members,
  };
}

function heartbeat(now: number, interval_ms: number, run_since_ms: number): JsonObject {
  return {
    type: 'astl.heartbeat.v1',
    tenant_ref: ANNA,
    entity: 'acme',
    surface: 'policy_bind',
    issued_at_ms: now,
    interval_ms,
    run_since_ms,
  };
}

/** Applies statements, each of which must be accepted. */
function run(state: SurfaceState, ...statements: readonly JsonObject[]): void {
  for (const [index, statement] of statements.entries()) {
    checkSurfaces(statement, state.reader);
    applySurfaces(statement, index, state);
  }
}

function refuses(state: SurfaceState, statement: JsonObject, code: string): void {
  assert.throws(
    () => {
      checkSurfaces(statement, state.reader);
    },
    { name: 'LogError', code },
  );
}

describe('surfaces/rules: vectors', () => {
  it('are replayed without a violation, to the expected state', () => {
    const state = openState();
    for (const text of entries) {
      const statement = JSON.parse(text) as Record<string, JsonObject[string]>;
      delete statement['signature'];
      checkSurfaces(statement, state.reader);
      applySurfaces(statement, Number(statement['index']), state);
    }
    const { reader } = state;
    assert.equal(reader.owner('did:example:other'), 'dGVuYW50LWV4YW1wbGUtMQ');
    assert.deepEqual(reader.manifest('did:example:acme')?.surfaces, ['policy_bind']);
    assert.equal(reader.manifest('did:example:acme')?.index, 15);
    assert.deepEqual(reader.heartbeat('did:example:acme', 'offer_extend'), {
      index: 8,
      issued_at_ms: 1_790_000_104_000,
      interval_ms: 30_000,
      run_since_ms: 1_790_000_029_000,
    });
  });

  it('have the right hash of every manifest', () => {
    const manifests = entries
      .map((text) => JSON.parse(text) as JsonObject)
      .filter((entry) => entry['type'] === 'astl.manifest.v1');
    assert.equal(manifests.length, 2);
    for (const entry of manifests) {
      assert.equal(manifestHash(native, entry), entry['surface_manifest_hash']);
    }
  });
});

describe('surfaces/rules: claims', () => {
  it('belong to the first tenant, and to the next one after a release', () => {
    const state = openState();
    run(state, claim(ANNA));
    refuses(state, claim(BERT), 'entity_forbidden');
    refuses(state, claim(ANNA), 'entity_forbidden');
    run(state, claim(ANNA, 'release'));
    refuses(state, claim(ANNA, 'release'), 'entity_unclaimed');
    run(state, claim(BERT));
    assert.equal(state.reader.owner('acme'), BERT);
  });

  it('are transferred and released by the owner only', () => {
    const state = openState();
    const give = { to_tenant_ref: BERT };
    refuses(state, claim(ANNA, 'transfer', give), 'entity_unclaimed');
    run(state, claim(ANNA));
    refuses(state, claim(BERT, 'transfer', give), 'entity_forbidden');
    refuses(state, claim(BERT, 'release'), 'entity_forbidden');
    run(state, claim(ANNA, 'transfer', give));
    refuses(state, claim(ANNA, 'release'), 'entity_forbidden');
    run(state, claim(BERT, 'release'));
    assert.equal(state.reader.owner('acme'), null);
  });

  it('determine which tenant may write entries with the entity', () => {
    const state = openState();
    const act = { type: 'gate.decision.v1', entity: 'acme', tenant_ref: ANNA };
    refuses(state, act, 'entity_unclaimed');
    refuses(state, manifest(ANNA), 'entity_unclaimed');
    refuses(state, heartbeat(1, 1, 1), 'entity_unclaimed');
    run(state, claim(BERT));
    refuses(state, act, 'entity_forbidden');
    refuses(state, { type: 'gate.decision.v1', entity: 'acme' }, 'entity_forbidden');
    refuses(state, manifest(ANNA), 'entity_forbidden');
    refuses(state, heartbeat(1, 1, 1), 'entity_forbidden');
    run(state, { ...act, tenant_ref: BERT }, { type: 'gate.decision.v1', tenant_ref: ANNA });
  });
});

describe('surfaces/rules: manifests', () => {
  it('must have the hash of their own members', () => {
    const state = openState();
    run(state, claim(ANNA), manifest(ANNA, { valid_until_ms: 9 }));
    assert.equal(state.reader.manifest('acme')?.valid_until_ms, 9);
    refuses(state, { ...manifest(ANNA), valid_from_ms: 6 }, 'entry_invalid');
    refuses(state, { ...manifest(ANNA), surface_manifest_hash: '0'.repeat(64) }, 'entry_invalid');
  });

  it('have the same hash with and without common members', () => {
    const whole = manifest(ANNA);
    const bare = { entity: 'acme', surfaces: ['policy_bind'], valid_from_ms: 5 };
    assert.equal(manifestHash(native, whole), manifestHash(native, bare));
  });

  it('are in force from their time or their entry, whichever is later, until they end', () => {
    const state = openState();
    run(state, claim(ANNA), manifest(ANNA, { valid_until_ms: 9 }));
    const stands = state.reader.manifest('acme');
    assert.ok(stands !== null);
    assert.deepEqual(
      [5, 6, 7, 9, 10].map((at) => isInForce(stands, at)),
      [false, false, true, true, false],
    );
  });
});

describe('surfaces/rules: heartbeat runs', () => {
  it('continue while the interval is kept, both ends included', () => {
    const state = openState();
    run(state, claim(ANNA), heartbeat(100, 30, 100), heartbeat(130, 30, 100));
    refuses(state, heartbeat(160, 30, 130), 'entry_invalid');
    refuses(state, heartbeat(161, 30, 100), 'entry_invalid');
    refuses(state, heartbeat(140, 31, 100), 'entry_invalid');
    run(state, heartbeat(161, 30, 161), heartbeat(170, 40, 170));
  });

  it('contain exactly the heartbeats without a gap', () => {
    const beat = fc.record({ wait: fc.nat(60), interval: fc.constantFrom(20, 30) });
    fc.assert(
      fc.property(fc.array(beat, { minLength: 1, maxLength: 20 }), (beats) => {
        let now = 1000;
        let prev: Heartbeat | null = null;
        const times: { at: number; interval: number }[] = [];
        for (const [index, { wait, interval }] of beats.entries()) {
          now += wait;
          times.push({ at: now, interval });
          let first = times.length - 1;
          while (
            first > 0 &&
            times[first - 1]?.interval === interval &&
            (times[first]?.at ?? 0) - (times[first - 1]?.at ?? 0) <= interval
          ) {
            first--;
          }
          const run_since_ms = runSince(prev, interval, now);
          assert.equal(run_since_ms, times[first]?.at);
          prev = { index, issued_at_ms: now, interval_ms: interval, run_since_ms };
        }
      }),
    );
  });
});

// Declared surfaces and heartbeat coverage of absence documents. log/FORMAT.md §6.6 to §6.8.

import assert from 'node:assert/strict';
import type { Json, JsonObject } from '../../../log/encoding/json.ts';
import { check, documentOf, MANIFEST, refuses, SURFACE } from '../../support/absence-documents.ts';
import { ENTITY, Forge, START_MS, TENANT } from '../../support/forge.ts';

describe('declared and coverage of an absence document', () => {
  // Entry 4 is the act, 5 the map head, 6 and 7 manifests, 8 and 9 heartbeats, 10 a last manifest.
  const log = new Forge().usual();
  const beats = { heartbeat_interval_ms: 2000, min_detectable_gap_ms: 4000 };
  log.manifest({ ...beats, valid_until_ms: START_MS + 20_000 });
  log.manifest({ heartbeat_interval_ms: 3000, min_detectable_gap_ms: 9000 });
  const beat = { tenant_ref: TENANT, entity: ENTITY, surface: 'policy_bind', interval_ms: 2000 };
  const run_since_ms = log.ms + 1000;
  log.add('astl.heartbeat.v1', { ...beat, run_since_ms });
  log.add('astl.heartbeat.v1', { ...beat, run_since_ms }, { after_ms: 2000 });
  log.manifest({ surfaces: ['offer_extend'], ...beats }, {});
  log.mapHead();
  const ms = (index: number): number =>
    (JSON.parse(log.texts[index]!) as { issued_at_ms: number }).issued_at_ms;

  const declared = (indexes: readonly number[], closing: JsonObject): JsonObject => ({
    manifests: indexes.map((index) => log.opened(index)),
    closing,
  });
  const gap = (index: number): JsonObject => ({ type: 'gap', successor: log.opened(index) });
  const coverage = { heartbeat: log.opened(9) };
  const about = (
    from_ms: number,
    to_ms: number,
    change: Readonly<Record<string, Json>>,
  ): JsonObject =>
    documentOf(log, { key: SURFACE, from_ms, to_ms }, { verdict: 'ABSENT', ...change });

  it('may cover a window with several manifests and one run', () => {
    const two = declared([6, 7], gap(10));
    const from = ms(6) + 1;
    assert.equal(check(about(from, ms(10) - 1, { declared: two, coverage })).verdict, 'ABSENT');
    refuses(about(from, ms(10), { declared: two, coverage }), /step 6: successor/);
    refuses(about(from, ms(10) - 1, { declared: two }), /step 8/);
    const undersampled = about(from, ms(10) - 1, { verdict: 'UNDERSAMPLED', declared: two });
    assert.equal(check(undersampled).verdict, 'UNDERSAMPLED');
  });

  it('must contain every manifest', () => {
    const window = [ms(6) + 1, ms(10) - 1] as const;
    refuses(
      about(...window, { declared: declared([6], gap(10)), coverage }),
      /step 6: an entry of the chain/,
    );
    refuses(
      about(...window, { declared: declared([7], gap(10)), coverage }),
      /step 6: not exactly one/,
    );
    refuses(about(...window, { declared: declared([], gap(10)), coverage }), /step 6/);
    refuses(
      about(...window, { declared: declared([6, 7], log.mapProof(MANIFEST)), coverage }),
      /step 6: head/,
    );
    refuses(
      about(ms(8), ms(10) - 1, { declared: declared([6, 7], gap(10)), coverage }),
      /step 6: not exactly/,
    );
    refuses(about(...window, { declared: declared([6, 8], gap(10)), coverage }), /step 6/);
    refuses(
      about(...window, { declared: { ...declared([6, 7], gap(10)), note: 1 }, coverage }),
      /step 6/,
    );
  });

  it('declare nothing for a surface that the last manifest leaves out', () => {
    const one = declared([10], log.mapProof(MANIFEST));
    const window = [ms(10) + 1, log.ms] as const;
    assert.equal(
      check(about(...window, { verdict: 'UNDECLARED', declared: one })).verdict,
      'UNDECLARED',
    );
    refuses(about(...window, { declared: one }), /step 8/);
  });

  it('require a run over the whole window with the smallest interval', () => {
    const one = declared([7], gap(10));
    const [from, to] = [ms(7) + 1, ms(10) - 1];
    const run = (heartbeat: number): JsonObject => ({ heartbeat: log.opened(heartbeat) });
    assert.equal(check(about(from, to, { declared: one, coverage: run(9) })).verdict, 'ABSENT');
    assert.equal(check(about(from, to, { declared: one, coverage: run(8) })).verdict, 'ABSENT');
    // With both manifests the interval is 2000; the first heartbeat is 2001 before the end.
    const both = declared([6, 7], gap(10));
    const shown = { declared: both, coverage: { heartbeat: log.opened(8) } };
    const late = about(ms(6) + 1, ms(8) + 2001, { ...shown, verdict: 'UNDERSAMPLED' });
    assert.equal(check(late).verdict, 'UNDERSAMPLED');
    assert.equal(check(about(ms(6) + 1, ms(8) + 2000, shown)).verdict, 'ABSENT');
    refuses(about(from, to, { declared: one, coverage: { heartbeat: log.opened(7) } }), /step 7/);
  });

  it('end with valid_until_ms', () => {
    const other = new Forge().usual();
    other.manifest({ valid_until_ms: START_MS + 8000 });
    other.mapHead({ after_ms: 5000 });
    const shown = (to_ms: number, verdict: string): JsonObject =>
      documentOf(
        other,
        { key: SURFACE, from_ms: START_MS + 6001, to_ms },
        {
          verdict,
          declared: { manifests: [other.opened(6)], closing: other.mapProof(MANIFEST) },
        },
      );
    assert.equal(check(shown(START_MS + 8000, 'ABSENT')).verdict, 'ABSENT');
    assert.equal(check(shown(START_MS + 8001, 'UNDECLARED')).verdict, 'UNDECLARED');
  });

  it('begin with valid_from_ms', () => {
    const other = new Forge().usual();
    other.manifest({ valid_from_ms: START_MS + 8000 });
    other.mapHead({ after_ms: 5000 });
    const shown = (from_ms: number, verdict: string): JsonObject =>
      documentOf(
        other,
        { key: SURFACE, from_ms, to_ms: other.ms },
        {
          verdict,
          declared: { manifests: [other.opened(6)], closing: other.mapProof(MANIFEST) },
        },
      );
    assert.equal(check(shown(START_MS + 8000, 'ABSENT')).verdict, 'ABSENT');
    assert.equal(check(shown(START_MS + 7999, 'UNDECLARED')).verdict, 'UNDECLARED');
  });

  it('require a heartbeat of the surface', () => {
    for (const statement of [{ entity: 'other' }, { surface: 'offer_extend' }]) {
      const other = new Forge().usual();
      other.manifest(beats);
      const from_ms = other.ms + 1;
      const run = { ...beat, run_since_ms: other.ms + 1000 };
      other.add('astl.heartbeat.v1', run, { statement });
      other.mapHead();
      const shown = {
        declared: { manifests: [other.opened(6)], closing: other.mapProof(MANIFEST) },
        coverage: { heartbeat: other.opened(7) },
      };
      const question = { key: SURFACE, from_ms, to_ms: other.ms };
      refuses(
        documentOf(other, question, { verdict: 'ABSENT', ...shown }),
        /step 7: the heartbeat is of another surface/,
      );
    }
  });

  it('require the right hash of a manifest', () => {
    const other = new Forge().usual();
    other.manifest({}, { statement: { surface_manifest_hash: '0'.repeat(64) } }).mapHead();
    const declares = { manifests: [other.opened(6)], closing: other.mapProof(MANIFEST) };
    const question = { key: SURFACE, from_ms: other.ms, to_ms: other.ms };
    refuses(
      documentOf(other, question, { verdict: 'ABSENT', declared: declares }),
      /step 6: surface_manifest_hash/,
    );
  });
});

// Tests of plugins/astl/manifest.ts.

import assert from 'node:assert/strict';
import { manifestHash, native } from '../../../log/index.ts';
import type { Manifest } from '../../../log/index.ts';
import { manifestMembers, isSameManifest, wantedManifest } from '../../../plugins/astl/manifest.ts';
import { ApiError } from '../../../plugins/contract/index.ts';

const PRESETS = { hiring: ['offer_extend', 'adverse_action'] };
const NOW = 1_790_000_000_000;
const entity = 'acme';

const refused =
  (param: string, code = 'parameter_invalid') =>
  (error: unknown) =>
    error instanceof ApiError && error.code === code && error.param === param;

describe('plugins/astl/manifest', () => {
  it('sorts surfaces, lists each once and expands a preset', () => {
    const listed = wantedManifest({ entity, surfaces: ['b', 'a', 'b'] }, PRESETS, NOW);
    assert.deepEqual(listed.surfaces, ['a', 'b']);
    const preset = wantedManifest({ entity, preset: 'hiring' }, PRESETS, NOW);
    assert.deepEqual(preset.surfaces, ['adverse_action', 'offer_extend']);
    assert.equal('preset' in preset, false);
  });

  it('enforces the Nyquist limit, odd gaps rounded down', () => {
    const ask = (heartbeat_interval_ms: number, min_detectable_gap_ms: number) => () =>
      wantedManifest(
        { entity, surfaces: ['a'], heartbeat_interval_ms, min_detectable_gap_ms },
        PRESETS,
        NOW,
      );
    assert.equal(ask(50, 101)().heartbeat_interval_ms, 50);
    assert.throws(ask(51, 101), refused('heartbeat_interval_ms'));
  });

  it('refuses a manifest that ends before it begins', () => {
    const ask = (times: object) => () =>
      wantedManifest({ entity, surfaces: ['a'], ...times }, PRESETS, NOW);
    assert.throws(ask({ valid_until_ms: NOW - 1 }), refused('valid_until_ms'));
    const upside = { valid_from_ms: NOW + 10, valid_until_ms: NOW + 9 };
    assert.throws(ask(upside), refused('valid_until_ms'));
    assert.equal(ask({ valid_until_ms: NOW })().valid_until_ms, NOW);
  });

  it('hashes the members that the format names, with the time of the entry by default', () => {
    const wanted = wantedManifest({ entity, surfaces: ['a'], valid_until_ms: NOW }, PRESETS, NOW);
    const members = manifestMembers(wanted, NOW);
    assert.deepEqual(Object.keys(members).sort(), [
      ...['entity', 'surface_manifest_hash', 'surfaces', 'valid_from_ms', 'valid_until_ms'],
    ]);
    assert.equal(members['valid_from_ms'], NOW);
    const { surface_manifest_hash, ...covered } = members;
    assert.equal(surface_manifest_hash, manifestHash(native, covered));
  });

  it('recognises a repeated manifest without its default valid_from_ms, while it is in force', () => {
    const wanted = wantedManifest({ entity, surfaces: ['a'], valid_until_ms: NOW + 100 }, {}, NOW);
    const published = manifestMembers(wanted, NOW) as unknown as Manifest;
    assert.equal(isSameManifest(published, wanted, NOW + 50), true);
    assert.equal(isSameManifest(published, { ...wanted, surfaces: ['b'] }, NOW + 50), false);
    assert.equal(isSameManifest(published, { ...wanted, valid_from_ms: NOW }, NOW + 50), true);
    assert.equal(isSameManifest(published, { ...wanted, valid_from_ms: NOW + 1 }, NOW + 50), false);
    assert.equal(isSameManifest(published, wanted, NOW + 101), false, 'the manifest has expired');
    const later = manifestMembers({ ...wanted, valid_from_ms: NOW + 80 }, NOW);
    assert.equal(
      isSameManifest(later as unknown as Manifest, wanted, NOW + 50),
      false,
      'the manifest is not in force yet',
    );
  });
});

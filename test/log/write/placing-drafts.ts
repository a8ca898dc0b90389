// Drafts of entries, and a type with any members, for the tests of placing.

import type { Draft, EntryType, JsonObject } from '../../../log/index.ts';
import { manifestHash } from '../../../log/rules/surfaces.ts';
import { native } from '../../../log/crypto/native.ts';
import { TENANT } from './kept-log.ts';

/** A draft of the test tenant. */
export const act = (type: string, members: Draft['members'], rest: Partial<Draft> = {}): Draft => ({
  type,
  tenant_ref: TENANT,
  members,
  ...rest,
});

/** A type whose schema allows any members. */
export const LOOSE: EntryType = {
  name: 'gate.loose.v1',
  schema: { type: 'object', properties: { text: {}, list: {}, id: {} } },
  keys: [],
};

/** A draft that claims, transfers or releases the entity `acme`. */
export const claim = (action: string, members: JsonObject = {}): Draft =>
  act('astl.entity.v1', { entity: 'acme', action, ...members });

/** A draft of a manifest of `acme`, with its hash. */
export const manifest = (members: JsonObject = {}): Draft => {
  const own = { entity: 'acme', surfaces: ['bind'], valid_from_ms: 1, ...members };
  const surface_manifest_hash = manifestHash(native, own);
  return act('astl.manifest.v1', { ...own, surface_manifest_hash });
};

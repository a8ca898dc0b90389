// A published manifest in an answer: its hash, head hash, whether it is in force, its receipt and its proof.
// gateway/API.md §9.1; log/FORMAT.md §4.

import { Type } from 'typebox';
import {
  asSchema,
  Count,
  EntityName,
  Hex32,
  isInForce,
  Millis,
  receiptOf,
  SurfaceName,
  toBase64,
  toHex,
} from '../contract/index.ts';
import type { JsonObject, Kind, LogView, Manifest, PluginHost } from '../contract/index.ts';

/** The members of a manifest in its entry. */
export const ManifestSchema = Type.Object(
  {
    entity: EntityName,
    surfaces: Type.Array(SurfaceName),
    surface_manifest_hash: Hex32,
    valid_from_ms: Millis,
    valid_until_ms: Type.Optional(Millis),
    heartbeat_interval_ms: Type.Optional(Millis),
    min_detectable_gap_ms: Type.Optional(Millis),
  },
  { $id: 'Manifest' },
);

/** The receipt of a manifest. */
export const ManifestReceipt = receiptOf({
  name: 'astl.manifest.v1',
  schema: asSchema(ManifestSchema),
});

/** Proofs that connect the entry and the head hash with a checkpoint. */
const ManifestProof = Type.Object(
  {
    checkpoint: Type.String(),
    size: Count,
    inclusion: Type.Array(Type.String(), { description: 'From the entry to the root.' }),
    consistency: Type.Array(Type.String(), {
      description: 'From size index + 1 to the checkpoint.',
    }),
  },
  { $id: 'ManifestProof' },
);

/** A manifest with its state, receipt and proof. */
export const ShownManifest = Type.Object(
  {
    origin: Type.String(),
    index: Count,
    surface_manifest_hash: Hex32,
    head_hash: Hex32,
    in_force: Type.Boolean({
      description: 'Whether it is valid now and no later manifest of the entity has replaced it.',
    }),
    superseded_by: Type.Union([Hex32, Type.Null()]),
    manifest: ManifestSchema,
    receipt: ManifestReceipt,
    proof: ManifestProof,
  },
  { $id: 'ShownManifest' },
);

const MEMBERS = Object.keys(ManifestSchema.properties);

/** Selects the members of a manifest from its statement. */
export const membersOf = (statement: JsonObject): JsonObject =>
  Object.fromEntries(
    MEMBERS.flatMap((name) => {
      const value = statement[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** Hex of the log's root at size index + 1. */
export const headHash = (log: LogView, index: number): string => toHex(log.rootAt(index + 1));

/** The served log with this origin; throws a plain error if there is none. */
export function logOf(host: PluginHost, kind: Kind, origin: unknown): LogView {
  const log = host.logs(kind).find((served) => served.origin === origin);
  if (log === undefined) throw new Error(`the log ${String(origin)} is not served`);
  return log;
}

/** A place in the logs of a kind. */
export interface Found {
  readonly log: LogView;
  readonly index: number;
}

/** The newest manifest with this hash in the logs of these kinds. */
export function byHash(host: PluginHost, kinds: readonly Kind[], hash: string): Found | null {
  for (const log of kinds.flatMap((kind) => host.logs(kind).toReversed())) {
    const index = log.manifestOfHash(hash);
    if (index !== null) return { log, index };
  }
  return null;
}

/** The newest manifest of an entity in the logs of a kind. */
export function byEntity(host: PluginHost, kind: Kind, entity: string): Found | null {
  for (const log of host.logs(kind).toReversed()) {
    const manifest = log.surfaces().manifest(entity);
    // A manifest that is sequenced but not yet committed to disk is not shown.
    if (manifest !== null && log.entry(manifest.index) !== null) {
      return { log, index: manifest.index };
    }
  }
  return null;
}

/** Whether a manifest is in force now, and the hash of the manifest that replaced it. */
function stateOf(
  host: PluginHost,
  { log, index }: Found,
  statement: JsonObject,
): { in_force: boolean; superseded_by: string | null } {
  const newest = byEntity(host, log.kind, statement['entity'] as string);
  const replaced = newest !== null && (newest.log !== log || newest.index !== index);
  if (replaced) {
    const by = newest.log.receipt(newest.index)?.['surface_manifest_hash'];
    return { in_force: false, superseded_by: by as string };
  }
  return {
    in_force: isInForce(statement as unknown as Manifest, host.now()),
    superseded_by: null,
  };
}

/** Shows a manifest with its proofs. Waits for a checkpoint that covers it. */
export async function shownManifest(host: PluginHost, found: Found): Promise<JsonObject> {
  const { log, index } = found;
  const receipt = log.receipt(index);
  if (receipt === null) throw new Error(`entry ${String(index)} has no receipt`);
  const { size, note } = await log.covering(index + 1);
  return {
    origin: log.origin,
    index,
    surface_manifest_hash: receipt['surface_manifest_hash'] as string,
    head_hash: headHash(log, index),
    ...stateOf(host, found, receipt),
    manifest: membersOf(receipt),
    receipt,
    proof: {
      checkpoint: note,
      size,
      inclusion: log.inclusion(index, size).map(toBase64),
      consistency: log.consistency(index + 1, size).map(toBase64),
    },
  };
}

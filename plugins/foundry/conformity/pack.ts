// The regulatory pack of a system: where the AI Act puts it, what Article 12 asks of it, and what the log has of it.
// A pack is a document; its entry commits to it. gateway/API.md §2.2, §10.9; the texts are in catalogs/foundry.json.

import { createHash } from 'node:crypto';
import { canonical } from '../../../log/index.ts';
import type { JsonObject } from '../../contract.ts';
import type { Category, FoundryCatalog } from '../catalog.ts';

/** Schema of a pack. */
const PACK_SCHEMA = 'svc-conformity-pack-v1';

/** What a pack leaves open. */
const DOES_NOT_ASSERT = {
  conformity: 'that the system conforms: the pack gathers what a conformity assessment looks at',
  controls_in_place: 'that the risk controls it lists are in place',
  acts_never_logged: 'anything about acts that were never logged',
} as const;

/** What the log has of the session that a pack speaks of. */
export interface Evidence {
  readonly session_ref: string;
  readonly events: number;
  readonly first_index: number | null;
  readonly last_index: number | null;
}

/** What a pack is made of; the same gives the same document. */
export interface PackParts {
  readonly category_id: string;
  readonly origin: string;
  readonly system?: { readonly name: string; readonly version: string };
  readonly evidence: Evidence | null;
}

/** The category of a pack. */
export function categoryOf(catalog: FoundryCatalog, category_id: string): Category | undefined {
  return catalog.conformity.categories.find((known) => known.category_id === category_id);
}

/** Builds the document. */
export function packOf(catalog: FoundryCatalog, parts: PackParts): JsonObject {
  const { category_id, origin, system, evidence } = parts;
  const category = categoryOf(catalog, category_id);
  if (category === undefined) throw new Error(`the catalog has no category ${category_id}`);
  const { label, annex_iii, annex_iii_points, article_12, risk_controls } = category;
  return {
    schema: PACK_SCHEMA,
    regulation: catalog.conformity.regulation,
    category_id,
    label,
    annex_iii: {
      listed: annex_iii !== null,
      point: annex_iii,
      points: [...annex_iii_points],
    },
    article_12: {
      text: article_12,
      applies: annex_iii === null ? 'voluntarily' : 'where the system is high-risk',
      automatic_recording: 'every act is an entry of an append-only log, signed and proven',
      evidence:
        evidence === null
          ? { status: 'not_evidenced', note: 'no session is named' }
          : {
              status: evidence.events > 0 ? 'met' : 'not_evidenced',
              ...{ session_ref: evidence.session_ref, events: evidence.events },
              ...{ first_index: evidence.first_index, last_index: evidence.last_index },
            },
    },
    risk_controls: risk_controls.map((control) => ({ control, status: 'not_evidenced' })),
    ...(system === undefined ? {} : { system: { name: system.name, version: system.version } }),
    origin,
    does_not_assert: Object.values(DOES_NOT_ASSERT),
  };
}

/** SHA-256 over the canonical form of a document, hex. */
export function documentHash(document: JsonObject): string {
  return createHash('sha256').update(canonical(document)).digest('hex');
}

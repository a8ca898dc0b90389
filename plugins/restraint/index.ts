// Restraint: proof that an act was not done, by decision; what would have come of another course; and seals on
// what must not be destroyed. gateway/API.md §7.7, §7.9.

import { definePlugin } from '../contract/index.ts';
import type { Caller, Draft, JsonObject, Kind } from '../contract/index.ts';
import {
  ccrType,
  holdMark,
  RECORD,
  recordType,
  releaseType,
  restraintErrors,
  sealType,
} from './entries.ts';
import type { Hold } from './entries.ts';
import { holdOver, releaseRoute } from './release.ts';
import { replayRoute, RESTRAINT_EVALUATOR } from './replay.ts';
import type { Evaluator } from './replay.ts';
import { restraintRoutes } from './routes.ts';
import { sealed, sealRoute } from './seal.ts';

export { restraintObject, RestraintObject } from './routes.ts';
export { CAUSES, restraintDraft, restraintReceiptRef } from './record.ts';
export type { Restraint } from './record.ts';
export { RECORD, restraintErrors } from './entries.ts';
export type { Hold } from './entries.ts';
export type { Evaluator, Replayed } from './replay.ts';

/** What other plugins get from restraint. */
export interface RestraintApi {
  /** The spoliation hold over an entry of this statement, or null: what it commits to must not be destroyed. */
  holdOver(kind: Kind, statement: JsonObject): Promise<Hold | null>;
  /** Row, by its whole name, that every new hold of the tenant changes. */
  holdMark(tenant_ref: string): string;
  /** A spoliation seal over sessions of the caller, for a group of the asking plugin. */
  readonly seal: (
    caller: Caller,
    scope: { readonly trigger_event: string; readonly session_ids: readonly string[] },
  ) => Promise<Draft>;
  /** Says how decisions of a type are re-evaluated; called while plugins are set up. */
  evaluates(type: string, evaluator: Evaluator): void;
}

/** The plugin `restraint`. */
export default definePlugin<RestraintApi>({
  contract: 2,
  name: 'restraint',
  title: 'Restraint',
  requires: ['pdtr'],
  errors: restraintErrors,
  types: [recordType, ccrType, sealType, releaseType],
  setup(host) {
    const evaluators = new Map<string, Evaluator>([[RECORD, RESTRAINT_EVALUATOR]]);
    const retention = {
      holdOver: (kind: Kind, statement: JsonObject) => holdOver(host, kind, statement),
      holdMark,
    };
    return {
      retention,
      api: {
        ...retention,
        seal: async (caller, scope) =>
          (await sealed(host, host.toll('spoliation_seal'), caller, scope)).draft,
        evaluates(type, evaluator) {
          evaluators.set(type, evaluator);
        },
      },
      routes: [
        ...restraintRoutes(host),
        replayRoute(host, evaluators),
        sealRoute(host),
        releaseRoute(host),
      ],
    };
  },
});

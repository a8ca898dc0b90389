// The action manifest: which requests of a service need a receipt. Portable. gateway/API.md §8.2; the shape is that
// of EP-ACTION-RISK-MANIFEST-v0.1 (emilia-protocol, Apache-2.0), its JSON Schema is in catalogs/require-receipt/.

import type { Json, JsonObject } from '../../log/verify.ts';
import { ACTION_TYPE } from './action.ts';
import {
  ASSURANCE,
  CHALLENGE_HEADER,
  MANIFEST_PATH,
  MAX_AGE_S,
  PROFILE,
  PROOF_HEADER,
  STATUS,
} from './challenge.ts';

/** Version of the manifest's shape. */
export const MANIFEST_VERSION = 'EP-ACTION-RISK-MANIFEST-v0.1';

/** An action that needs a receipt, as its service declares it. */
export interface DeclaredAction {
  /** Names it in the manifest. */
  readonly id: string;
  /** What policies speak of, such as `payment.release`. */
  readonly action_type: string;
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'GET';
  /** Path as a reader of the manifest calls it: `/refunds`, or `/refunds/{id}`. */
  readonly path: string;
  readonly description?: string;
  /** Critical actions need more than the word of a policy; see ASSURANCE. */
  readonly risk?: 'medium' | 'high';
  /** A body that works, for a runner of the conformance checks. */
  readonly example?: Json;
}

/** Who publishes a manifest. */
export interface ManifestService {
  readonly name: string;
  /** Origins of the logs whose permits are taken, or whatever else names the issuer. */
  readonly issuer: string;
  /** Address of the manifest; its well-known path unless given. */
  readonly manifest_url?: string;
  /** Where the standard can be read. */
  readonly spec?: string;
}

/** The manifest of a service. */
export function manifestOf(
  service: ManifestService,
  actions: readonly DeclaredAction[],
): JsonObject {
  const { name, issuer, manifest_url = MANIFEST_PATH, spec } = service;
  return {
    '@version': MANIFEST_VERSION,
    // The shape that its authors go on with; it has no reader yet that this one has not.
    superseded_by: 'EP-ACTION-CONTROL-MANIFEST-v0.2',
    service: { name, issuer, manifest_url },
    receipt_required: {
      status: STATUS,
      status_text: 'Precondition Required',
      challenge_header: CHALLENGE_HEADER,
      proof_header: PROOF_HEADER,
      receipt_profile: PROFILE,
      ...(spec === undefined ? {} : { spec }),
    },
    defaults: {
      read_only: 'allow',
      missing_receipt: 'refuse',
      invalid_receipt: 'refuse',
      stale_receipt: 'refuse',
    },
    actions: actions.map((action) => ({
      id: action.id,
      ...(action.description === undefined ? {} : { description: action.description }),
      match: { protocol: 'http', method: action.method, path: action.path },
      action_type: action.action_type,
      risk: action.risk ?? 'high',
      receipt_required: true,
      assurance_class: ASSURANCE,
      max_age_sec: MAX_AGE_S,
      ...(action.example === undefined ? {} : { example: action.example }),
    })),
  };
}

const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'];
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Refuses, with a TypeError, a declaration that a header or a manifest could not carry. */
export function checkDeclared(action: DeclaredAction): void {
  const given = ((action as unknown) ?? {}) as Readonly<Record<string, unknown>>;
  const { id, action_type, method, path, risk } = given;
  if (typeof id !== 'string' || !ID.test(id)) {
    throw new TypeError(`the id of an action must match ${ID.source}, not be ${String(id)}`);
  }
  const of = `of the action ${id} must`;
  if (typeof action_type !== 'string' || !ACTION_TYPE.test(action_type)) {
    const { source } = ACTION_TYPE;
    throw new TypeError(`action_type ${of} match ${source}, not be ${String(action_type)}`);
  }
  if (!METHODS.includes(String(method))) {
    throw new TypeError(`method ${of} be one of ${METHODS.join(', ')}, not ${String(method)}`);
  }
  if (typeof path !== 'string' || !path.startsWith('/')) {
    throw new TypeError(`path ${of} start with a slash, not be ${String(path)}`);
  }
  if (risk !== undefined && risk !== 'medium' && risk !== 'high') {
    throw new TypeError(`risk ${of} be medium or high, not ${JSON.stringify(risk)}`);
  }
}

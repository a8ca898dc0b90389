// What the world says of an act, recomputed: a preimage of any profile in, every action_ref out.
// gateway/API.md §7.6.

import { ApiError, canonical } from '../contract/index.ts';
import type { JsonObject } from '../contract/index.ts';
import { actionRefs, preimageOf, profileOf } from './action-ref.ts';
import type { ActionRefs, ActionTuple, Profile } from './action-ref.ts';
import { pdtrErrors } from './entries.ts';

/** A verify request after its schema. */
interface VerifyRequest {
  readonly action_ref?: string;
  readonly action_type?: string;
  readonly agent_id?: string;
  readonly scope?: string;
  readonly timestamp_ms?: number;
  readonly seq?: number;
  readonly terminal?: boolean;
  readonly preimage?: object;
}

/** One thing that keeps an action_ref from being valid. */
interface VerifyProblem {
  readonly code: 'parameter_missing' | 'action_ref_mismatch';
  readonly message: string;
  readonly param: string;
}

/** What is answered. `ok` is whether there was enough to compute from; `valid` is null where nothing was compared. */
interface Verified {
  readonly ok: boolean;
  readonly valid: boolean | null;
  readonly match_profile: Profile | null;
  readonly computed: ActionRefs | null;
  readonly claimed: string | null;
  readonly canonical: string | null;
  readonly preimage_used: JsonObject | null;
  readonly ignored_fields: readonly string[];
  readonly errors: readonly VerifyProblem[];
}

type Field = keyof ActionTuple | 'timestamp';

/** The members of a preimage by the names that some profile has for them. */
const FIELDS: ReadonlyMap<string, Field> = new Map<string, Field>([
  ...(
    ['agent_id', 'action_type', 'scope', 'timestamp_ms', 'timestamp', 'seq', 'terminal'] as const
  ).map((name): [string, Field] => [name, name]),
  ['agentId', 'agent_id'],
  ['actionType', 'action_type'],
  ['timestampMs', 'timestamp_ms'],
]);

const NEEDED = ['agent_id', 'action_type', 'scope'] as const;
const RFC3339_MS = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/**
 * Recomputes the action_ref of a preimage and compares a claimed one.
 *
 * @throws ApiError `preimage_conflict`, `ambiguous_timestamp`, `parameter_invalid`
 */
export function verifyActionRef(request: VerifyRequest): Verified {
  const { fields, ignored } = fieldsOf(request);
  const claimed = request.action_ref ?? null;
  const missing = [
    ...NEEDED.filter((name) => !fields.has(name)),
    ...(fields.has('timestamp') || fields.has('timestamp_ms') ? [] : ['timestamp_ms']),
  ];
  if (missing.length > 0) {
    const errors = missing.map((param): VerifyProblem => {
      return { code: 'parameter_missing', message: `${param} is missing`, param };
    });
    const nothing = { match_profile: null, computed: null, canonical: null, preimage_used: null };
    return { ok: false, valid: null, ...nothing, claimed, ignored_fields: ignored, errors };
  }
  const tuple = tupleOf(fields);
  const computed = actionRefs(tuple);
  const match_profile = claimed === null ? null : profileOf(claimed, computed);
  const mismatch = claimed !== null && match_profile === null;
  const shown = match_profile ?? (fields.has('timestamp') ? 'action-ref-v1' : 'action-ref-v1-ms');
  const preimage_used = preimageOf(shown, tuple);
  return {
    ok: true,
    valid: claimed === null ? null : !mismatch,
    match_profile,
    computed,
    claimed,
    canonical: preimage_used === null ? null : canonical(preimage_used),
    preimage_used,
    ignored_fields: ignored,
    errors: mismatch
      ? [{ code: 'action_ref_mismatch', message: 'it is that of no profile', param: 'action_ref' }]
      : [],
  };
}

function fieldsOf(request: VerifyRequest): { fields: Map<Field, unknown>; ignored: string[] } {
  const fields = new Map<Field, unknown>();
  const ignored: string[] = [];
  const take = (field: Field, value: unknown, param: string): void => {
    if (fields.has(field) && fields.get(field) !== value) {
      throw new ApiError(pdtrErrors.preimage_conflict, `${param} is given twice, differently`, {
        param,
      });
    }
    checkField(field, value, param);
    fields.set(field, value);
  };
  for (const [name, value] of Object.entries(request.preimage ?? {})) {
    const field = FIELDS.get(name);
    if (field === undefined) ignored.push(name);
    else take(field, value, `preimage.${name}`);
  }
  for (const name of [...NEEDED, 'timestamp_ms', 'seq', 'terminal'] as const) {
    if (request[name] !== undefined) take(name, request[name], name);
  }
  if (fields.has('timestamp') && fields.has('timestamp_ms')) {
    throw new ApiError(
      pdtrErrors.ambiguous_timestamp,
      'timestamp and timestamp_ms are given: one is hashed',
      {
        param: 'timestamp',
      },
    );
  }
  return { fields, ignored };
}

function checkField(field: Field, value: unknown, param: string): void {
  const refuse = (rule: string): never => {
    throw new ApiError('parameter_invalid', `${param} ${rule}`, { param });
  };
  switch (field) {
    case 'timestamp_ms':
    case 'seq':
      if (Number.isSafeInteger(value) && (value as number) >= 0) return;
      return refuse('must be an integer from 0 to 2^53 - 1');
    case 'terminal':
      if (typeof value === 'boolean') return;
      return refuse('must be true or false');
    case 'timestamp':
      if (typeof value === 'string' && isTimestamp(value)) return;
      return refuse('must be RFC 3339 with exactly three decimals and Z');
    default:
      if (typeof value === 'string') return;
      return refuse('must be a string');
  }
}

/** An instant in its one spelling: 30 February is none. */
function isTimestamp(text: string): boolean {
  if (!RFC3339_MS.test(text)) return false;
  const ms = Date.parse(text);
  return ms >= 0 && new Date(ms).toISOString() === text;
}

function tupleOf(fields: ReadonlyMap<Field, unknown>): ActionTuple {
  const timestamp = fields.get('timestamp') as string | undefined;
  const known = Object.fromEntries(fields) as Partial<ActionTuple>;
  const { agent_id = '', action_type = '', scope = '', seq = 0, terminal = true } = known;
  const timestamp_ms = timestamp === undefined ? (known.timestamp_ms ?? 0) : Date.parse(timestamp);
  return { agent_id, action_type, scope, timestamp_ms, seq, terminal };
}

// What an entry of a built-in type says, in one plain English sentence. Pages show it beside the members; nothing is
// computed from it. Browser-safe. log/FORMAT.md §1, §4, §5.

import type { JsonObject } from '../encoding/json.ts';
import { isBuiltin } from '../map/grammar.ts';
import type { BuiltinType } from '../map/grammar.ts';

/** Most characters of a sentence, its full stop included. */
export const MAX_SENTENCE = 200;

/** Most characters of a name in a sentence. */
const MAX_NAME = 32;

/** A name as a sentence shows it: whole, or its first characters with `…`. */
export const shortName = (name: string, most = MAX_NAME): string =>
  name.length <= most ? name : `${name.slice(0, most - 1)}…`;

/** A number and its noun: `1 act`, `5 acts`. */
export const plural = (count: number, noun: string, nouns = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : nouns}`;

/** Milliseconds of a statement as UTC to the second, `2026-01-31T08:30:00Z`. */
export const utcOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** The members that the sentences below read, as `checkBuiltin` admits them for the types that have them. */
interface Members {
  readonly origin: string;
  readonly tenant_ref: string;
  readonly to_tenant_ref: string;
  readonly entity: string;
  readonly surface: string;
  readonly surfaces: readonly string[];
  readonly predecessor: { readonly origin: string; readonly size: number } | null;
  readonly successor: string | null;
  readonly name: string;
  readonly covered: number;
  readonly key: { readonly x: string };
  readonly status: 'active' | 'retired' | 'revoked';
  readonly action: 'claim' | 'transfer' | 'release';
  readonly valid_from_ms: number;
  readonly valid_until_ms?: number;
  readonly heartbeat_interval_ms?: number;
  readonly interval_ms: number;
  readonly run_since_ms: number;
}

const SENTENCES: Readonly<Record<BuiltinType, (statement: Members) => string>> = {
  'log.open.v1'({ origin, predecessor }) {
    const opened = `The log ${shortName(origin)} was opened`;
    if (predecessor === null) return `${opened}.`;
    const { origin: before, size } = predecessor;
    return `${opened} as the successor of ${shortName(before)}, which has ${plural(size, 'entry', 'entries')}.`;
  },
  'log.closed.v1': ({ successor }) =>
    successor === null
      ? 'The log was closed and names no successor.'
      : `The log was closed, and its successor is ${shortName(successor)}.`,
  'log.entry_type.v1': ({ name }) => `The entry type ${shortName(name, 64)} was declared.`,
  'log.map_head.v1': ({ covered }) =>
    `The log stated the root of its head map over its first ${plural(covered, 'entry', 'entries')}.`,
  'log.key.v1': ({ key, status }) =>
    `The log declared the receipt key whose public part begins with ${key.x.slice(0, 8)} to be ${status}.`,
  'log.tenant.v1': ({ tenant_ref }) => `The tenant ${tenant_ref} was registered in the log.`,
  'astl.entity.v1'({ tenant_ref, entity, action, to_tenant_ref }) {
    const name = shortName(entity);
    if (action === 'claim') return `The tenant ${tenant_ref} claimed the entity ${name}.`;
    if (action === 'release') return `The tenant ${tenant_ref} released the entity ${name}.`;
    return `The tenant ${tenant_ref} transferred the entity ${name} to the tenant ${to_tenant_ref}.`;
  },
  'astl.manifest.v1'(statement) {
    const { entity, surfaces, valid_from_ms, valid_until_ms, heartbeat_interval_ms } = statement;
    const until = valid_until_ms === undefined ? '' : ` until ${utcOf(valid_until_ms)}`;
    const promise =
      heartbeat_interval_ms === undefined
        ? ', and promises no heartbeats'
        : `, with heartbeats every ${heartbeat_interval_ms / 1000} s`;
    return `The entity ${shortName(entity)} declared ${plural(surfaces.length, 'surface')} from ${utcOf(valid_from_ms)}${until}${promise}.`;
  },
  'astl.heartbeat.v1'({ entity, surface, interval_ms, run_since_ms }) {
    return `The entity ${shortName(entity)} sent a heartbeat for the surface ${shortName(surface)}, in a run since ${utcOf(run_since_ms)}; the next is due within ${interval_ms / 1000} s.`;
  },
};

/** The sentence of an admitted statement of a built-in type; null for a statement of another type. */
export function builtinSentence(statement: JsonObject): string | null {
  const { type } = statement;
  if (typeof type !== 'string' || !isBuiltin(type)) return null;
  return SENTENCES[type](statement as unknown as Members); // `checkBuiltin` admitted it
}

// The grammars of identifiers in statements and chain keys, and the names of the built-in types (log/FORMAT.md §2, §3).
//
// Each grammar allows one spelling of a value. A second spelling would put entries about the same thing on two chains,
// and a proof of absence for one of them would miss those on the other. Browser-safe.

import type { Json } from '../encoding/json.ts';
import type { Kind } from '../types.ts';

/** A grammar of strings, with its description for error messages. */
export interface Grammar {
  readonly test: (text: string) => boolean;
  readonly rule: string;
}

/** 256 bits in base64url. 43 characters have 258 bits; the two surplus bits of the last character must be zero. */
const HASH_NAME = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/u;

/** An entity: an identifier in lower case, 1 to 256 characters. */
export const entity = pattern(/^[a-z0-9][a-z0-9:._-]{0,255}$/u);

/** An attempt surface, 1 to 64 characters. */
export const surface = pattern(/^[a-z][a-z0-9_]{0,63}$/u);

/** An HMAC in base64url, 43 characters. */
export const sessionRef = pattern(HASH_NAME);

/** An RFC 7638 thumbprint in base64url, 43 characters. */
export const kid = pattern(HASH_NAME);

/**
 * A payment hash in the normal form of gateway/API.md §7.3: it has no prefix that normalising removes, and 64 hex
 * digits are in lower case. Normalising it again does not change it.
 */
export const paymentHash: Grammar = {
  test: (text) =>
    /^[A-Za-z0-9:_+/=.-]{16,128}$/u.test(text) &&
    !/^(?:sha256:|0x)/u.test(text) &&
    !(/^[0-9A-Fa-f]{64}$/u.test(text) && /[A-F]/u.test(text)),
  rule: 'its normal form of 16 to 128 characters',
};

/** An action_ref: 64 lower-case hex digits. */
export const actionRef = pattern(/^[0-9a-f]{64}$/u);

/** A UUIDv7 in lower case. */
export const uuidV7 = pattern(
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/u,
);

/** The name of an entry type: `<plugin>.<word>.v<N>`. */
export const typeName = pattern(/^[a-z][a-z0-9-]*\.[a-z][a-z0-9_]*\.v[1-9][0-9]*$/u);

/** A declared chain kind: `<plugin>.<word>`. */
// The annotations allow a bundler to leave out what a bundle does not use.
export const declaredKind = /* @__PURE__ */ pattern(/^[a-z][a-z0-9-]*\.[a-z][a-z0-9_]*$/u);

/** A tenant_ref: 22 random base64url characters. */
export const tenantRef = /* @__PURE__ */ pattern(/^[A-Za-z0-9_-]{22}$/u);

/** A SHA-256 in lower-case hex. */
export const hashHex = actionRef;

function pattern(expression: RegExp): Grammar {
  return { test: (text) => expression.test(text), rule: expression.source };
}

/** The parts of an origin. */
export interface OriginParts {
  readonly host: string;
  readonly kind: Kind;
  readonly number: number;
}

/** Splits `<host>/log/<kind>/<n>` (log/FORMAT.md §1.1); null for anything else. */
export function originParts(origin: string): OriginParts | null {
  const [, host, kind, n] = /^(.+)\/log\/(live|sandbox)\/([1-9][0-9]{0,15})$/u.exec(origin) ?? [];
  if (host === undefined || (kind !== 'live' && kind !== 'sandbox')) return null;
  return { host, kind, number: Number(n) };
}

/** Whether a value is the origin of the next log of a kind (`step` 1) or of the one before it (−1), on any host. */
export function isNeighbour(
  value: Json | undefined,
  { kind, number }: OriginParts,
  step: 1 | -1,
): boolean {
  const other = typeof value === 'string' ? originParts(value) : null;
  return other !== null && other.kind === kind && other.number === number + step;
}

/** The built-in types, which are never declared. No other type may begin with `log.` or `astl.`. */
export const BUILTIN_TYPES = [
  'log.open.v1',
  'log.closed.v1',
  'log.entry_type.v1',
  'log.map_head.v1',
  'log.key.v1',
  'log.tenant.v1',
  'astl.entity.v1',
  'astl.manifest.v1',
  'astl.heartbeat.v1',
] as const;

/** The name of a built-in type. */
export type BuiltinType = (typeof BUILTIN_TYPES)[number];

const builtinNames: ReadonlySet<string> = /* @__PURE__ */ new Set(BUILTIN_TYPES);

/** Whether the core itself defines this type. */
export function isBuiltin(type: string): type is BuiltinType {
  return builtinNames.has(type);
}

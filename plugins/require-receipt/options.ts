// What the options of the guard must be. They may come from JavaScript, and from an environment that lacks them: it is
// said at the start, not by acts that are refused for ever. Portable. gateway/API.md §8.2.

import { isJsonObject } from '../../log/verify.ts';
import type { Json } from '../../log/verify.ts';
import type { Issuer } from './challenge.ts';
import type { ManifestService } from './manifest.ts';
import type { ReplayStore } from './replay.ts';
import type { KeyOptions, KeySource } from './trusted-keys.ts';

/** What a service trusts, and how. */
export interface GuardOptions extends KeyOptions {
  /** Verifier key of the log whose permits are taken, or of several: its name is the origin. Pins the log. */
  readonly log: string | readonly string[];
  /** The log's JWKS: `https://…/crypto/jwks.json`, or the document itself. */
  readonly jwks: KeySource;
  /**
   * tenant_refs whose gate is believed. Every tenant writes its own policy, so `any` lets everybody who has a
   * key of that log permit their own acts.
   */
  readonly tenants: Issuer['tenants'];
  /** What this service goes by, such as `https://shop.example`: no permit for another service is one here. */
  readonly audience: string;
  /** Who the manifest says publishes it. */
  readonly service?: Partial<ManifestService> & { readonly name: string };
  /** Used permits; in this process's memory unless given. */
  readonly replay?: ReplayStore;
  /** C2SP tlog-policy text: cosignatures that the permit's checkpoint needs. */
  readonly policy?: string;
  /** Absolute address of the gate's endpoint, for the challenge. */
  readonly gate?: string;
  /** Milliseconds of UTC; `Date.now` unless given. */
  readonly now?: () => number;
}

/** A name that a service goes by where it has no address. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9:._-]{0,255}$/;

/** Throws a TypeError that names the first option that could not hold. */
export function checkOptions(options: GuardOptions): void {
  if (typeof (options as unknown) !== 'object' || (options as unknown) === null) {
    throw new TypeError('the options are missing');
  }
  const { log, jwks, tenants, audience, service, replay, policy, gate, now, warn } =
    options as Partial<Record<keyof GuardOptions, unknown>>;
  const keys = typeof log === 'string' ? [log] : log;
  if (!Array.isArray(keys) || keys.length === 0 || !keys.every((key) => typeof key === 'string')) {
    throw new TypeError('log must be the verifier key (vkey) of a log, or a list of them');
  }
  const document = isJsonObject(jwks as Json | undefined)
    ? (jwks as { keys?: unknown }).keys
    : null;
  if (!(typeof jwks === 'string' || jwks instanceof URL || Array.isArray(document))) {
    throw new TypeError('jwks must be the address of a JWKS, or the document');
  }
  // `tenants` is what makes a permit mean something.
  const refs = Array.isArray(tenants) ? (tenants as readonly unknown[]) : [];
  const named = refs.length > 0 && refs.every((ref) => /^[A-Za-z0-9_-]{22}$/.test(String(ref)));
  if (tenants !== 'any' && !named) {
    throw new TypeError("tenants must be a list of tenant_refs, or 'any'");
  }
  checkAudience(audience);
  if (service !== undefined && !isText(membersOf(service)['name'])) {
    throw new TypeError('service must have a name');
  }
  if (replay !== undefined && typeof membersOf(replay)['use'] !== 'function') {
    throw new TypeError('replay must have the function use');
  }
  if (policy !== undefined && typeof policy !== 'string') {
    throw new TypeError('policy must be the text of a policy');
  }
  if (gate !== undefined && !(typeof gate === 'string' && URL.canParse(gate))) {
    throw new TypeError('gate must be an absolute address');
  }
  for (const [name, value] of Object.entries({ now, warn })) {
    if (value !== undefined && typeof value !== 'function') {
      throw new TypeError(`${name} must be a function`);
    }
  }
}

/** Agents compare it with the service that they ask: an address with a path would be that of no service. */
function checkAudience(audience: unknown): void {
  if (!isText(audience)) throw new TypeError('audience is missing');
  if (NAME.test(audience)) return;
  const url = URL.canParse(audience) ? new URL(audience) : null;
  if (url !== null && /^https?:$/.test(url.protocol) && url.origin === audience) return;
  throw new TypeError(
    `audience must be an origin such as https://shop.example, or a name; ${audience} is neither`,
  );
}

/** What an option comes to; what refuses it gets its name. */
export function option<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new TypeError(`${name} does not hold: ${(cause as Error).message}`, { cause });
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** The members of anything; none of what has none. */
const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

// Who asks, and who may: keys, roles and tenants as a route sees them. gateway/API.md §3.

import type { Kind } from '../log/index.ts';

/**
 * What a key may do (gateway/API.md §3.1). `carrier` acts for its tenant. `operator` also decides for it: policies,
 * holds, findings. `service` also acts on the service itself; only the command line issues it. `insured` reads its
 * own mandate and compliance, and verifies.
 */
export const ROLES = ['carrier', 'insured', 'operator', 'service'] as const;

/** One of them. */
export type Role = (typeof ROLES)[number];

/** Who asks. A request without a key is the tenant `public`. */
export interface Caller {
  /** The tenant's name; never enters the log. */
  readonly tenant: string;
  /** What stands in the log for the tenant: 22 base64url characters, its own in each kind of log. */
  readonly tenant_ref: string;
  /** The log that this caller's entries go to. */
  readonly kind: Kind;
  readonly sandbox: boolean;
  /** Null for `public`. */
  readonly role: Role | null;
  /** As the key was issued: a plugin may ask for one by itself, no route of the gateway does. */
  readonly scopes: readonly string[];
  /** Names the key without being it; null for `public`. */
  readonly key_id: string | null;
  readonly ip: string;
  /**
   * The name of this tenant's session in the newest log, or in the log of an origin: 43 base64url characters
   * (log/FORMAT.md §4). Each log has another.
   */
  sessionRef(session_id: string, origin?: string): string;
}

/**
 * Who may call a route.
 * `open`: without a key the caller is `public`, in the log that takes its entries as ANONYMOUS_WRITES says. `key`: 401 without one.
 * `read`: public; no key is needed. `{roles}`: a key of one of these roles. An invalid key is 401 on all of them,
 * whatever they declare. Which roles a key may have is said by `RouteDeclaration.roles`.
 */
export type Access = 'open' | 'key' | 'read' | { readonly roles: readonly Role[] };

// Which roles may call a route. The declaration says it (plugins/contract/index.ts); authenticate.ts is the one place that
// enforces it, and the OpenAPI document shows it. gateway/API.md §3.1.

import { ROLES } from '../../plugins/contract/index.ts';
import type { Role, Route } from '../../plugins/contract/index.ts';

/** The roles that each role takes in. */
const INCLUDES: Readonly<Record<Role, readonly Role[]>> = {
  carrier: ['carrier'],
  insured: ['insured'],
  operator: ['operator', 'carrier', 'insured'],
  service: ROLES,
};

/** The roles whose keys may call a route, in the order of `ROLES`. */
export function rolesOf({ access, roles }: Pick<Route, 'access' | 'roles'>): readonly Role[] {
  const standard: readonly Role[] = access === 'read' ? ROLES : ['carrier'];
  const named = typeof access === 'object' ? access.roles : (roles ?? standard);
  return ROLES.filter((role) => INCLUDES[role].some((included) => named.includes(included)));
}

// What of a closed log's registrations goes over into its successor: the keys of issuers that tenants made known, and
// those that they revoked. Registered statements do not go over: one is looked for in all logs before it is
// registered (scitt/entries-routes.ts).

import { carriedKind, carriedType, eachRow } from '../contract.ts';
import type { Carry, LogView } from '../contract.ts';
import { issuerKeys, IssuerMembers } from './entries.ts';
import type { IssuerRow } from './entries.ts';

/** `exports.carried.v1`. */
export const carried = carriedType('exports', {
  issuer: carriedKind(IssuerMembers, ({ value, tenant_ref, rests_on }, rows) => {
    const { issuer_sha256, key_thumbprint, ...key } = value;
    const { index, log_number } = rests_on;
    const place = issuerKeys(tenant_ref, issuer_sha256) + key_thumbprint;
    rows.put(`exports/${place}`, { index, log_number, ...key });
  }),
});

/** The `carry` of the exports. */
export async function* carry(closed: LogView): AsyncGenerator<Carry> {
  const prefix = 'issuer/';
  for await (const [row, found] of eachRow(closed, prefix)) {
    const { index, log_number, algorithm, public_key, status } = found as unknown as IssuerRow;
    const [tenant_ref = '', issuer_sha256 = '', key_thumbprint = ''] = row
      .slice(prefix.length)
      .split('/');
    const value = { issuer_sha256, key_thumbprint, algorithm, public_key, status };
    yield { what: 'issuer', row, tenant_ref, value, index, log_number };
  }
}

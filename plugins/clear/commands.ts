// What the operator says about a tenant's spending. gateway/API.md §10.2.

import { Type } from 'typebox';
import { command, LOG_KINDS } from '../contract.ts';
import type { Command } from '../contract.ts';
import { CEILING } from './entries.ts';

const Limit = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** `clear ceiling`. */
export const ceilingCommand: Command = command({
  name: 'clear ceiling',
  summary: "Set, or without acts and micro_usd lift, a tenant's monthly ceiling",
  args: Type.Object(
    {
      tenant: Type.String(),
      kind: Type.Enum(LOG_KINDS),
      acts: Type.Optional(Limit),
      micro_usd: Type.Optional(Limit),
    },
    { additionalProperties: false },
  ),
  example: { tenant: 'first', kind: 'sandbox', acts: 1_000_000 },
  async perform({ args, append, tenantRef }) {
    const { tenant, kind, acts = null, micro_usd = null } = args;
    const tenant_ref = await tenantRef(tenant, kind);
    const [entry] = await append(kind, [
      { type: CEILING, tenant_ref, members: { acts, micro_usd } },
    ]);
    return { tenant, tenant_ref, kind, acts, micro_usd, entry_id: entry?.entry_id ?? '' };
  },
});

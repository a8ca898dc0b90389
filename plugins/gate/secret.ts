// The use secret of a permit: a receipt is public, so a permit commits to a random value that only its holder receives,
// and a use must open the commitment. gateway/API.md §8.2; log/FORMAT.md §2.2.

import { hash } from 'node:crypto';
import { Type } from 'typebox';
import { canonical, fromHex, isJsonObject, randomPiece, toBase64Url } from '../contract/index.ts';
import type { Json, JsonObject } from '../contract/index.ts';

/** The member of a permit's `commitments`, of its disclosures and of a request. */
export const USE_SECRET = 'use_secret';

/** What opens a commitment. */
export interface Opening {
  readonly salt: string;
  readonly value: string;
}

/** The member `use_secret` of a request. */
export const UseSecret = Type.Optional(
  Type.Object(
    { salt: Type.String({ maxLength: 64 }), value: Type.String({ maxLength: 128 }) },
    {
      description:
        'What opens the use secret of the permit, as the answer with the permit has it. Unless given, it is taken ' +
        'from `disclosures` of the receipt.',
    },
  ),
);

/** A new secret, of 192 bits. */
export const newUseSecret = (): string => toBase64Url(randomPiece(24));

/** The opening among the disclosures of a receipt, or in an envelope; hostile. */
export function openingIn(value: Json | undefined): Opening | undefined {
  if (!isJsonObject(value)) return undefined;
  const { salt, value: secret } = value;
  return typeof salt === 'string' && typeof secret === 'string'
    ? { salt, value: secret }
    : undefined;
}

/** Whether an opening is that of the permit. A permit of an earlier build commits to no secret, and needs none. */
export function opensPermit(permit: JsonObject, opening: Opening | undefined): boolean {
  const { commitments } = permit;
  const committed = isJsonObject(commitments) ? commitments[USE_SECRET] : undefined;
  if (committed === undefined) return true;
  if (opening === undefined || !/^[0-9a-f]{32}$/.test(opening.salt)) return false;
  const bytes = Buffer.concat([fromHex(opening.salt), Buffer.from(canonical(opening.value))]);
  return hash('sha256', bytes, 'hex') === committed;
}

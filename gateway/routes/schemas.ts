// Schemas that several of the gateway's routes share; those with an $id are components of the OpenAPI document.

import { Type } from 'typebox';
import type { TLiteral, TString, TUnion } from 'typebox';
import { isLogError } from '../../log/index.ts';
import { ApiError, Count, Hex32 } from '../../plugins/contract/index.ts';

export { Count, Hex32 };

/** Milliseconds of UTC. */
export const Milliseconds = Type.Integer({ minimum: 0, description: 'Milliseconds, UTC.' });

/** Base64 of a 32-byte hash. */
export const Hash = Type.String({
  pattern: '^[A-Za-z0-9+/]{43}=$',
  description: 'Base64, 32 bytes.',
});

/** One of the two kinds of log. */
export const kindName = (description: string): TUnion<[TLiteral<'live'>, TLiteral<'sandbox'>]> =>
  Type.Union([Type.Literal('live'), Type.Literal('sandbox')], { description });

/** A decimal in a query, without sign and leading zeros. `integerOf` parses it and refuses numbers over 2^53 - 1. */
export const integerText = (description: string): TString =>
  Type.String({ pattern: '^(0|[1-9][0-9]{0,15})$', description });

export const Note = Type.String({
  description: 'A signed checkpoint (C2SP signed-note, tlog-checkpoint).',
});

export const Path = Type.Array(Hash, {
  maxItems: 63,
  description: 'Hashes in the order of RFC 9162 (inclusion: leaf side first).',
});

export const Jwk = Type.Object(
  {
    kty: Type.Literal('OKP'),
    crv: Type.Literal('Ed25519'),
    x: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }),
    kid: Type.String({ description: 'RFC 7638 thumbprint.' }),
    use: Type.Literal('sig'),
    alg: Type.Literal('EdDSA'),
    origin: Type.String({ description: 'The log whose statements this key signs.' }),
    nbf: Type.Integer({ description: 'Seconds; since when the log declares it.' }),
    exp: Type.Optional(Type.Integer({ description: 'Seconds; when it stopped signing.' })),
    revoked_at: Type.Optional(Type.Integer({ description: 'Seconds.' })),
    revoked_index: Type.Optional(
      Type.Integer({ description: 'Index of the revoking entry; entries below it hold.' }),
    ),
  },
  { $id: 'ReceiptKey' },
);

/** A key that does not sign receipts. External formats may require another algorithm than Ed25519. */
export const PurposeJwk = Type.Object(
  {
    kty: Type.Enum(['OKP', 'EC']),
    crv: Type.Enum(['Ed25519', 'P-256']),
    x: Type.String(),
    y: Type.Optional(Type.String()),
    kid: Type.String({ description: 'RFC 7638 thumbprint.' }),
    use: Type.Literal('sig'),
    alg: Type.Enum(['EdDSA', 'ES256']),
    purpose: Type.String({ description: 'What it signs; never receipts.' }),
    origin: Type.String({ description: 'The log that what it signs is about.' }),
  },
  { $id: 'PurposeKey' },
);

export const Jwks = Type.Object(
  { keys: Type.Array(Type.Union([Jwk, PurposeJwk])) },
  { $id: 'Jwks' },
);

/** The number in a query parameter. Throws `parameter_invalid` over 2^53 - 1. */
export function integerOf(text: string, param: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) {
    throw new ApiError('parameter_invalid', `${param} is over 2^53 - 1`, { param });
  }
  return value;
}

/** Turns an error of the log into `parameter_invalid` for a parameter. Throws any other error again. */
export function refusedParameter(param: string, cause: unknown): Error {
  if (!isLogError(cause)) throw cause;
  return new ApiError('parameter_invalid', `${param}: ${cause.message}`, { param, cause });
}

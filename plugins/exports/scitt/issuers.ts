// POST /api/v1/scitt/issuers: a tenant registers or revokes the key of an issuer. These entries are the registration
// policy of RFC 9943: a reader of the log can replay which statements were accepted, and why.

import { Type } from 'typebox';
import {
  ALG,
  algOf,
  ApiError,
  coseThumbprint,
  isLogError,
  native,
  publicJwk,
  receiptOf,
  route,
  toHex,
} from '../../contract/index.ts';
import type { CosePublicJwk, Route } from '../../contract/index.ts';
import { ISSUER, issuerType } from '../entries.ts';
import { issuerHash, publicKeyHex } from './signed-statement.ts';

/** Claim iss of the statement. */
const EXAMPLE_ISSUER = 'https://issuer.example';

/** RFC 8037 §A.2. */
const EXAMPLE_JWK = {
  kty: 'OKP',
  crv: 'Ed25519',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
} as const;

/** A COSE_Sign1 in base64: payload `an example`, subject `urn:example:statement:1`. */
export const EXAMPLE_STATEMENT =
  '0oRYQqMBMgNqdGV4dC9wbGFpbg+iAXZodHRwczovL2lzc3Vlci5leGFtcGxlAnd1cm46ZXhhbXBsZTpzdGF0' +
  'ZW1lbnQ6MaBKYW4gZXhhbXBsZVhAWN5PlJrB5SRVGL9GgcurqDRBwj64rdGPns9azQH9dLsdwe7ric5eLWJv' +
  '+jxisyzBJdC23pbbrWDGT1UCMmVsAA==';

const Body = Type.Object(
  {
    issuer: Type.String({
      minLength: 1,
      maxLength: 512,
      description: 'Claim 1 (iss) of the statements that the key signs.',
    }),
    key: Type.Object(
      { kty: Type.Enum(['EC', 'OKP']), crv: Type.Enum(['P-256', 'Ed25519']), x: Type.String() },
      { description: 'The public key as a JWK.', additionalProperties: true },
    ),
    status: Type.Optional(
      Type.Union([Type.Literal('active'), Type.Literal('revoked')], {
        description:
          'The default is active. Statements registered before a revocation remain registered.',
      }),
    ),
  },
  { $id: 'ScittIssuerRequest' },
);

const Answer = Type.Object(
  {
    ok: Type.Literal(true),
    issuer_sha256: Type.String(),
    key_thumbprint: Type.String({
      description: 'RFC 9679 thumbprint in hex, the kid that statements may name.',
    }),
    status: Type.Enum(['active', 'revoked']),
    receipt: receiptOf(issuerType),
  },
  { $id: 'ScittIssuer' },
);

/** The route. */
export function issuerRoute(): Route {
  return route({
    method: 'POST',
    path: '/api/v1/scitt/issuers',
    tag: 'exports',
    summary: 'Register or revoke the key of an issuer of signed statements',
    description:
      'The tenant can then register statements of this issuer, signed with this key, at /entries.',
    access: 'key',
    idempotent: true,
    body: Body,
    responses: { 200: { description: 'The key is in the log.', schema: Answer } },
    example: { issuer: EXAMPLE_ISSUER, key: EXAMPLE_JWK },
    handle: async (ctx) => {
      const { issuer, key, status = 'active' } = ctx.state.body;
      const jwk = keyOf(key);
      await ctx.state.append([
        {
          type: ISSUER,
          members: {
            issuer_sha256: issuerHash(issuer),
            algorithm: algOf(jwk) === ALG.ES256 ? 'ES256' : 'Ed25519',
            public_key: publicKeyHex(jwk),
            key_thumbprint: toHex(coseThumbprint(native, jwk)),
            status,
          },
          private: { issuer },
        },
      ]);
    },
    respond: ([entry]) => {
      if (entry === undefined) throw new Error('an issuer has one entry');
      const { issuer_sha256, key_thumbprint, status } = entry.statement;
      return { ok: true, issuer_sha256, key_thumbprint, status, receipt: entry.receipt };
    },
  });
}

function keyOf(key: unknown): CosePublicJwk {
  try {
    return publicJwk(key);
  } catch (cause) {
    if (!isLogError(cause)) throw cause;
    throw new ApiError('parameter_invalid', `key: ${cause.message}`, { param: 'key', cause });
  }
}

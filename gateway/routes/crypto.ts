// /crypto: the public keys that verify receipts. gateway/API.md §2.1.

import { Type } from 'typebox';
import { route } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { coseKeys, jwks, keyInForce, seconds, spkiPem } from './keys.ts';
import { Jwks, kindName } from './schemas.ts';

const PublicKey = Type.Object(
  {
    algorithm: Type.Literal('Ed25519'),
    public_key_b64: Type.String({ description: 'The 32 raw bytes, standard base64.' }),
    kid: Type.String({ description: 'RFC 7638 thumbprint, as in receipts.' }),
    spki_pem: Type.String(),
    not_before: Type.Integer({ description: 'Seconds; when the log declared the key.' }),
    origin: Type.String({ description: 'The log whose statements it signs.' }),
    offline_verify_kit: Type.String({ format: 'uri' }),
  },
  { $id: 'PublicKey' },
);

const TAG = 'Crypto';
/** A new key is published a minute before its first use, so answers may be cached that long. */
const CACHE = 'public, max-age=60';

/** /crypto/public-key, /crypto/jwks.json and /.well-known/jwks.json. */
export function cryptoRoutes(gateway: Gateway): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/crypto/public-key',
      tag: TAG,
      summary: 'Receipt key in force',
      access: 'read',
      query: Type.Object({ log: Type.Optional(kindName('live unless given.')) }),
      responses: {
        200: { description: 'The key of the live log, or of `?log=sandbox`.', schema: PublicKey },
      },
      handle(ctx) {
        const log = gateway.logs[ctx.state.query.log ?? 'live'];
        const key = keyInForce(log);
        ctx.set('Cache-Control', CACHE);
        ctx.body = {
          algorithm: 'Ed25519',
          public_key_b64: Buffer.from(key.jwk.x, 'base64url').toString('base64'),
          kid: key.kid,
          spki_pem: spkiPem(key),
          not_before: seconds(key.since_ms),
          origin: log.origin,
          offline_verify_kit: `${gateway.base_url}/export/offline-verify-kit.json`,
        };
      },
    }),
    route({
      method: 'GET',
      path: '/crypto/jwks.json',
      tag: TAG,
      summary: 'All receipt keys (JWKS)',
      description:
        'The keys of all logs, each with its `origin`. Retired keys stay in the list, because their signatures remain valid.',
      access: 'read',
      responses: { 200: { description: 'RFC 7517.', schema: Jwks } },
      handle(ctx) {
        ctx.set('Cache-Control', CACHE);
        ctx.body = jwks(gateway);
      },
    }),
    route({
      method: 'GET',
      path: '/.well-known/jwks.json',
      tag: TAG,
      summary: 'All public keys (JWKS)',
      description:
        'The keys of /crypto/jwks.json, and those of COSE messages, under the RFC 9679 thumbprint that messages name.',
      access: 'read',
      responses: { 200: { description: 'RFC 7517.', schema: Jwks } },
      handle(ctx) {
        ctx.set('Cache-Control', CACHE);
        ctx.body = { keys: [...jwks(gateway).keys, ...coseKeys(gateway)] };
      },
    }),
  ];
}

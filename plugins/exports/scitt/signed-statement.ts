// A signed statement of a third party, as it came: taken apart, and what registration asks of it. RFC 9052, RFC 9597,
// RFC 9943 §6. Everything here is the choice of whoever sent it.

import { createHash } from 'node:crypto';
import {
  ALG,
  ApiError,
  CLAIM,
  decodeSign1,
  fromHex,
  HEADER,
  isLogError,
  publicJwk,
  toBase64Url,
  toBeSigned,
  toHex,
  verifyCose,
  withoutUnprotected,
} from '../../contract/index.ts';
import type { CosePublicJwk, CoseSign1, Json } from '../../contract/index.ts';
import type { IssuerRow } from '../entries.ts';

const ALGORITHMS: Readonly<Record<number, string>> = {
  [ALG.ES256]: 'ES256',
  [ALG.EdDSA]: 'EdDSA',
  [ALG.Ed25519]: 'Ed25519',
};
/** Headers that change what a signature means, and that nothing here understands (RFC 9052 §3.1). */
const CRIT = 2;
/** Longest name in a claim, in characters. */
const MAX_NAME = 512;

/** A statement that may be registered, if its issuer's key says so. */
export interface SignedStatement {
  readonly message: CoseSign1;
  readonly payload: Uint8Array;
  readonly algorithm: string;
  readonly issuer: string;
  readonly issuer_sha256: string;
  readonly subject: string;
  /** Media type or CoAP content format, where it has one. */
  readonly content_type: Json | undefined;
  readonly statement_sha256: string;
  readonly payload_sha256: string;
}

const sha256 = (bytes: Uint8Array | string): string =>
  createHash('sha256').update(bytes).digest('hex');

/** The name of an issuer as entries have it. */
export const issuerHash = (issuer: string): string => sha256(issuer);

/** Takes a statement apart; `parameter_invalid` with the part that is wrong. */
export function readStatement(bytes: Uint8Array): SignedStatement {
  const message = opened(bytes);
  const { protected: headers, payload } = message;
  const algorithm = ALGORITHMS[headers.get(HEADER.alg) as number];
  if (algorithm === undefined) {
    throw refused('alg', 'alg is none of ES256 (-7), EdDSA (-8) and Ed25519 (-19)');
  }
  if (headers.has(CRIT)) throw refused('crit', 'crit names headers that are not understood here');
  if (payload === null) throw refused('payload', 'the payload is detached: it must be attached');
  const claims = headers.get(HEADER.cwt_claims);
  if (!(claims instanceof Map)) {
    throw refused('cwt_claims', 'the protected header has no CWT claims (label 15)');
  }
  const issuer = nameOf(claims.get(CLAIM.iss), 'iss');
  return {
    message,
    payload,
    algorithm,
    issuer,
    issuer_sha256: issuerHash(issuer),
    subject: nameOf(claims.get(CLAIM.sub), 'sub'),
    content_type: contentType(headers.get(HEADER.content_type)),
    statement_sha256: sha256(withoutUnprotected(message)),
    payload_sha256: sha256(payload),
  };
}

function opened(bytes: Uint8Array): CoseSign1 {
  try {
    return decodeSign1(bytes);
  } catch (cause) {
    if (!isLogError(cause)) throw cause;
    throw refused('body', cause.message);
  }
}

function nameOf(value: unknown, claim: string): string {
  if (typeof value === 'string' && value.length > 0 && value.length <= MAX_NAME) {
    if (value.isWellFormed()) return value;
  }
  throw refused(claim, `claim ${claim} is no text of 1 to ${String(MAX_NAME)} characters`);
}

/** What cannot stand in a commitment is no content type that anyone could use. */
function contentType(value: unknown): Json | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number') return value;
  return nameOf(value, 'content_type');
}

const refused = (param: string, message: string): ApiError =>
  new ApiError('parameter_invalid', message, { param });

/** Whether a key of the issuer has signed the statement. */
export function isSignedBy({ message, payload }: SignedStatement, row: IssuerRow): boolean {
  const signed = toBeSigned(message.protectedBytes, payload);
  return verifyCose(jwkOf(row), message.protected.get(HEADER.alg), signed, message.signature);
}

/** The key of a row. */
function jwkOf({ algorithm, public_key }: IssuerRow): CosePublicJwk {
  const x = toBase64Url(fromHex(public_key.slice(0, 64), 32));
  return algorithm === 'Ed25519'
    ? publicJwk({ kty: 'OKP', crv: 'Ed25519', x })
    : publicJwk({ kty: 'EC', crv: 'P-256', x, y: toBase64Url(fromHex(public_key.slice(64), 32)) });
}

/** A key as an entry has it: its coordinates in hex. */
export function publicKeyHex(jwk: CosePublicJwk): string {
  const hex = (coordinate: string): string => toHex(Buffer.from(coordinate, 'base64url'));
  return jwk.kty === 'OKP' ? hex(jwk.x) : hex(jwk.x) + hex(jwk.y);
}

// Parses the signed statement of a third party, and checks what registration requires. RFC 9052, RFC 9597, RFC 9943 §6.
// All input here is untrusted.

import { createHash } from 'node:crypto';
import {
  ALG,
  ApiError,
  CLAIM,
  decodeSign1,
  fromHex,
  HEADER,
  isLogError,
  native,
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
/** Critical headers, none of which is supported (RFC 9052 §3.1). */
const CRIT = 2;
/** Largest length of a claim, in characters. */
const MAX_NAME = 512;

/** A well-formed statement, whose signature is not checked yet. */
export interface SignedStatement {
  readonly message: CoseSign1;
  readonly payload: Uint8Array;
  readonly algorithm: string;
  readonly issuer: string;
  readonly issuer_sha256: string;
  readonly subject: string;
  /** Media type or CoAP content format, if it has one. */
  readonly content_type: Json | undefined;
  readonly statement_sha256: string;
  readonly payload_sha256: string;
}

const sha256 = (bytes: Uint8Array | string): string =>
  createHash('sha256').update(bytes).digest('hex');

/** The hash of an issuer's name, as in entries. */
export const issuerHash = (issuer: string): string => sha256(issuer);

/** Parses a statement; `parameter_invalid` names the part that is invalid. */
export function readStatement(bytes: Uint8Array): SignedStatement {
  const message = opened(bytes);
  const { protected: headers, payload } = message;
  const algorithm = ALGORITHMS[headers.get(HEADER.alg) as number];
  if (algorithm === undefined) {
    throw refused('alg', 'alg must be ES256 (-7), EdDSA (-8) or Ed25519 (-19)');
  }
  if (headers.has(CRIT))
    throw refused('crit', 'crit names headers that this service does not support');
  if (payload === null) throw refused('payload', 'the payload is detached, but must be attached');
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

/** The content type; refused if it cannot be the value of a commitment. */
function contentType(value: unknown): Json | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number') return value;
  return nameOf(value, 'content_type');
}

const refused = (param: string, message: string): ApiError =>
  new ApiError('parameter_invalid', message, { param });

/** Whether this key made the signature of the statement. */
export async function isSignedBy(statement: SignedStatement, row: IssuerRow): Promise<boolean> {
  const { protected: headers, protectedBytes, signature } = statement.message;
  const signed = toBeSigned(protectedBytes, statement.payload);
  return verifyCose(native, jwkOf(row), headers.get(HEADER.alg), signed, signature);
}

/** The key of a row. */
function jwkOf({ algorithm, public_key }: IssuerRow): CosePublicJwk {
  const x = toBase64Url(fromHex(public_key.slice(0, 64), 32));
  return algorithm === 'Ed25519'
    ? publicJwk({ kty: 'OKP', crv: 'Ed25519', x })
    : publicJwk({ kty: 'EC', crv: 'P-256', x, y: toBase64Url(fromHex(public_key.slice(64), 32)) });
}

/** The coordinates of a key in hex, as in entries. */
export function publicKeyHex(jwk: CosePublicJwk): string {
  const hex = (coordinate: string): string => toHex(Buffer.from(coordinate, 'base64url'));
  return jwk.kty === 'OKP' ? hex(jwk.x) : hex(jwk.x) + hex(jwk.y);
}

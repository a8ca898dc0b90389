// The absence vectors (test/vectors/absence.json): a whole log, documents of every verdict, and invalid documents.

import { readFileSync } from 'node:fs';
import { native } from '../../log/crypto/native.ts';
import type { Ed25519Jwk } from '../../log/crypto/thumbprint.ts';
import type { Json, JsonObject } from '../../log/encoding/json.ts';
import { policyOf } from '../../log/note/policy.ts';
import type { AbsenceResult, Question, Trust } from '../../log/verify.ts';

interface VectorDocument {
  readonly name: string;
  readonly doc: JsonObject & { readonly question: Json };
  readonly result: AbsenceResult;
}

interface VectorRefusal {
  readonly name: string;
  readonly question: Question;
  readonly doc?: JsonObject;
  /** Set if the fault is in the text. */
  readonly text?: string;
}

/** The content of the file. */
export const vectors = JSON.parse(
  readFileSync(new URL('../vectors/absence.json', import.meta.url), 'utf8'),
) as {
  readonly origin: string;
  readonly vkey: string;
  readonly jwk: Ed25519Jwk & { readonly kid: string };
  readonly witnesses: readonly { readonly name: string; readonly vkey: string }[];
  readonly entries: readonly string[];
  readonly leaf_hashes: readonly string[];
  readonly roots: readonly string[];
  readonly skeys: readonly { readonly key: readonly string[]; readonly skey: string }[];
  readonly head_record: { readonly bytes: string; readonly vhash: string };
  readonly checkpoints: readonly string[];
  readonly consistency: {
    readonly from: number;
    readonly to: number;
    readonly path: readonly string[];
  };
  readonly documents: readonly VectorDocument[];
  readonly refused: readonly VectorRefusal[];
};

const { kty, crv, x } = vectors.jwk;

/** The trust for these documents: the policy demands both witnesses. */
export const vectorTrust: Trust = {
  origin: vectors.origin,
  vkey: vectors.vkey,
  keys: [{ kid: vectors.jwk.kid, jwk: { kty, crv, x } }],
  policy: policyOf(
    native,
    2,
    vectors.witnesses.map(({ vkey }) => vkey),
  ),
};

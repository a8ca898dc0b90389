// From a document to its digests: DSSE 1.0.2 envelopes, in-toto statements, C2PA claims, and digests of anything else.
// gateway/API.md §12.5. Pure.

import { hash } from 'node:crypto';
import { ApiError, canonical, isJsonObject, isLogError, parseJson } from '../contract/index.ts';
import type { Json, JsonObject } from '../contract/index.ts';
import type { Anchored } from './entries.ts';

/** The documents of a request, of which it has exactly one. */
export interface AnchorRequest {
  readonly dsse?: JsonObject | string;
  readonly statement?: JsonObject | string;
  readonly c2pa?: {
    readonly claim_sha256: string;
    readonly box?: Anchored['claim_box'];
    readonly alg?: Anchored['claim_alg'];
    readonly manifest?: string;
  };
  readonly sha256?: string;
  readonly media_type?: string;
}

/** The members of a document that the entry holds as plain text, and those that it commits to. */
export interface Reading {
  readonly members: Anchored;
  readonly hidden: Readonly<Record<string, Json>>;
}

/** payloadType of in-toto statements in DSSE envelopes. */
const IN_TOTO = 'application/vnd.in-toto+json';
/** `_type` of in-toto statements begins with it, and ends with the version. */
const STATEMENT = 'https://in-toto.io/Statement/';
/** As many signatures as an envelope may have. */
const MAX_SIGNATURES = 64;
/** As many subjects as an entry commits to. */
const MAX_SUBJECTS = 1024;

/**
 * Reads the document of a request.
 *
 * @throws ApiError `parameter_invalid`, with the path of the member that is not well formed
 */
export function readDocument(request: AnchorRequest): Reading {
  const { dsse, statement, c2pa, sha256, media_type } = request;
  if (media_type !== undefined && sha256 === undefined) {
    throw invalid('media_type', 'media_type is the type of a document that sha256 names');
  }
  if (dsse !== undefined) return readEnvelope(dsse);
  if (statement !== undefined) return readStatement(statement);
  if (c2pa !== undefined) {
    const { claim_sha256, box, alg, manifest } = c2pa;
    return {
      members: {
        ...{ kind: 'c2pa_claim', digest: plainDigest(claim_sha256) },
        ...(box === undefined ? {} : { claim_box: box }),
        ...(alg === undefined ? {} : { claim_alg: alg }),
      },
      hidden: manifest === undefined ? {} : { manifest },
    };
  }
  if (sha256 === undefined || media_type === undefined) {
    throw new ApiError('parameter_missing', 'the request names no document', { param: 'sha256' });
  }
  return { members: { kind: 'digest', digest: plainDigest(sha256) }, hidden: { media_type } };
}

/** A digest without the prefix `sha256:`, in lower case. */
export const plainDigest = (written: string): string =>
  written.toLowerCase().replace(/^sha256:/, '');

function readEnvelope(given: JsonObject | string): Reading {
  const { document, bytes, form } = documentOf(given, 'dsse');
  const { payload, payloadType, signatures } = document;
  if (typeof payloadType !== 'string' || payloadType === '') {
    throw invalid('dsse.payloadType', 'payloadType is not a string, or empty');
  }
  if (!Array.isArray(signatures) || signatures.length < 1 || signatures.length > MAX_SIGNATURES) {
    const limit = `1 to ${String(MAX_SIGNATURES)}`;
    throw invalid('dsse.signatures', `signatures is not an array of ${limit} signatures`);
  }
  for (const [i, one] of signatures.entries()) {
    const at = `dsse.signatures.${String(i)}.sig`;
    if (base64Of((one as JsonObject | null)?.['sig'], at).length === 0) {
      throw invalid(at, 'the signature is empty');
    }
  }
  const body = base64Of(payload, 'dsse.payload');
  const hidden =
    payloadType === IN_TOTO ? about(documentOf(textOf(body), 'dsse.payload').document, true) : {};
  return {
    members: {
      ...{ kind: 'dsse', digest: sha256Of(preAuthentication(payloadType, body)) },
      ...{ payload_sha256: sha256Of(body), envelope_sha256: sha256Of(bytes), form },
      signatures: signatures.length,
    },
    hidden: { payload_type: payloadType, ...hidden },
  };
}

function readStatement(given: JsonObject | string): Reading {
  const { document, bytes, form } = documentOf(given, 'statement');
  return {
    members: { kind: 'statement', digest: sha256Of(bytes), form },
    hidden: about(document, false),
  };
}

/** The type, the predicate type and the subjects of an in-toto statement. Consumers ignore its other members. */
function about(statement: JsonObject, enveloped: boolean): Readonly<Record<string, Json>> {
  const at = enveloped ? 'dsse.payload' : 'statement';
  const { _type, predicateType, subject } = statement;
  if (typeof _type !== 'string' || !_type.startsWith(STATEMENT)) {
    throw invalid(at, `_type of an in-toto statement begins with ${STATEMENT}`);
  }
  if (typeof predicateType !== 'string' || predicateType === '') {
    throw invalid(at, 'predicateType is not a string, or empty');
  }
  if (!Array.isArray(subject) || subject.length < 1 || subject.length > MAX_SUBJECTS) {
    throw invalid(at, `subject is not an array of 1 to ${String(MAX_SUBJECTS)} subjects`);
  }
  const subjects = subject.map((one: Json): Json => {
    const { name, digest } = isJsonObject(one) ? one : {};
    if (!isJsonObject(digest ?? null)) throw invalid(at, 'a subject has no digest');
    return { digest: digest ?? null, ...(typeof name === 'string' ? { name } : {}) };
  });
  return { statement_type: _type, predicate_type: predicateType, subjects };
}

/** PAE of DSSE: what the signatures of an envelope cover. Lengths are in bytes. */
function preAuthentication(payloadType: string, body: Uint8Array): Uint8Array {
  const type = Buffer.from(payloadType);
  const head = `DSSEv1 ${String(type.length)} ${payloadType} ${String(body.length)} `;
  return Buffer.concat([Buffer.from(head), body]);
}

interface Parsed {
  readonly document: JsonObject;
  readonly bytes: Uint8Array;
  readonly form: 'text' | 'jcs';
}

/** A document that was sent as an object, or as its exact text. */
function documentOf(given: JsonObject | string, param: string): Parsed {
  if (typeof given !== 'string') {
    return { document: given, bytes: Buffer.from(canonical(given)), form: 'jcs' };
  }
  const bytes = Buffer.from(given);
  try {
    const document = parseJson(bytes, { fractions: true });
    if (isJsonObject(document)) return { document, bytes, form: 'text' };
  } catch (error) {
    if (!isLogError(error)) throw error;
    throw new ApiError('parameter_invalid', `${param}: ${error.message}`, { param, cause: error });
  }
  throw invalid(param, 'the text is not a JSON object');
}

/** Standard or URL-safe base64, with or without padding: an envelope may have either (DSSE 1.0.2). */
function base64Of(given: Json | undefined, param: string): Uint8Array {
  const isText = typeof given === 'string' && /^([A-Za-z0-9+/]*|[A-Za-z0-9_-]*)={0,2}$/.test(given);
  const digits = isText ? given.replace(/=+$/, '') : '';
  if (!isText || digits.length % 4 === 1) throw invalid(param, `${param} is not base64`);
  return Buffer.from(digits, 'base64');
}

function textOf(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch (cause) {
    throw new ApiError('parameter_invalid', 'the payload is not UTF-8', {
      param: 'dsse.payload',
      cause,
    });
  }
}

const sha256Of = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex');

const invalid = (param: string, message: string): ApiError =>
  new ApiError('parameter_invalid', message, { param });

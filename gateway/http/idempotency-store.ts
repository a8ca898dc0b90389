// Idempotency records: claiming a key, the rows in the log's batch, and their expiry.
// gateway/API.md §5; draft-ietf-httpapi-idempotency-key-header.

import { hash } from 'node:crypto';
import { canonical } from '../../log/index.ts';
import type { AttachedRow, Log } from '../../log/index.ts';
import { ApiError } from '../../plugins/contract/index.ts';
import type { Caller, Json } from '../../plugins/contract/index.ts';
import { isShared } from '../tenants/tenants.ts';

/** A key that a request holds while it runs. */
export interface IdempotencyClaim {
  /** SHA-256 over the scope and the key, hex; names the record. */
  readonly name: string;
  /** SHA-256 over the path and the canonical body, hex. */
  readonly fingerprint: string;
}

/** What was stored with the entries of a completed request. */
export interface IdempotencyRecord {
  readonly fingerprint: string;
  readonly status: number;
  readonly indexes: readonly number[];
  readonly done_at_ms: number;
  /** Data that the route's answer needs in addition to the entries. */
  readonly kept?: Json;
}

const PREFIX = 'idempotency/';
const EXPIRY_PREFIX = 'idempotency-expiry/';
const SWEEP = 1000;

const encode = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** A string of RFC 9651 §3.3.3: visible ASCII and spaces, with `"` and `\` escaped. */
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;

/**
 * The key of the header, bare or as a structured-field string; 8 to 255 visible ASCII characters. A header that
 * begins with a quotation mark and is not one whole string, such as `"key";x=1`, is refused: taken as a bare key, it
 * would be another key than `"key"`, and a retry that a proxy rewrote would append twice.
 */
export function idempotencyKey(header: string): string {
  const quoted = QUOTED.exec(header)?.[1]?.replace(/\\(["\\])/g, '$1');
  const bare = header.startsWith('"') ? (quoted ?? '') : header;
  if (!/^[\x21-\x7e]{8,255}$/.test(bare)) {
    const rule = 'must be 8 to 255 visible ASCII characters, bare or as one quoted string';
    throw new ApiError('invalid_idempotency_key', `the Idempotency-Key ${rule}`, {
      param: 'Idempotency-Key',
    });
  }
  return bare;
}

/** The claim of a request; `path` is the route's own path with its parameters filled in. */
export function claimOf(caller: Caller, path: string, key: string, body: Json): IdempotencyClaim {
  const who = isShared(caller.tenant) ? [caller.tenant, caller.ip] : [caller.tenant];
  return {
    name: hash('sha256', JSON.stringify([caller.kind, ...who, path, key]), 'hex'),
    fingerprint: hash('sha256', `${path}\n${canonical(body)}`, 'hex'),
  };
}

/** The rows that commit with the entries of a request. */
export function recordRows(
  claim: IdempotencyClaim,
  done: Pick<IdempotencyRecord, 'indexes' | 'done_at_ms' | 'kept'>,
  ttl_ms: number,
): AttachedRow[] {
  const record: IdempotencyRecord = { fingerprint: claim.fingerprint, status: 200, ...done };
  const due = String(done.done_at_ms + ttl_ms).padStart(15, '0');
  return [
    { key: `${PREFIX}${claim.name}`, value: encode(record) },
    { key: `${EXPIRY_PREFIX}${due}/${claim.name}`, value: Buffer.alloc(0) },
  ];
}

/** The record of a claim, if its request completed within the last `ttl_ms`. */
export function recordOf(
  log: Log,
  claim: IdempotencyClaim,
  now_ms: number,
  ttl_ms: number,
): IdempotencyRecord | null {
  const stored = log.attached(`${PREFIX}${claim.name}`);
  if (stored === undefined) return null;
  const record = JSON.parse(Buffer.from(stored).toString()) as IdempotencyRecord;
  return record.done_at_ms + ttl_ms > now_ms ? record : null;
}

/** Deletes expired records; returns the number of deleted rows. The caller repeats it until none is left. */
export async function sweepRecords(log: Log, now_ms: number, ttl_ms: number): Promise<number> {
  let swept = 0;
  for (;;) {
    const due = (await log.attachedRows(EXPIRY_PREFIX, { limit: SWEEP })).filter(
      ([key]) => Number(key.slice(EXPIRY_PREFIX.length, EXPIRY_PREFIX.length + 15)) <= now_ms,
    );
    if (due.length === 0) return swept;
    const rows = due.flatMap(([key]): AttachedRow[] => {
      const name = key.slice(EXPIRY_PREFIX.length + 16);
      // The key may have been used again, with a record that has not expired.
      const current = recordOf(log, { name, fingerprint: '' }, now_ms, ttl_ms);
      const expiry = { key, value: null };
      return current === null ? [expiry, { key: `${PREFIX}${name}`, value: null }] : [expiry];
    });
    await log.putAttached(rows);
    swept += due.length;
    if (due.length < SWEEP) return swept;
  }
}

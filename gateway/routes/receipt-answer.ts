// The parts of an answer about one receipt: the entry, its proof, the disclosures that the caller may see, and the checks
// of gateway/API.md §1.5.

import { formatTlogProof, fromBase64, fromHex, native, toBase64 } from '../../log/index.ts';
import type { Disclosure, Erased, JsonObject, Kind, Log } from '../../log/index.ts';
import { trustedKeyOf, verifyReceipt } from '../../log/verify.ts';
import type { CheckName } from '../../log/verify.ts';
import { ApiError, isApiError } from '../../plugins/contract/index.ts';
import type { Caller } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { erasureOf } from '../tenants/erasure.ts';
import { covering } from './published.ts';

const HASH = /^[0-9a-f]{64}$/;

/** An entry of one of the served logs. */
export interface FoundEntry {
  readonly log: Log;
  readonly index: number;
}

/** The proof of an entry: members of `log` in a receipt. */
export interface Place {
  readonly checkpoint: string;
  /** Base64, leaf side first. */
  readonly inclusion_proof: readonly string[];
}

/** Finds an entry by its id or its hash in the logs of these kinds, the newest log of each kind first. */
export function findEntry(
  gateway: Gateway,
  kinds: readonly Kind[],
  name: string,
): FoundEntry | null {
  for (const log of kinds.flatMap((kind) => gateway.served[kind].toReversed())) {
    const index = HASH.test(name) ? log.indexOfHash(fromHex(name, 32)) : log.indexOfEntry(name);
    if (index !== null) return { log, index };
  }
  return null;
}

/** Finds an entry like `findEntry`. Throws `resource_missing` if there is none. */
export function entryNamed(gateway: Gateway, kinds: readonly Kind[], name: string): FoundEntry {
  const entry = findEntry(gateway, kinds, name);
  if (entry !== null) return entry;
  throw new ApiError('resource_missing', 'the log has no such entry', { param: 'entry_id' });
}

/** Waits for a checkpoint that covers the entry. Null if the log does not publish one in time. */
export async function placeOf(log: Log, index: number): Promise<Place | null> {
  try {
    const { size, note } = await covering(log, index + 1);
    return { checkpoint: note, inclusion_proof: log.inclusion(index, size).map(toBase64) };
  } catch (error) {
    // The entry is durable and signed, so its receipt is shown without a proof.
    if (isApiError(error)) return null;
    throw error;
  }
}

/**
 * The disclosures of an entry, if the caller has a key of the tenant whose entry it is; else undefined. An erasure is
 * public, so it is shown to every caller.
 */
export async function disclosuresFor(
  gateway: Gateway,
  { log, index }: FoundEntry,
  caller: Caller,
): Promise<Readonly<Record<string, Disclosure | Erased>> | undefined> {
  const {
    tenant_ref,
    entry_id,
    commitments = {},
  } = JSON.parse(log.entry(index) ?? '{}') as {
    readonly tenant_ref?: string;
    readonly entry_id: string;
    readonly commitments?: Readonly<Record<string, string>>;
  };
  const erasure = erasureOf(gateway.served[log.kind], entry_id);
  if (erasure !== null) {
    const { issued_at_ms: erased_at_ms, entry_id: erasure_entry_id } = erasure;
    const erased: Erased = { erased: true, erased_at_ms, erasure_entry_id };
    return Object.fromEntries(Object.keys(commitments).map((name) => [name, erased]));
  }
  if (caller.key_id === null || caller.kind !== log.kind) return undefined;
  // An insured shares the tenant of its carrier, but must not see the carrier's texts.
  if (tenant_ref !== caller.tenant_ref || caller.role === 'insured') return undefined;
  return gateway.disclosures.open(gateway.served[log.kind], entry_id);
}

/** The receipt of an entry with the disclosures that the caller may see, and its proof. */
export async function shownReceipt(
  gateway: Gateway,
  entry: FoundEntry,
  caller: Caller,
): Promise<{ readonly receipt: JsonObject; readonly place: Place | null }> {
  const { log, index } = entry;
  const place = await placeOf(log, index);
  const disclosures = await disclosuresFor(gateway, entry, caller);
  const receipt = gateway.receipt(log, index, disclosures);
  if (receipt === null) throw new Error(`entry ${String(index)} has no receipt`);
  return { receipt, place };
}

/** The proof and the checks of a receipt (gateway/API.md §1.5). */
export interface CheckedReceipt {
  readonly proof: { readonly tlog_proof: string; readonly checkpoint: string } | null;
  readonly checks: {
    readonly signature_valid: boolean;
    readonly key_status: string;
    readonly inclusion_valid: boolean;
    readonly checkpoint_valid: boolean;
  };
}

/** Checks a receipt with the offline verifier, and returns its portable proof. */
export function checkReceipt(log: Log, receipt: JsonObject, place: Place | null): CheckedReceipt {
  const shown = place === null ? {} : { log: { ...(receipt['log'] as JsonObject), ...place } };
  const { origin, vkey } = log;
  const trust = { origin, vkey, keys: log.receiptKeys().map(trustedKeyOf) };
  const { checks } = verifyReceipt({ ...receipt, ...shown }, trust, { suite: native });
  const ok = (name: CheckName): boolean =>
    checks.some((check) => check.name === name && check.outcome === 'ok');
  const key = trust.keys.find(({ kid }) => kid === receipt['kid']);
  const index = receipt['index'] as number;
  return {
    proof:
      place === null
        ? null
        : { tlog_proof: tlogProofOf(index, place), checkpoint: place.checkpoint },
    checks: {
      signature_valid: ok('entry_hash') && ok('signature'),
      key_status: key?.status ?? 'unknown',
      inclusion_valid: ok('inclusion'),
      checkpoint_valid: ok('checkpoint'),
    },
  };
}

/** The proof of an entry as a C2SP tlog-proof. */
export function tlogProofOf(index: number, { checkpoint, inclusion_proof }: Place): string {
  const path = inclusion_proof.map((hash) => fromBase64(hash, 32));
  return formatTlogProof({ index, path, checkpoint });
}

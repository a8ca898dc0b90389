// API keys: their text, their hash, and the check of a presented key. gateway/API.md §3.1, §3.2.

import { hash, timingSafeEqual } from 'node:crypto';
import type { Kind, Role } from '../../plugins/contract/index.ts';
import { base62 } from './base62.ts';

const SHAPE = /^svc_(sandbox|live)_[0-9A-Za-z]{32}$/;

/** A key as it is stored: its SHA-256, never its text. */
export interface KeyRecord {
  /** `key_` and 12 base62 characters; names the key in lists and logs. */
  readonly key_id: string;
  /** SHA-256 of the key's text, hex. */
  readonly sha256: string;
  readonly tenant: string;
  readonly kind: Kind;
  readonly role: Role;
  readonly scopes: readonly string[];
  readonly created_at_ms: number;
  readonly expires_at_ms?: number;
  readonly revoked_at_ms?: number;
  /** 2 since the roles `operator` and `service` are separate; absent from older keys. */
  readonly form?: 2;
  /** The key that this one replaces. */
  readonly rotated_from?: string;
}

/** Why a presented key is refused; codes of the error table. */
export type KeyRefusal = 'api_key_invalid' | 'api_key_revoked' | 'api_key_expired';

/** The text of a new key; it is shown once. */
export function newKeyText(kind: Kind): string {
  return `svc_${kind}_${base62(32)}`;
}

/** A name for a key. */
export const newKeyId = (): string => `key_${base62(12)}`;

/** The stored form of a key: hex of its SHA-256. */
export const keyHash = (text: string): string => hash('sha256', text, 'hex');

/** The kind of log in the prefix of a key; null if the text is not a key. */
export function kindOfKey(text: string): Kind | null {
  const match = SHAPE.exec(text);
  return match === null ? null : (match[1] as Kind);
}

/** Checks a presented key against the record of its hash. */
export function judge(record: KeyRecord, sha256: string, now_ms: number): KeyRefusal | null {
  // The record was found by this hash, so the comparison is redundant. It makes the check independent of the lookup.
  if (!timingSafeEqual(Buffer.from(record.sha256), Buffer.from(sha256))) return 'api_key_invalid';
  if (record.revoked_at_ms !== undefined) return 'api_key_revoked';
  if (record.expires_at_ms !== undefined && record.expires_at_ms <= now_ms)
    return 'api_key_expired';
  return null;
}

// The receipt keys that a replayed log has declared: which key signs the next entry, and the rules for rotation and
// revocation. log/FORMAT.md §2.

import type { Suite } from '../crypto/suite.ts';
import { publicKeyOfJwk, thumbprint } from '../crypto/thumbprint.ts';
import type { JsonObject } from '../encoding/json.ts';
import type { ReceiptKey } from '../types.ts';
import { RuleBroken } from '../rules/violation.ts';

type Status = ReceiptKey['status'];

/** The key that must sign the next entry. */
export interface KeyInForce {
  readonly kid: string;
  readonly publicKey: Uint8Array;
}

/** The state as JSON, for `restore`. */
export interface KeysDump {
  readonly keys: readonly ReceiptKey[];
  /** `kid` of the key that the next entry must retire; null if there is none. The name is part of the file format. */
  readonly leaving: string | null;
}

/** The keys that the entries so far have declared. */
export class ReceiptKeys {
  readonly #suite: Suite;
  /** By kid, in the order of their first declarations. */
  readonly #keys = new Map<string, ReceiptKey>();
  /** `kid` of the key that the next entry must retire, because the last entry declared its successor; else null. */
  #replaced: string | null = null;
  #inForce: KeyInForce | null = null;

  constructor(suite: Suite) {
    this.#suite = suite;
  }

  /** The newest active key, which signs the next entry; null before entry 0. */
  inForce(): KeyInForce | null {
    return this.#inForce;
  }

  list(): readonly ReceiptKey[] {
    return [...this.#keys.values()];
  }

  /**
   * Checks the next entry: after a `log.key.v1` that declares a new key, it must retire the old key. A `log.key.v1`
   * must declare a status that the key can change to.
   *
   * @throws RuleBroken `key_rotation`, `key_status`
   */
  check(statement: JsonObject): void {
    const declared = statement.type === 'log.key.v1' ? this.#read(statement) : null;
    if (this.#replaced !== null) {
      if (declared?.kid !== this.#replaced || declared.status === 'active') {
        throw new RuleBroken(
          'key_rotation',
          'the entry after a new key does not retire the old one',
          this.#declaredAt(this.#inForce?.kid),
        );
      }
    }
    if (declared === null) return;
    const { kid, status } = declared;
    const before = this.#keys.get(kid)?.status;
    if (!NEXT[before ?? 'unknown'].includes(status)) {
      throw new RuleBroken(
        'key_status',
        `a key that is ${before ?? 'unknown'} cannot be ${status}`,
        this.#declaredAt(kid),
      );
    }
  }

  /** The index of the latest declaration of the key in force. It proves that an entry by another key breaks a rule. */
  inForceAt(): readonly number[] {
    return this.#declaredAt(this.#inForce?.kid);
  }

  /** The index of the latest declaration of a key; empty for an unknown key. */
  #declaredAt(kid: string | undefined): readonly number[] {
    const key = kid === undefined ? undefined : this.#keys.get(kid);
    return key === undefined ? [] : [key.revoked_index ?? key.ended_index ?? key.since_index];
  }

  /** Applies an entry that passed `check`. Entry 0 declares the key in its member `jwk`. */
  apply(statement: JsonObject, index: number, issued_at_ms: number): void {
    if (statement.type === 'log.open.v1') {
      this.#set(this.#read({ key: statement.jwk ?? null, status: 'active' }), index, issued_at_ms);
    } else if (statement.type === 'log.key.v1') {
      const declared = this.#read(statement);
      this.#replaced = declared.status === 'active' ? (this.#inForce?.kid ?? null) : null;
      this.#set(declared, index, issued_at_ms);
    }
  }

  dump(): KeysDump {
    return { keys: this.list(), leaving: this.#replaced };
  }

  restore(dump: KeysDump): void {
    for (const key of dump.keys) this.#keys.set(key.kid, key);
    this.#replaced = dump.leaving;
    this.#inForce = this.#newest();
  }

  #read(statement: JsonObject): { kid: string; jwk: ReceiptKey['jwk']; status: Status } {
    const jwk = statement.key as unknown as ReceiptKey['jwk'];
    return { kid: thumbprint(this.#suite, jwk), jwk, status: statement.status as Status };
  }

  #set(
    declared: { kid: string; jwk: ReceiptKey['jwk']; status: Status },
    index: number,
    ms: number,
  ): void {
    const before = this.#keys.get(declared.kid);
    this.#keys.set(
      declared.kid,
      before === undefined
        ? { ...declared, since_index: index, since_ms: ms }
        : {
            ...before,
            status: declared.status,
            ended_index: before.ended_index ?? index,
            ended_ms: before.ended_ms ?? ms,
            ...(declared.status === 'revoked' ? { revoked_index: index, revoked_ms: ms } : {}),
          },
    );
    this.#inForce = this.#newest();
  }

  #newest(): KeyInForce | null {
    const key = this.list().findLast(({ status }) => status === 'active');
    return key === undefined ? null : { kid: key.kid, publicKey: publicKeyOfJwk(key.jwk) };
  }
}

/** The statuses that a key of each status may change to. A key never becomes active a second time. */
const NEXT: Readonly<Record<Status | 'unknown', readonly Status[]>> = {
  unknown: ['active'],
  active: ['retired', 'revoked'],
  retired: ['revoked'],
  revoked: [],
};

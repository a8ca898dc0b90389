// Receipt keys over the life of a log: which one is in force, rotation, revocation. log/FORMAT.md §2.

import type { Suite } from '../crypto/suite.ts';
import { publicKeyOfJwk, thumbprint } from '../crypto/thumbprint.ts';
import type { JsonObject } from '../encoding/json-types.ts';
import type { ReceiptKey } from '../types.ts';
import { RuleBroken } from '../rules/violation.ts';

type Status = ReceiptKey['status'];

/** A key that signs. */
export interface KeyInForce {
  readonly kid: string;
  readonly publicKey: Uint8Array;
}

/** What `restore` needs. */
export interface KeysDump {
  readonly keys: readonly ReceiptKey[];
  readonly leaving: string | null;
}

/** The keys that the entries so far have declared. */
export class ReceiptKeys {
  readonly #suite: Suite;
  /** In the order of their first declaration, which is that of their last one while active. */
  readonly #keys = new Map<string, ReceiptKey>();
  /** The key that the next entry must retire, since the entry before declared a new one. */
  #leaving: string | null = null;
  #inForce: KeyInForce | null = null;

  constructor(suite: Suite) {
    this.#suite = suite;
  }

  /** Of the active keys the newest: the one that signs the next entry. */
  inForce(): KeyInForce | null {
    return this.#inForce;
  }

  list(): readonly ReceiptKey[] {
    return [...this.#keys.values()];
  }

  /** The index that a pending rotation must be finished at is the next one; whatever stands there is checked. */
  check(statement: JsonObject): void {
    const declared = statement.type === 'log.key.v1' ? this.#read(statement) : null;
    if (this.#leaving !== null) {
      if (declared?.kid !== this.#leaving || declared.status === 'active') {
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
    // Nothing comes back: a key goes from active to retired or revoked, or from retired to revoked.
    const next: readonly Status[] =
      before === undefined
        ? ['active']
        : before === 'active'
          ? ENDED
          : before === 'retired'
            ? REVOKED
            : [];
    if (!next.includes(status)) {
      throw new RuleBroken(
        'key_status',
        `a key that is ${before ?? 'unknown'} cannot be ${status}`,
        this.#declaredAt(kid),
      );
    }
  }

  /** Index of the latest declaration of the key in force: the entry that an entry of another key contradicts. */
  inForceAt(): readonly number[] {
    return this.#declaredAt(this.#inForce?.kid);
  }

  /** Index of the latest declaration of a key, if it has one. */
  #declaredAt(kid: string | undefined): readonly number[] {
    const key = kid === undefined ? undefined : this.#keys.get(kid);
    return key === undefined ? [] : [key.revoked_index ?? key.ended_index ?? key.since_index];
  }

  /** Entry 0 declares its jwk; `log.key.v1` what it says. `check` has let the statement through. */
  apply(statement: JsonObject, index: number, issued_at_ms: number): void {
    if (statement.type === 'log.open.v1') {
      this.#set(this.#read({ key: statement.jwk ?? null, status: 'active' }), index, issued_at_ms);
    } else if (statement.type === 'log.key.v1') {
      const declared = this.#read(statement);
      this.#leaving = declared.status === 'active' ? (this.#inForce?.kid ?? null) : null;
      this.#set(declared, index, issued_at_ms);
    }
  }

  dump(): KeysDump {
    return { keys: this.list(), leaving: this.#leaving };
  }

  restore(dump: KeysDump): void {
    for (const key of dump.keys) this.#keys.set(key.kid, key);
    this.#leaving = dump.leaving;
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

const ENDED: readonly Status[] = ['retired', 'revoked'];
const REVOKED: readonly Status[] = ['revoked'];

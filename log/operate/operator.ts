// The operations on an open log that only the operator may start: changes of keys, confirming the clock, backup, and
// closing the log for good.

import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { asInvalid } from '../rules/admission.ts';
import { metaKey } from '../store/layout.ts';
import { openStore, put, type Store, type Write } from '../store/store.ts';
import type { Engine } from '../write/engine.ts';
import { LogError } from '../errors.ts';
import { refusal } from '../write/read-only.ts';
import { checkSuccessor } from '../rules/life.ts';
import type { Appended, Draft, Log, LogOperator, Published, ReceiptKey } from '../types.ts';
import { Turns } from '../turns.ts';

/** Appends entries that no tenant wrote. */
type Append = (drafts: readonly Draft[]) => Promise<readonly Appended[]>;

/** The operator's operations on one open log. */
export class Operator implements LogOperator {
  readonly #log: Log;
  readonly #engine: () => Engine;
  readonly #append: Append;
  /** Serialises changes of keys, because each one retires the key that the previous one declared. */
  readonly #turns = new Turns();

  constructor(log: Log, engine: () => Engine, append: Append) {
    this.#log = log;
    this.#engine = engine;
    this.#append = append;
  }

  /** Waits for the changes of keys in progress. */
  settled(): Promise<void> {
    return this.#turns.settled();
  }

  rotateKey(): Promise<string> {
    return this.#turns.run(async () => {
      const before = this.#engine().core.keys.inForce();
      const { draft, kid } = await this.#newKey();
      // The old key signs the entry that declares the new key; the new key signs the entry that retires the old one.
      await this.#append([draft, ...(before === undefined ? [] : [declare(before, 'retired')])]);
      return kid;
    });
  }

  revokeKey(kid: string): Promise<void> {
    return this.#turns.run(async () => {
      const { keys } = this.#engine().core;
      // A revocation that failed may still be among the changes of entries that are not durable.
      const key = keys.durable().find((candidate) => candidate.kid === kid);
      if (key === undefined) throw new LogError('not_found', `the log has no receipt key ${kid}`);
      if (key.status === 'revoked') return;
      const successor = keys.inForce()?.kid === kid ? [(await this.#newKey()).draft] : [];
      await this.#append([...successor, declare(key, 'revoked')]);
    });
  }

  confirmClock(): void {
    this.#engine().core.clock.confirm();
  }

  async backup(folder: string): Promise<{ size: number }> {
    const { core } = this.#engine();
    return backupStore(core.store, folder);
  }

  async closeForGood(successor: string | null, signal?: AbortSignal): Promise<Published> {
    asInvalid(() => {
      checkSuccessor({ successor }, this.#log.origin);
    });
    const [closed] = await this.#append([{ type: 'log.closed.v1', members: { successor } }]);
    return this.#log.whenPublished((closed?.index ?? 0) + 1, signal);
  }

  async #newKey(): Promise<{ draft: Draft; kid: string }> {
    const { keyring, read_only } = this.#engine();
    // Checked before the key file is written: a log that takes no entries would never declare the key.
    if (read_only !== null) throw refusal(read_only);
    const { kid, jwk } = await keyring.addReceipt();
    const { kty, crv, x } = jwk;
    return {
      kid,
      draft: { type: 'log.key.v1', members: { key: { kty, crv, x }, status: 'active' } },
    };
  }
}

const declare = ({ jwk }: ReceiptKey, status: 'retired' | 'revoked'): Draft => ({
  type: 'log.key.v1',
  members: { key: { kty: jwk.kty, crv: jwk.crv, x: jwk.x }, status },
});

/** Rows in one batch of a backup. */
const BATCH = 1024;

/**
 * Copies every row to `<folder>/db`, which must not exist, while the log continues to write. The copy is a consistent
 * snapshot. It does not contain the private keys, nor the checkpoint register: a restored copy must be compared with
 * the current register, not with an old one of its own.
 */
export async function backupStore(store: Store, folder: string): Promise<{ size: number }> {
  const target = join(folder, 'db');
  const taken = await access(target).then(
    () => true,
    () => false,
  );
  if (taken)
    throw new LogError('out_of_range', `${target} exists already: a backup needs a new folder`);
  const copy = await openStore(target);
  try {
    let batch: Write[] = [];
    for await (const [key, value] of store.copy()) {
      batch.push(put(key, value));
      if (batch.length < BATCH) continue;
      await copy.write(batch);
      batch = [];
    }
    await copy.write(batch);
    const state = copy.get(metaKey('state'));
    return {
      size:
        state === undefined
          ? 0
          : (JSON.parse(Buffer.from(state).toString()) as { size: number }).size,
    };
  } finally {
    await copy.close();
  }
}

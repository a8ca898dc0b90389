// What clients of the simulated log send: appends, repetitions under an idempotency key, and what errors they accept.

import { isLogError } from '../../log/index.ts';
import type { Draft, JsonObject, Log } from '../../log/index.ts';
import { LogProcess } from './log-process.ts';
import { describe, entity, NOTE, TENANTS } from './subject.ts';
import type { Codes, Once } from './subject.ts';
import { Broken } from './world/world.ts';

export class LogClients extends LogProcess {
  /** Calls the product as a client does. An error must be one of the codes, or explained by a fault. */
  protected call<T>(
    what: string,
    codes: Codes,
    run: () => Promise<T>,
    done?: (value: T) => void,
  ): void {
    const process = this.process;
    let called: Promise<T>;
    try {
      called = this.world.as(process, run);
    } catch (error) {
      called = Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
    called.then(
      (value) => {
        this.world.trace(() => `${what}: done`);
        done?.(value);
      },
      (error: unknown) => {
        const code = isLogError(error) ? error.code : null;
        this.world.trace(() => `${what}: ${code ?? String(error)}`);
        if (!process.alive) return;
        this.guard(() => {
          if (!this.explained(error, codes)) throw new Broken(`${what} refused`, describe(error));
        });
        if (what === 'close') done?.(undefined as T);
      },
    );
  }

  protected explained(error: unknown, codes: Codes): boolean {
    if (!isLogError(error)) {
      const system = (error as { code?: string }).code ?? '';
      return this.excused && (system === 'ENOSPC' || system === 'EIO');
    }
    const { code } = error;
    if (codes.includes(code)) return true;
    if (code === 'log_read_only' && this.plan.lying !== null) return (this.detected = true);
    if (code === 'log_unavailable') return this.excused || this.damaged || this.stopping;
    if (code === 'clock_untrusted') return this.clockMoved;
    return code === 'store_corrupt' && this.damaged;
  }

  // Appends.

  protected notes(tenant: number, cases: readonly number[]): Draft[] {
    return cases.map((one) => {
      const n = this.n;
      this.n += 1;
      this.sent.set(n, 'maybe');
      return {
        type: NOTE.name,
        tenant_ref: TENANTS[tenant] ?? '',
        members: { case_id: `c${String(one)}`, n },
      };
    });
  }

  protected append(log: Log, drafts: readonly Draft[], key?: Once): void {
    const ledger = this.ledger;
    const size = log.size();
    const attach =
      key === undefined
        ? {}
        : {
            attach: ([first]: readonly { readonly index: number }[]) => [
              { key: `once/${String(key.key)}`, value: Buffer.from(String(first?.index)) },
            ],
          };
    const what = key === undefined ? 'append' : `append once/${String(key.key)}`;
    this.call(
      what,
      ['tenant_unknown', 'log_closed'],
      async () => {
        try {
          return await log.append(drafts, attach);
        } catch (error) {
          if (key !== undefined)
            key.state = isLogError(error) && error.code === 'tenant_unknown' ? 'done' : 'waiting';
          throw error;
        }
      },
      (entries) => {
        this.guard(() => {
          if (entries.length !== drafts.length)
            throw new Broken('receipts', 'an append has another number of entries');
          for (const [i, { index, text, statement }] of entries.entries()) {
            if (index < size || index !== (entries[0]?.index ?? 0) + i) {
              throw new Broken(
                'order',
                `index ${String(index)} is given to an append after size ${String(size)}`,
              );
            }
            ledger.acknowledge(index, text);
            const { n } = statement;
            if (n !== (drafts[i]?.members as JsonObject | undefined)?.['n']) {
              throw new Broken('receipts', `entry ${String(index)} is not the one that was sent`);
            }
            if (typeof n === 'number') this.sent.set(n, 'acknowledged');
            if (log.entry(index) !== text)
              throw new Broken('receipt lost', `entry ${String(index)} as it is acknowledged`);
          }
          if (key !== undefined) key.state = 'done';
        });
      },
    );
  }

  /** Sends again what is not known to be in the log, as clients with an idempotency key do. */
  protected retry(log: Log): void {
    for (const one of this.once) {
      if (one.state !== 'waiting' || !log.health().writable) continue;
      let bytes: Uint8Array | undefined;
      try {
        bytes = log.attached(`once/${String(one.key)}`);
      } catch (error) {
        if (this.explained(error, [])) continue;
        throw error;
      }
      if (bytes === undefined) {
        one.state = 'sent';
        this.append(log, one.drafts, one);
        continue;
      }
      this.tolerant(() => {
        const text = log.entry(Number(Buffer.from(bytes).toString()));
        if (text?.includes(`"n":${String(one.first)},`) !== true) {
          throw new Broken(
            'idempotency',
            `once/${String(one.key)} names another entry: ${text ?? 'none'}`,
          );
        }
      });
      one.state = 'done';
    }
    this.once = this.once.filter(({ state }) => state !== 'done');
  }

  protected surface(
    log: Log,
    tenant: number | null,
    type: string,
    members: Extract<Draft['members'], (...at: never) => unknown>,
    of = 0,
  ): void {
    // The owner of an entity writes for it; where nobody has claimed it, the log must refuse.
    let owner: string | null;
    try {
      owner = log.surfaces().owner(entity(of));
    } catch (error) {
      if (this.explained(error, [])) return;
      throw error;
    }
    const tenant_ref = tenant === null ? (owner ?? TENANTS[0] ?? '') : (TENANTS[tenant] ?? '');
    const codes: Codes = ['entity_unclaimed', 'entity_forbidden', 'tenant_unknown', 'log_closed'];
    const ledger = this.ledger;
    this.call(
      type,
      codes,
      () => log.append([{ type, tenant_ref, members }]),
      ([entry]) => {
        this.guard(() => {
          if (entry !== undefined) ledger.acknowledge(entry.index, entry.text);
        });
      },
    );
  }
}

// Faults that are planted in the gateway and its plugins, one at a time, as those of mutants.ts are in the log.

import type { Mutant } from './mutants.ts';

const mutant = (fault: string, file: string, from: string, to: string): Mutant => ({
  fault,
  world: 'gateway',
  file,
  from,
  to,
});

export const GATEWAY_MUTANTS: readonly Mutant[] = [
  // The gateway's own databases.
  mutant(
    "a write to the gateway's database is not synced",
    'gateway/tenants/synced-level.ts',
    'await batch.write({ sync: true });\n    this.#position = next;',
    'await batch.write({ sync: false });\n    this.#position = next;',
  ),
  mutant(
    "a write to the gateway's database is acknowledged before it is durable",
    'gateway/tenants/synced-level.ts',
    'await batch.write({ sync: true });\n    this.#position = next;',
    'void batch.write({ sync: true });\n    this.#position = next;',
  ),
  mutant(
    'the position is not in the batch of its rows',
    'gateway/tenants/synced-level.ts',
    'batch.put(POSITION, sealed(POSITION, Buffer.from(JSON.stringify(next))));\n    ',
    '',
  ),
  mutant(
    'the position is not in the register',
    'gateway/tenants/synced-level.ts',
    'this.#position = next;\n    await this.#remember();',
    'this.#position = next;',
  ),
  mutant(
    'a database that failed to write is not opened again',
    'gateway/tenants/synced-level.ts',
    'if (this.#doubtful) await this.#reopen();',
    '',
  ),
  // API keys.
  mutant(
    'a revocation is acknowledged before it is stored',
    'gateway/tenants/tenants.ts',
    'await this.#store.putKeys([revoked]);',
    'void this.#store.putKeys([revoked]);',
  ),
  mutant(
    'a revoked key stays in memory',
    'gateway/tenants/store.ts',
    'for (const record of records) keys.set(record.sha256, record);',
    'for (const record of records) if (!keys.has(record.sha256)) keys.set(record.sha256, record);',
  ),
  mutant(
    'a rotation leaves the predecessor of the old key valid',
    'gateway/tenants/tenants.ts',
    '...ended.map((before) => ({ ...before, revoked_at_ms: now })),',
    '',
  ),
  // Requests.
  mutant(
    'the idempotency record is written after the entries',
    'gateway/http/append.ts',
    '...recordOf(ctx, indexes, kept)];\n      },\n      ...options,\n    });\n',
    '];\n      },\n      ...options,\n    });\n    await log.putAttached(recordOf(ctx, entries.map(({ index }) => index), kept));\n',
  ),
  mutant(
    'a replay does not say what the first answer kept',
    'gateway/http/idempotency.ts',
    'await answerStored(ctx, log, record.indexes, record.kept);',
    'await answerStored(ctx, log, record.indexes.slice(-1), record.kept);',
  ),
  mutant(
    'an answer with an earlier entry has no idempotency record',
    'gateway/http/append.ts',
    'if (record.length > 0) await log.putAttached(record);',
    'if (record.length > 9) await log.putAttached(record);',
  ),
  mutant(
    'a second request with a key does not wait for the first',
    'gateway/http/idempotency.ts',
    'if (inFlight.has(claim.name)) {',
    "if (inFlight.has('')) {",
  ),
  mutant(
    'a count is answered before it is on disk',
    'gateway/tenants/counters.ts',
    'while (this.#written < needed) await (this.#writing ??= this.#write());\n    } catch (error) {\n      this.#refused(error);\n    }\n  }\n\n  /** Tries',
    'if (this.#written < needed) void (this.#writing ??= this.#write());\n    } catch (error) {\n      this.#refused(error);\n    }\n  }\n\n  /** Tries',
  ),
  mutant(
    'messages to receivers are not in the batch of their entry',
    'gateway/http/append.ts',
    '...notices.rows(placed, disclosures), ',
    '',
  ),
  mutant(
    'a message that failed is not tried again',
    'gateway/webhooks/job.ts',
    'return [noReadyRow(job), { key: laterKey(job, due_ms), value }];',
    'return [noReadyRow(job), { key: laterKey(job, due_ms), value: null }];',
  ),
  mutant(
    'a subscription is acknowledged before it is stored',
    'gateway/webhooks/subscriptions.ts',
    'await this.#store.putSubscription(record);\n    return this.#add(record);',
    'void this.#store.putSubscription(record);\n    return this.#add(record);',
  ),
  // Private texts.
  mutant(
    'keys of disclosures are used before they are stored',
    'gateway/tenants/disclosures.ts',
    'await this.#db.put(rows, { fresh: true });',
    'void this.#db.put(rows, { fresh: true });',
  ),
  mutant(
    'two entries are sealed with one key',
    'gateway/tenants/disclosures.ts',
    'const taken = this.#keys.splice(-count);',
    'const taken = this.#keys.slice(-count).map(({ id, key }) => ({ id, key: Uint8Array.from(key) }));',
  ),
  mutant(
    'an erasure leaves the bytes of the key in a table',
    'gateway/tenants/synced-level.ts',
    'await this.#db.compactRange(key, key);\n      await this.#commit([], [key], false);',
    'await this.#commit([], [key], false);',
  ),
  mutant(
    'an erasure does not compact what it deleted',
    'gateway/tenants/synced-level.ts',
    'await this.#commit([], [key], false);\n      await this.#db.compactRange(key, key);',
    'await this.#commit([], [key], false);',
  ),
  mutant(
    'an erasure has no pending row',
    'gateway/tenants/erase.ts',
    'attach: () => [pending],',
    'attach: () => [],',
  ),
  mutant(
    'a start does not finish erasures',
    'gateway/open.ts',
    'if (!follows) await finishErasures(gateway);',
    '',
  ),
  // Plugins.
  mutant(
    'a permit is not looked at again at its sequence point',
    'plugins/gate/permit.ts',
    '      checkUsable((name) => gateRow(rows, name), permit_id, row, now_ms);\n',
    '',
  ),
  mutant(
    'the use of a permit does not mark it',
    'plugins/gate/rows.ts',
    '{ ...permit, used_by: entry_id }',
    '{ ...permit, used_by: permit.used_by ?? null, last: entry_id }',
  ),
  mutant(
    'a hold is not looked at again at its sequence point',
    'plugins/gate/holds.ts',
    '              checkHeld(gateRow(rows, holdRow(hold_id)) as unknown as HoldRow | undefined);\n              if (now_ms',
    '              if (rows !== null && now_ms',
  ),
  mutant(
    'a payment may be bound again after a terminal bind',
    'plugins/pdtr/standing.ts',
    'if (!newest.terminal && seq > newest.seq) return null;',
    'if (seq > newest.seq) return null;',
  ),
  mutant(
    'a cleared act counts twice',
    'plugins/clear/usage.ts',
    'acts: usage.acts + 1,',
    'acts: usage.acts + (share === null ? 1 : 2),',
  ),
];

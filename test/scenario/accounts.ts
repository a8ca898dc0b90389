// The accounts of the month, computed from the entries of the log alone: what each tenant owes and which layers
// appended; also whether a monitor and fsck accept the log.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LOG_KINDS } from '../../log/index.ts';
import type { Log } from '../../log/index.ts';
import { fsck } from '../../log/operate.ts';
import { MICRO, parseDecimal } from '../../plugins/contract/decimal.ts';
import { broughtTypes } from '../../tools/brought-types.ts';
import type { Running } from '../gateway/running.ts';
import { actlog } from '../support/actlog.ts';
import type { Body } from '../support/body.ts';
import { POLICY } from '../plugins/gate/asking.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** A Monday. The scenes continue into April, so that March is over when its invoice is made. */
export const FIRST_DAY_MS = Date.UTC(2026, 2, 2, 9);
export const MONTH = '2026-03';
export const DAYS = 40;
/** A message that the classifier marks as a violation. */
export const VIOLATION = 'We do not hire people over 50.';

/** The policy of the gate of the carrier: that of the tests of the gate, and the act that requires a receipt. */
export const MONTH_POLICY = {
  ...POLICY,
  rules: [
    ...POLICY.rules,
    { id: 'receipts', effect: 'allow', action_types: ['require_receipt.act'] },
  ],
};

/** The sum of amounts in USD, in micro-USD. */
export const microSum = (amounts: readonly string[]): bigint =>
  amounts.reduce((sum, amount) => sum + parseDecimal(amount, MICRO), 0n);

/** What a tenant owes for a month in micro-USD, by the entries of the log. */
type Owed = Readonly<Record<'tolls' | 'fees' | 'credits', bigint>>;

/** The entries of a log as objects. */
function* entriesOf(log: Log): Generator<Body> {
  for (let index = 0; index < log.size(); index += 1) {
    yield JSON.parse(log.entry(index) ?? '{}');
  }
}

/**
 * What each tenant owes, by `tenant_ref` and month, and the `tenant_ref` that published the manifests. Only this
 * tenant was granted credits; after the grant they pay all its tolls.
 */
function owedByMonth(log: Log): { owed: ReadonlyMap<string, Owed>; tenant_ref: string } {
  const owed = new Map<string, Owed>();
  let tenant_ref = '';
  let granted = false;
  for (const entry of entriesOf(log)) {
    if (entry.type === 'astl.manifest.v1') tenant_ref = entry.tenant_ref;
    if (entry.type === 'clearing.grant.v1') granted = true;
    const month = new Date(entry.issued_at_ms ?? 0).toISOString().slice(0, 7);
    const name = `${String(entry.tenant_ref)} ${month}`;
    const { tolls, fees, credits } = owed.get(name) ?? { tolls: 0n, fees: 0n, credits: 0n };
    const toll = BigInt(entry.toll_micro_usd ?? 0);
    const cleared = BigInt(entry.cleared_micro_usd ?? 0);
    owed.set(name, {
      tolls: tolls + toll,
      // 2 basis points of the cleared amounts, and the fees of fired obligations.
      fees: fees + (cleared * 2n) / 10_000n + BigInt(entry.owed_fee_micro_usd ?? 0),
      credits: credits + (granted ? toll : 0n),
    });
  }
  return { owed, tenant_ref };
}

/** The first parts of the types in a log, which are the layers that have appended. */
export function layersIn(log: Log): ReadonlySet<string> {
  return new Set([...entriesOf(log)].map(({ type = '' }) => type.slice(0, type.indexOf('.'))));
}

/** Checks the published logs with `actlog monitor`, and their databases with fsck. Stops the service in between. */
export async function accepted(running: Running): Promise<void> {
  const state = await mkdtemp(join(tmpdir(), 'actlog-month-'));
  try {
    const answer = await actlog(['monitor', running.url, '--state', state, '--once']);
    assert.equal(answer.code, 0, answer.stdout + answer.stderr);
  } finally {
    await rm(state, { recursive: true });
  }
  await running.close(true);
  const types = await broughtTypes({ PLUGINS: [] });
  for (const kind of LOG_KINDS) {
    const { differences } = await fsck({ folder: join(running.data, kind, '1'), types });
    assert.deepEqual(differences, [], kind);
  }
}

/** Checks that the invoices of both months agree with the entries of the log. */
export async function assertOwed(
  log: Log,
  invoiceOf: (month: string) => Promise<Body>,
): Promise<void> {
  const { owed, tenant_ref } = owedByMonth(log);
  const months = [...owed.keys()]
    .filter((name) => name.startsWith(`${tenant_ref} `))
    .map((name) => name.slice(-7));
  assert.deepEqual(months, [MONTH, '2026-04']);
  for (const month of months) {
    const invoice = await invoiceOf(month);
    const { tolls, fees, credits } = owed.get(`${tenant_ref} ${month}`) ?? assert.fail(month);
    const said = [
      ...[invoice.tolls_micro_usd, invoice.fees_micro_usd, invoice.credits_micro_usd],
      invoice.net_micro_usd,
    ];
    const net = tolls + fees - credits;
    assert.deepEqual(said, [tolls, fees, credits, net].map(String), month);
    assert.ok(credits > 0n, month);
  }
}

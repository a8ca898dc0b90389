// The monthly invoice of a tenant: tolls, fees, credits and nets, computed act by act from the entries. After the end
// of the month, an entry commits to the invoice. gateway/API.md §10.10.
//
// The credits and fees of an act depend on its place in the log and are in its row (ledger.ts). The meter
// (plugins/clear) computes the same sums independently; an invoice that differs from the meter is not answered.

import clear, { actOf, monthWindow, usd } from '../clear/index.ts';
import type { Act, Digits } from '../clear/index.ts';
import {
  ApiError,
  documentHash,
  namedStatement,
  RightEdge,
  toBase64,
  toHex,
  Turns,
} from '../contract/index.ts';
import type { Caller, Draft, JsonObject, Kind, LogView, PluginHost } from '../contract/index.ts';
import { accountOf, INVOICE_ENTRY } from './entries.ts';
import { actRows, indexText, invoiceRow, own } from './ledger.ts';
import type { ActRow, InvoiceRow } from './ledger.ts';
import { dueOf, netWithAct, NO_NET } from './net.ts';
import type { Net } from './net.ts';
import { proofOf, provenSlot } from './proof.ts';
import type { Slots } from './slots.ts';
import { INVOICE } from './verify.ts';
import { weekOf } from '../contract/index.ts';

/** Rows read in one call; other requests are served between the calls. */
const PAGE = 250;
/** Number of leaves after which the right edge's completed tiles are dropped. */
const TILE = 256;
/** Largest number of acts, and of obligations, that an invoice lists. Its sums include all. */
export const MAX_SHOWN = 100;
/** How long an invoice waits until the log is past the end of its month. */
const CLOSED_MS = 5000;

/** Part of every invoice. The commitment of the log covers this text. */
const DOES_NOT_ASSERT = [
  'by itself that no governed act of the month was left out: the acts of a tenant are on no common chain. The slots show it for each whole week, and whoever has the entries of the log can add them up again',
  'which act drew which credits, or paid which basis points: the verifier compares their sums with the slots',
  'that anything was paid, or how it is taxed',
];

/** An act of the month with its credits and fees. */
export interface BilledAct extends Act {
  readonly statement: JsonObject;
  readonly row: ActRow;
}

/** A settlement that owes a fee. */
interface Obligation extends JsonObject {
  readonly entry_id: string;
  readonly trigger_id: string | null;
  readonly micro_usd: Digits;
}

/** The acts of the month in one log. */
interface LogPart {
  readonly log: LogView;
  readonly acts: number;
  /** Hex; RFC 6962 root over the entries of the acts, oldest first. */
  readonly acts_root: string;
  /** Indexes of the first `MAX_SHOWN` acts. */
  readonly indexes: readonly number[];
}

/** The sums over the acts of a month. */
class MonthSums {
  net: Net = NO_NET;
  owed: Net = NO_NET;
  basis_points_acts = 0;
  readonly tolls = new Map<string, Net>();
  readonly weeks = new Map<string, Net>();
  readonly obligations: Obligation[] = [];
  readonly parts: LogPart[] = [];

  add(act: BilledAct): void {
    const { statement, row, toll, owed_fee_micro_usd } = act;
    const week = weekOf(statement['issued_at_ms'] as number);
    this.net = netWithAct(this.net, act, row);
    this.tolls.set(toll, netWithAct(this.tolls.get(toll) ?? NO_NET, act, row));
    this.weeks.set(week, netWithAct(this.weeks.get(week) ?? NO_NET, act, row));
    if (act.cleared_micro_usd !== 0) this.basis_points_acts += 1;
    if (owed_fee_micro_usd === 0) return;
    const micro_usd = String(owed_fee_micro_usd);
    this.owed = netWithAct(this.owed, act, ['0', micro_usd]);
    if (this.obligations.length === MAX_SHOWN) return;
    const { entry_id = '', trigger_id = null } = statement as Record<string, string>;
    this.obligations.push({ entry_id, trigger_id, micro_usd });
  }
}

/** Up to `limit` indexes of a tenant's acts of a month, beginning after `after`, each with its row. */
export async function actsAfter(
  log: LogView,
  { month, tenant_ref }: { readonly month: string; readonly tenant_ref: string },
  limit: number,
  after?: number,
): Promise<readonly (readonly [index: number, row: ActRow])[]> {
  const prefix = own(actRows(month, tenant_ref));
  const from = after === undefined ? {} : { after: prefix + indexText(after) };
  const rows = await log.rows(prefix, { limit, ...from });
  return rows.map(([key, row]) => [Number(key.slice(prefix.length)), row as unknown as ActRow]);
}

/** The act of an entry and its row. */
export function billedAct(log: LogView, index: number, row: ActRow): BilledAct {
  const statement = namedStatement(log, index);
  const act = actOf({ statement });
  if (act === null) throw new Error(`entry ${String(index)} is not a governed act`);
  return { ...act, statement, row };
}

async function readMonth(
  host: PluginHost,
  kind: Kind,
  of: { readonly month: string; readonly tenant_ref: string },
): Promise<MonthSums> {
  const sums = new MonthSums();
  for (const log of host.logs(kind)) {
    const edge = new RightEdge();
    const indexes: number[] = [];
    for (let after: number | undefined; ;) {
      const acts = await actsAfter(log, of, PAGE, after);
      for (const [index, row] of acts) {
        sums.add(billedAct(log, index, row));
        edge.append(log.leafHash(index));
        if (edge.size % TILE === 0) edge.takeDirty();
        if (indexes.length < MAX_SHOWN) indexes.push(index);
      }
      after = acts.at(-1)?.[0];
      if (acts.length < PAGE || after === undefined) break;
    }
    if (edge.size > 0) {
      sums.parts.push({ log, acts: edge.size, acts_root: toHex(edge.root()), indexes });
    }
  }
  return sums;
}

/** The tenant and the log of an invoice. */
type Billed = Pick<Caller, 'kind' | 'tenant_ref' | 'sandbox'>;

/** The part of an invoice that the entry commits to. An open invoice has only this part. */
function documentOf(
  { tenant_ref, sandbox }: Billed,
  month: string,
  status: 'open' | 'closed',
  sums: MonthSums,
): JsonObject {
  const { net, owed, tolls, weeks, parts } = sums;
  const { tolls_micro_usd, credits_micro_usd, fees_micro_usd, cleared_micro_usd } = net;
  const net_micro_usd = dueOf(net);
  const basis_points = String(BigInt(fees_micro_usd) - BigInt(owed.fees_micro_usd));
  const line = (acts: number, micro_usd: Digits) => ({ acts, micro_usd, usd: usd(micro_usd) });
  return {
    schema: INVOICE,
    status,
    month,
    ...monthWindow(month),
    tenant_ref,
    sandbox,
    currency: 'USD',
    acts: net.acts,
    tolls_micro_usd,
    credits_micro_usd,
    fees_micro_usd,
    cleared_micro_usd,
    net_micro_usd,
    net_usd: usd(net_micro_usd),
    tolls: [...tolls]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([toll, of]) => ({ toll, ...line(of.acts, of.tolls_micro_usd) })),
    fees: [
      { fee: 'basis_points', ...line(sums.basis_points_acts, basis_points) },
      { fee: 'obligation', ...line(owed.acts, owed.fees_micro_usd) },
    ],
    obligations: sums.obligations,
    weeks: [...weeks].map(([week, of]) => ({ week, ...of, net_micro_usd: dueOf(of) })),
    logs: parts.map(({ log: { origin }, acts, acts_root }) => ({ origin, acts, acts_root })),
    does_not_assert: DOES_NOT_ASSERT,
  };
}

/** Makes the invoices of a gateway. */
export class Invoices {
  readonly #host: PluginHost;
  readonly #slots: Slots;
  /** Serialises requests for the same invoice, so that only the first one appends a commitment. */
  readonly #turns = new Turns();

  constructor(host: PluginHost, slots: Slots) {
    this.#host = host;
    this.#slots = slots;
  }

  /**
   * The invoice of a month that has begun. If the month is over and no entry commits to the invoice yet, `append` is
   * called with the commitment.
   *
   * @throws ApiError `resource_missing` if the month is over and the tenant has no act in it, `window_not_closed` if
   * the log is not yet past the end of the month, `log_unavailable` if an earlier log of the month is not served
   */
  async of(
    billed: Billed,
    month: string,
    append: (draft: Draft) => Promise<void>,
  ): Promise<JsonObject> {
    const { kind, tenant_ref } = billed;
    const newest = this.#host.log(kind);
    const { to_ms } = monthWindow(month);
    if (this.#host.now() <= to_ms) {
      return documentOf(
        billed,
        month,
        'open',
        await readMonth(this.#host, kind, { month, tenant_ref }),
      );
    }
    await newest.windowClosed(to_ms, CLOSED_MS);
    const sums = await readMonth(this.#host, kind, { month, tenant_ref });
    this.#compare(billed, month, sums);
    if (sums.net.acts === 0) {
      throw new ApiError('resource_missing', `you have no governed act in ${month}`, {
        param: 'month',
      });
    }
    const document = documentOf(billed, month, 'closed', sums);
    const turn = `${kind} ${invoiceRow(month, tenant_ref)}`;
    const place = await this.#turns.run(() => this.#committed(billed, document, append), turn);
    return { ...document, ...(await this.#beside(billed, sums, place)) };
  }

  /** Compares the sums with those of the meter, which computes them independently. */
  #compare({ kind, tenant_ref }: Billed, month: string, { net }: MonthSums): void {
    const usage = this.#host.use(clear).usage(kind, tenant_ref, month);
    const { acts, tolls_micro_usd, fees_micro_usd, cleared_micro_usd } = usage;
    if (
      acts === net.acts &&
      tolls_micro_usd === net.tolls_micro_usd &&
      fees_micro_usd === net.fees_micro_usd &&
      cleared_micro_usd === net.cleared_micro_usd
    ) {
      return;
    }
    // The meter's sums are carried into a successor, but the acts of the month remain in the log before.
    if (this.#host.logs(kind)[0]?.number !== 1) {
      throw new ApiError('log_unavailable', `this service has no log with the acts of ${month}`);
    }
    throw new Error(`the acts of ${month} and the meter disagree`);
  }

  async #committed(
    { kind, tenant_ref }: Billed,
    document: JsonObject,
    append: (draft: Draft) => Promise<void>,
  ): Promise<{ readonly log: LogView; readonly index: number }> {
    const month = document['month'] as string;
    const document_sha256 = documentHash(document);
    const name = own(invoiceRow(month, tenant_ref));
    const commitmentIn = (log: LogView): number | null => {
      const row = log.row(name) as InvoiceRow | undefined;
      return row?.document_sha256 === document_sha256 ? row.index : null;
    };
    for (const log of this.#host.logs(kind).toReversed()) {
      const index = commitmentIn(log);
      if (index !== null) return { log, index };
    }
    const { acts, tolls_micro_usd, credits_micro_usd, fees_micro_usd, net_micro_usd } =
      document as Record<string, string>;
    const sums = { acts, tolls_micro_usd, credits_micro_usd, fees_micro_usd, net_micro_usd };
    const members = {
      account: accountOf(tenant_ref),
      month,
      ...sums,
      document_sha256,
    } as JsonObject;
    await append({ type: INVOICE_ENTRY, members });
    const log = this.#host.log(kind);
    const index = commitmentIn(log);
    if (index === null) throw new Error('the appended invoice has no row');
    return { log, index };
  }

  /** Acts, slots and the receipt of the commitment, with their proofs under one checkpoint of its log. */
  async #beside(
    { kind, tenant_ref }: Billed,
    { weeks, parts }: MonthSums,
    { log, index }: { readonly log: LogView; readonly index: number },
  ): Promise<JsonObject> {
    const { size, note } = await log.covering(index + 1);
    const receipt = log.receipt(index);
    if (receipt === null) throw new Error(`entry ${String(index)} has no receipt`);
    const path = (at: number): string[] => log.inclusion(at, size).map(toBase64);
    const shown = parts.find((part) => part.log.origin === log.origin)?.indexes ?? [];
    const slots: JsonObject[] = [];
    for (const week of weeks.keys()) {
      const slot = this.#slots.of(kind, week);
      if (slot?.log.origin !== log.origin) continue;
      const netted = await this.#slots.net(kind, week);
      const proof = proofOf(netted, tenant_ref, await provenSlot(slot));
      if (proof !== null) slots.push(proof);
    }
    return {
      acts_shown: shown.map((at) => ({ index: at, entry: log.entry(at), path: path(at) })),
      slots,
      checkpoint: note,
      signature: receipt['signature'] ?? null,
      receipt: {
        ...receipt,
        log: { origin: log.origin, index, checkpoint: note, inclusion_proof: path(index) },
      },
    };
  }
}

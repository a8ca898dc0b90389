// The verifiers of clearing. For the proof of a slot they check the receipt of the slot, the inclusion of the leaf and
// its arithmetic. For an invoice they check the commitment, the sums, the listed acts and the slots of its weeks.
// gateway/API.md §10.3, §10.10. Runs in browsers.

import {
  canonical,
  checkLeaf,
  fromHex,
  heldReceipt,
  Lines,
  memberOf,
  NOT_PROVEN,
  objectOf,
  objectsOf,
  openEntry,
  refuse,
  rootOfLeaves,
  single,
  suiteOf,
  textOf,
  toHex,
  Unanswerable,
  utf8,
  verifyCheckpoint,
} from '../../log/verify.ts';
import type { Asked, Json, JsonObject, Trust, Verifier } from '../../log/verify.ts';

/** `schema` of a proof. */
export const PROOF = 'svc-clearing-proof-v1';
/** `schema` of a leaf. */
export const LEAF = 'svc-clearing-leaf-v1';
/** `schema` of an invoice. */
export const INVOICE = 'svc-clear-invoice-v1';

const SLOT = 'clearing.slot.v1';
const INVOICE_ENTRY = 'clearing.invoice.v1';
const WEEK_MS = 7 * 86_400_000;

const SUMS = [
  'tolls_micro_usd',
  'credits_micro_usd',
  'fees_micro_usd',
  'cleared_micro_usd',
  'net_micro_usd',
];

/** Result of a valid proof. */
interface SlotResult {
  readonly leaf: JsonObject;
  /** Index of the slot's entry, and the size of the log's tree. */
  readonly index: number;
  readonly size: number;
}

/** Verifies the proof of a tenant's week in its slot. */
export const clearingVerifier: Verifier = {
  kind: 'clearing',
  title: 'the proof of a clearing slot',
  schemas: [PROOF],
  originOf: (document) => memberOf(objectOf(objectOf(document).slot), 'origin'),
  check: (document, trust, asked) =>
    single('clearing', () => {
      const { leaf, index, size } = verifySlotProof(objectOf(document), trust, asked);
      const { week, tenant_ref, acts, net_micro_usd } = leaf;
      return {
        detail: `leaf of ${textOf(tenant_ref)}, slot at entry ${String(index)} of ${String(size)}`,
        summary: `the slot ${textOf(week)} commits to ${String(Number(acts))} acts of this tenant, net ${textOf(net_micro_usd)} micro-USD`,
      };
    }),
};

/**
 * Checks a proof with the keys of its log.
 *
 * @throws LogError `document_invalid`, `proof_invalid`, `encoding_invalid`
 */
export function verifySlotProof(document: JsonObject, trust: Trust, asked: Asked = {}): SlotResult {
  if (document.schema !== PROOF) refuse('the document is not a slot proof');
  const slot = objectOf(document.slot);
  if (slot.type !== SLOT) refuse('the document has no receipt of a slot');
  const { index, size: treeSize } = heldReceipt(slot, trust, asked);
  if (treeSize === undefined) {
    return refuse('the document does not show that the slot is in the log');
  }
  const { leaf_index, size, path } = document;
  if (
    typeof leaf_index !== 'number' ||
    typeof size !== 'number' ||
    size !== slot.tenants ||
    !Array.isArray(path)
  ) {
    return refuse('the document has another size than its slot');
  }
  const leaf = checkedLeaf(objectOf(document.leaf), slot);
  const root = fromHex(textOf(slot.root), 32);
  checkLeaf(suiteOf(asked), { index: leaf_index, size, leaf: canonical(leaf), path, root });
  return { leaf, index, size: treeSize };
}

function checkedLeaf(leaf: JsonObject, slot: JsonObject): JsonObject {
  if (leaf.schema !== LEAF) refuse('the document has no leaf');
  if (leaf.week !== slot.week) refuse('the document has a leaf of another week than its slot');
  if (!Number.isSafeInteger(leaf.acts)) refuse('the document has a leaf without acts');
  for (const name of SUMS) {
    if (!/^-?(0|[1-9][0-9]{0,39})$/.test(textOf(leaf[name]))) {
      refuse(`the document has a leaf without ${name}`);
    }
  }
  const [tolls = 0n, credits = 0n, fees = 0n] = SUMS.map((name) => BigInt(textOf(leaf[name])));
  if (leaf.net_micro_usd !== String(tolls - credits + fees)) {
    refuse('the document has a leaf that does not add up');
  }
  return leaf;
}

/** Parses a count, or an amount as a string of digits; refuses anything else. */
function integer(value: Json | undefined, name: string): bigint {
  if (Number.isSafeInteger(value)) return BigInt(value as number);
  const text = textOf(value);
  if (!/^-?(0|[1-9][0-9]{0,39})$/.test(text)) refuse(`${name} is not an integer`);
  return BigInt(text);
}

const sumOf = (lines: readonly JsonObject[], name: string): bigint =>
  lines.reduce((sum, line) => sum + integer(line[name], name), 0n);

/** Verifies an invoice. Every check runs, so that each failing one is named. */
export const invoiceVerifier: Verifier = {
  kind: 'invoice',
  title: 'an invoice of a month',
  schemas: [INVOICE],
  originOf: (document) => memberOf(objectOf(objectOf(document).receipt), 'origin'),

  async check(shown, trust, asked) {
    const { acts_shown, slots, checkpoint, signature, receipt, ...document } = objectOf(shown);
    if (document.status === 'open') {
      throw new Unanswerable(
        'the month of this invoice is not over, so the log does not commit to it yet',
      );
    }
    const lines = new Lines();
    const statement = await lines.take('receipt', () => {
      const held = heldReceipt(receipt ?? null, trust, asked);
      if (held.size === undefined) refuse('it does not show that the entry is in the log');
      return [`entry ${String(held.index)} of ${String(held.size)}`, held.statement];
    });
    await lines.run('signature', () =>
      typeof signature === 'string' && signature === objectOf(receipt).signature
        ? 'equals the signature of the receipt'
        : refuse('it differs from the signature of the receipt'),
    );
    await lines.run('document', () => {
      if (statement === undefined) return refuse('without a good receipt nothing commits to it');
      if (statement.type !== INVOICE_ENTRY) {
        return refuse('the receipt is not of an invoice');
      }
      if (statement.tenant_ref !== document.tenant_ref) {
        return refuse('the receipt is of another tenant');
      }
      if (statement.document_sha256 !== toHex(suiteOf(asked).sha256(utf8(canonical(document))))) {
        return refuse('the receipt commits to another document, so this one was changed');
      }
      return `entry ${String(Number(statement.index))} commits to it`;
    });
    await lines.run('sums', () => checkSums(document));
    await lines.run('acts', () =>
      checkActs(document, objectsOf(acts_shown), textOf(checkpoint), trust, asked),
    );
    await lines.run('slots', () => checkSlots(document, objectsOf(slots), trust, asked));
    const { month = null, tenant_ref = null, acts = null, net_micro_usd = null } = document;
    return lines.finding(
      `the log commits to this invoice of ${textOf(month)}: ${String(Number(acts))} acts, net ${textOf(net_micro_usd)} micro-USD`,
      {
        facts: { month, tenant_ref, acts, net_micro_usd },
        not_proven: [
          'That no act of the month was left out, except in the weeks whose slots agree with the invoice.',
          ...NOT_PROVEN,
        ],
        ...(statement === undefined ? {} : { statement }),
      },
    );
  },
};

/** Checks that tolls, fees, weeks and logs add up to the sums of the document. */
function checkSums(document: JsonObject): string {
  const { month, from_ms, to_ms, acts, net_usd } = document;
  const began = new Date(Number(from_ms));
  const next = Date.UTC(began.getUTCFullYear(), began.getUTCMonth() + 1, 1);
  if (Date.parse(`${textOf(month)}-01T00:00:00Z`) !== from_ms || to_ms !== next - 1) {
    refuse('its times are not those of its month');
  }
  const adds = (list: string, name: string, of: string): void => {
    if (sumOf(objectsOf(document[list]), name) !== integer(document[of], of)) {
      refuse(`its ${list} add up to another ${of}`);
    }
  };
  for (const list of ['tolls', 'weeks', 'logs']) adds(list, 'acts', 'acts');
  for (const name of SUMS) adds('weeks', name, name);
  adds('tolls', 'micro_usd', 'tolls_micro_usd');
  adds('fees', 'micro_usd', 'fees_micro_usd');
  for (const of of [document, ...objectsOf(document.weeks)]) {
    const [toll = 0n, credit = 0n, fee = 0n, , net] = SUMS.map((name) => integer(of[name], name));
    if (toll - credit + fee !== net) refuse('a net is not tolls minus credits plus fees');
  }
  const lines = [...objectsOf(document.tolls), ...objectsOf(document.fees)];
  for (const { micro_usd, usd } of [
    ...lines,
    { micro_usd: document.net_micro_usd, usd: net_usd },
  ]) {
    const [, sign = '', digits = ''] = /^(-?)0*(\d+\.\d{6})$/.exec(textOf(usd)) ?? [];
    if (
      digits === '' ||
      BigInt(sign + digits.replace('.', '')) !== integer(micro_usd, 'micro_usd')
    ) {
      refuse(`${textOf(usd)} USD is not ${textOf(micro_usd)} micro-USD`);
    }
  }
  return `${String(Number(acts))} acts come to ${textOf(net_usd)} USD`;
}

/**
 * Checks that the listed acts are in the log and belong to the tenant and the month. If the list is complete, it also
 * checks the sums.
 */
function checkActs(
  document: JsonObject,
  shown: readonly JsonObject[],
  checkpoint: string,
  trust: Trust,
  asked: Asked,
): string | { readonly not_shown: string } {
  const suite = suiteOf(asked);
  const tree = verifyCheckpoint(checkpoint, trust, { suite });
  const tolls = new Map<string, readonly [acts: number, micro_usd: bigint]>();
  const leaves: Uint8Array[] = [];
  let [last, owed, cleared] = [-1, 0n, 0n];
  for (const one of shown) {
    const { index, ms, statement, leafHash } = openEntry(one, tree, trust, { suite });
    if (index <= last) refuse('the acts are not in the order of the log');
    last = index;
    if (statement.tenant_ref !== document.tenant_ref)
      refuse(`entry ${String(index)} is of another tenant`);
    if (ms < Number(document.from_ms) || ms > Number(document.to_ms)) {
      refuse(`entry ${String(index)} is of another month`);
    }
    const { toll, toll_micro_usd, cleared_micro_usd = 0, owed_fee_micro_usd = 0 } = statement;
    if (typeof toll !== 'string' || typeof toll_micro_usd !== 'number') {
      return refuse(`entry ${String(index)} is not a governed act`);
    }
    const [acts, sum] = tolls.get(toll) ?? [0, 0n];
    tolls.set(toll, [acts + 1, sum + BigInt(toll_micro_usd)]);
    owed += integer(owed_fee_micro_usd, 'owed_fee_micro_usd');
    cleared += integer(cleared_micro_usd, 'cleared_micro_usd');
    leaves.push(leafHash);
  }
  const logs = objectsOf(document.logs);
  const part = logs.find(({ origin }) => origin === trust.origin);
  const count = String(shown.length);
  if (Number(part?.acts ?? 0) !== shown.length) {
    if (shown.length > Number(part?.acts ?? 0)) refuse('it shows more acts than it counts');
    return `${count} of ${String(Number(document.acts))} acts are shown, and in the log`;
  }
  if (part !== undefined && part.acts_root !== toHex(rootOfLeaves(suite, leaves))) {
    refuse('acts_root is of other acts');
  }
  if (logs.length > 1 || shown.length !== document.acts) {
    return `all ${count} acts in this log are shown; those of another log are not`;
  }
  for (const { toll, acts, micro_usd } of objectsOf(document.tolls)) {
    const [found, sum] = tolls.get(textOf(toll)) ?? [0, 0n];
    if (found !== acts || String(sum) !== micro_usd)
      refuse(`the acts have another sum of ${textOf(toll)}`);
  }
  const [obligation] = objectsOf(document.fees).filter(({ fee }) => fee === 'obligation');
  if (String(owed) !== obligation?.micro_usd) refuse('the acts owe another fee');
  if (String(cleared) !== document.cleared_micro_usd) refuse('the acts cleared another sum');
  return `all ${count} acts are shown, and their tolls and obligations add up`;
}

/** Checks the listed slots: each must have a leaf of the tenant that agrees with the week of the invoice. */
function checkSlots(
  document: JsonObject,
  slots: readonly JsonObject[],
  trust: Trust,
  asked: Asked,
): string | { readonly not_shown: string } {
  const weeks = new Map(objectsOf(document.weeks).map((week) => [textOf(week.week), week]));
  const all = weeks.size;
  let whole = 0;
  let one: { readonly seq: number; readonly from_ms: number } | undefined;
  for (const proof of slots) {
    const { leaf } = verifySlotProof(proof, trust, asked);
    const slot = objectOf(proof.slot);
    const name = textOf(leaf.week);
    const week = weeks.get(name);
    if (week === undefined)
      return refuse(`the slot ${name} is of a week outside the invoice, or is listed twice`);
    weeks.delete(name);
    if (leaf.tenant_ref !== document.tenant_ref) refuse(`the slot ${name} is of another tenant`);
    const from_ms = Number(slot.from_ms);
    const isWhole =
      from_ms >= Number(document.from_ms) && Number(slot.to_ms) <= Number(document.to_ms);
    if (isWhole) whole += 1;
    for (const sum of ['acts', ...SUMS]) {
      const [mine, theirs] = [integer(week[sum], sum), integer(leaf[sum], sum)];
      // The other part of a week that spans two months is in the invoice of the other month.
      if (isWhole ? mine !== theirs : mine > theirs) refuse(`the slot ${name} has other ${sum}`);
    }
    const seq = Number(objectsOf(slot.links).find(({ key }) => isCycle(key))?.seq);
    if (one !== undefined && (from_ms - one.from_ms) / WEEK_MS !== seq - one.seq) {
      refuse('the chain has more slots than weeks between two of the listed slots');
    }
    one = { seq, from_ms };
  }
  if (slots.length === 0) return { not_shown: 'no slot of its weeks is shown' };
  return (
    `${String(slots.length)} of ${String(all)} weeks have a slot that agrees, ` +
    `${String(whole)} of them completely`
  );
}

const isCycle = (key: Json | undefined): boolean =>
  canonical(key ?? null) === '["clearing.cycle","weekly"]';

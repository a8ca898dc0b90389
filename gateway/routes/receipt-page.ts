// A receipt as a page that can be printed and handed on: what the log signed, where it stands, and a code that leads
// back to it. gateway/API.md §1.1, §1.4.

import { renderSVG } from 'uqr';
import type { Json, JsonObject, Log } from '../../log/index.ts';
import { checkReceipt } from './receipt-answer.ts';
import type { Place } from './receipt-answer.ts';

/** Members that the page shows at a place of their own. */
const ELSEWHERE = new Set([
  ...['type', 'origin', 'entry_id', 'index', 'issued_at_ms', 'kid', 'sandbox', 'signature'],
  ...['entry_hash', 'permalink', 'verify_url', 'log', 'commitments', 'disclosures', 'links'],
]);

/** The data of the view. */
export function receiptPage(
  log: Log,
  receipt: JsonObject,
  place: Place | null,
): { readonly title: string } & Readonly<Record<string, unknown>> {
  const { type, entry_id, index, issued_at_ms, kid, permalink } = receipt as Record<string, string>;
  const { checks } = checkReceipt(log, receipt, place);
  const query = log.kind === 'sandbox' ? '?log=sandbox' : '';
  return {
    title: `Receipt ${entry_id ?? ''}`,
    receipt,
    type,
    entry_id,
    index,
    kid,
    issued_at: new Date(Number(issued_at_ms)).toISOString(),
    origin: log.origin,
    kind: log.kind,
    permalink,
    verify_path: `/verify?entry_id=${entry_id ?? ''}${query.replace('?', '&')}`,
    json: JSON.stringify(receipt, null, 2),
    members: Object.entries(receipt)
      .filter(([name]) => !ELSEWHERE.has(name))
      .map(([name, value]) => ({ name, value: textOf(value) })),
    commitments: commitmentsOf(receipt),
    chains: chainsOf(receipt),
    signed: checks.signature_valid,
    key_status: checks.key_status,
    size: place === null ? null : sizeOf(place),
    included: checks.inclusion_valid,
    proof_path: `/r/${entry_id ?? ''}/tlog-proof${query}`,
    // Only black modules on white, whatever the colours of the page: a reader needs the contrast.
    code: renderSVG(permalink ?? '', { border: 2, pixelSize: 4 }),
  };
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

const sizeOf = ({ checkpoint }: Place): number => Number(checkpoint.split('\n', 2)[1]);

/** Each commitment, and what opens it where whoever asks may see that. */
function commitmentsOf({ commitments, disclosures }: JsonObject): object[] {
  const opened = (disclosures ?? {}) as Readonly<Record<string, JsonObject>>;
  return Object.entries((commitments ?? {}) as JsonObject).map(([name, hash]) => {
    const disclosure = opened[name];
    const erased = disclosure?.['erased'] === true;
    const value = disclosure?.['value'];
    return { name, hash, erased, value: value === undefined ? null : textOf(value) };
  });
}

function chainsOf({ links }: JsonObject): object[] {
  const list = (links ?? []) as unknown as readonly {
    readonly key: readonly string[];
    readonly seq: number;
    readonly prev_index: number | null;
  }[];
  return list.map(({ key, seq, prev_index }) => ({ key: JSON.stringify(key), seq, prev_index }));
}

// A receipt as a page to print or to pass on: the signed entry, its proof, and a QR code of its permalink.
// gateway/API.md §1.1, §1.4.

import { renderSVG } from 'uqr';
import type { Json, JsonObject, Log } from '../../log/index.ts';
import { outcomeOf, rulesOf } from '../search.ts';
import { checkReceipt } from './receipt-answer.ts';
import type { CheckedReceipt, Place } from './receipt-answer.ts';
import { badgeSvg, badgeWords } from './receipt-badge.ts';
import type { Badge } from './receipt-badge.ts';

/** Members that the page shows separately, not in its list of members. */
const SEPARATE = new Set([
  ...['type', 'origin', 'entry_id', 'index', 'issued_at_ms', 'kid', 'sandbox', 'signature'],
  ...['entry_hash', 'permalink', 'verify_url', 'log', 'commitments', 'disclosures', 'links'],
]);

/** What an entry says, in words: its sentence, and why its outcome is what it is. */
export interface EntryWords {
  readonly sentence: string;
  readonly reasons: readonly string[];
}

/** The data of the view. The sentence describes the entry, on the page and in previews of links to it. */
export function receiptPage(
  log: Log,
  receipt: JsonObject,
  place: Place | null,
  { sentence, reasons }: EntryWords,
): { readonly title: string } & Readonly<Record<string, unknown>> {
  const { type, entry_id, index, issued_at_ms, kid, permalink } = receipt as Record<string, string>;
  const { checks } = checkReceipt(log, receipt, place);
  const badge = badgeOf(log, receipt, checks);
  const query = log.kind === 'sandbox' ? '?log=sandbox' : '';
  return {
    title: `Receipt ${entry_id ?? ''}`,
    description: sentence,
    scripts: ['receipt-page.js'],
    kept: true,
    sentence,
    outcome: outcomeOf(receipt),
    reasons:
      reasons.length > 0 ? reasons.map((words) => ({ words })) : rulesOf(receipt).map(ruleOf),
    entity: receipt['entity'],
    surface: receipt['surface'],
    badge_words: `actlog: ${badgeWords(badge)}`,
    badge_path: `/r/${entry_id ?? ''}/badge.svg${query}`,
    badge_url: new URL(`/r/${entry_id ?? ''}/badge.svg${query}`, permalink).href,
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
      .filter(([name]) => !SEPARATE.has(name))
      .map(([name, value]) => ({ name, value: textOf(value) })),
    commitments: commitmentsOf(receipt),
    chains: chainsOf(receipt),
    signed: checks.signature_valid,
    key_status: checks.key_status,
    size: place === null ? null : sizeOf(place),
    included: checks.inclusion_valid,
    proof_path: `/r/${entry_id ?? ''}/tlog-proof${query}`,
    // The code is black on white in every colour scheme, because scanners need the contrast.
    code: renderSVG(permalink ?? '', { border: 2, pixelSize: 4 }),
  };
}

/** A rule or a reason code in words, with its code where that differs: `No wires`, `no-wires`. */
function ruleOf(rule: string): { readonly words: string; readonly code?: string } {
  const words = rule.replace(/[._:-]+/g, ' ');
  const sentence = words.slice(0, 1).toUpperCase() + words.slice(1);
  return words === rule ? { words: sentence } : { words: sentence, code: rule };
}

function badgeOf(log: Log, receipt: JsonObject, checks: CheckedReceipt['checks']): Badge {
  return {
    signed: checks.signature_valid,
    included: checks.inclusion_valid,
    sandbox: log.kind === 'sandbox',
    index: receipt['index'] as number,
    outcome: outcomeOf(receipt),
  };
}

/** The badge of a receipt as SVG. */
export const receiptBadge = (log: Log, receipt: JsonObject, place: Place | null): string =>
  badgeSvg(badgeOf(log, receipt, checkReceipt(log, receipt, place).checks));

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

const sizeOf = ({ checkpoint }: Place): number => Number(checkpoint.split('\n', 2)[1]);

/** Each commitment, with its value if the receipt discloses it. */
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

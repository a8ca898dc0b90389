// Refutes an absence document by a receipt: the entry is in the tree that the document is about, or in a
// later one that grew from it, and the document says that there is none. log/FORMAT.md §6, last paragraph.

import { equal, isJsonObject, native, parseTlogProof, toBase64 } from '../../log/index.ts';
import type { JsonObject } from '../../log/index.ts';
import { checkConsistency } from '../../log/operate.ts';
import {
  isLogError,
  LogError,
  objectOf,
  verifyAbsence,
  verifyCheckpoint,
  verifyReceipt,
} from '../../log/verify.ts';
import type { TreeHead, Trust } from '../../log/verify.ts';
import { entryOf, questionOf, rivalOf, whyNotDenied, type Shown } from './claim.ts';

/** What is compared. */
export interface Refuted {
  readonly receipt: JsonObject;
  /** A C2SP tlog-proof that came beside the receipt. */
  readonly tlogProof?: string;
  readonly document: JsonObject;
  readonly trust: Trust;
  /** The consistency proof between two sizes, from any source; null if none has it. */
  consistency(from: number, to: number): Promise<readonly Uint8Array[] | null>;
  /** The inclusion proof of an entry at a size; null if no source has it. */
  inclusion(index: number, size: number): Promise<readonly Uint8Array[] | null>;
}

/** How it ended. `proof` is one JSON document with the signed objects. */
export type Refutation =
  | { readonly outcome: 'proven'; readonly reason: string; readonly proof: JsonObject }
  | { readonly outcome: 'not_denied' | 'unknown'; readonly reason: string };

/** A tree head with the note that contains it. */
interface Head extends TreeHead {
  readonly note: string;
}

const NATIVE = { suite: native };

/** Compares a receipt with a document. Throws what `consistency` and `inclusion` throw. */
export async function refute(given: Refuted): Promise<Refutation> {
  const { receipt, document, tlogProof } = given;
  // Whose cosignatures are there does not matter: what the log itself has signed is what it is held to.
  const { policy: _policy, ...trust } = given.trust;
  const shown = verifyReceipt(receipt, trust, {
    ...NATIVE,
    ...(tlogProof === undefined ? {} : { tlogProof }),
  });
  if (!shown.valid || shown.statement === null) {
    const { name = 'receipt', detail = '' } =
      shown.checks.find(({ outcome }) => outcome === 'failed') ?? {};
    return unknown(`the receipt does not hold: ${name.replaceAll('_', ' ')}: ${detail}`);
  }
  const claimed = objectOf(document)['checkpoint'];
  if (typeof claimed === 'string' && claimed.split('\n', 1)[0] !== trust.origin) {
    return { outcome: 'not_denied', reason: 'the document is of another log than the receipt' };
  }
  let of: Head;
  try {
    // The question is the document's own: what it denies is what it was asked.
    if (!isJsonObject(document['question'] ?? null)) {
      throw new LogError('document_invalid', 'it has no question');
    }
    verifyAbsence(document, questionOf(document), trust, NATIVE);
    const note = claimed as string;
    of = { ...verifyCheckpoint(note, trust, NATIVE), note };
  } catch (error) {
    if (!isLogError(error)) throw error;
    return unknown(`the document does not hold, so it proves nothing: ${error.message}`);
  }
  const entry = entryOf(receipt, shown.statement);
  const why = whyNotDenied(document, entry);
  if (why !== null) return { outcome: 'not_denied', reason: why };
  const proof = proofOf(given, entry);
  const rival = rivalOf(document, entry);
  if (rival !== null) {
    const reason = `the log signed two entries of the index ${String(entry.index)}`;
    return { outcome: 'proven', reason, proof: proof('two_entries', reason, { rival }) };
  }
  return compare({ ...given, trust }, entry, of, proof);
}

type ProofOf = (contradiction: string, reason: string, more: JsonObject) => JsonObject;

/** Whether the entry is in the document's tree, or in a tree that both extend or are part of. */
async function compare(
  given: Refuted,
  entry: Shown,
  of: Head,
  proof: ProofOf,
): Promise<Refutation> {
  const own = headOf(given) ?? null;
  if (own === null) {
    // No checkpoint came with the receipt: a path under the document's own will do.
    const { index } = entry;
    const path = index < of.size ? await given.inclusion(index, of.size) : null;
    if (path === null) {
      return unknown(
        'the receipt has no inclusion proof, so that the entry is in the log is only promised',
      );
    }
    const under = { index, size: of.size, path, checkpoint: of.note };
    if (!holds(given, { ...under, path: path.map(toBase64) })) {
      return unknown('the inclusion proof that was found does not lead to the checkpoint');
    }
    return proven(entry, of, proof, { inclusion: { ...under, path: path.map(toBase64) } });
  }
  const [older, newer] = own.size < of.size ? [own, of] : [of, own];
  if (older.size === newer.size) {
    if (equal(older.root, newer.root)) return proven(entry, of, proof, {});
    const reason = `the log signed two trees of ${String(of.size)} entries`;
    return { outcome: 'proven', reason, proof: proof('two_roots', reason, {}) };
  }
  const path = await given.consistency(older.size, newer.size);
  const sizes = { from: older.size, to: newer.size };
  if (path === null) {
    return unknown(
      `the receipt is from a tree of ${String(own.size)} entries and the document in one of ` +
        `${String(of.size)}: whether they are of one log needs the consistency proof from ` +
        `${String(sizes.from)} to ${String(sizes.to)} (--consistency FILE or --url)`,
    );
  }
  try {
    checkConsistency(native, { ...sizes, fromRoot: older.root, toRoot: newer.root, path });
  } catch (error) {
    if (!isLogError(error)) throw error;
    return unknown(
      `the consistency proof from ${String(sizes.from)} to ${String(sizes.to)} does not hold: it is a ` +
        'wrong one, or the log has shown two histories, which a monitor proves',
    );
  }
  return proven(entry, of, proof, { consistency: { ...sizes, path: path.map(toBase64) } });
}

function proven(entry: Shown, of: Head, proof: ProofOf, more: JsonObject): Refutation {
  const where =
    entry.index < of.size
      ? 'in the tree of that very document'
      : 'in a tree that grew from its own';
  const reason = `entry ${String(entry.index)} is on the chain, in the window, and ${where}`;
  return { outcome: 'proven', reason, proof: proof('left_out', reason, more) };
}

/** The note that the receipt is shown to be in; of a tlog-proof before its own, as `verifyReceipt` pairs them. */
function headOf({ receipt, tlogProof, trust }: Refuted): Head | null {
  const { checkpoint = null, inclusion_proof } = objectOf(receipt['log'] ?? null);
  const note =
    tlogProof !== undefined
      ? parseTlogProof(tlogProof).checkpoint
      : inclusion_proof !== undefined && typeof checkpoint === 'string'
        ? checkpoint
        : null;
  return note === null ? null : { ...verifyCheckpoint(note, trust, NATIVE), note };
}

/** Whether a tlog-proof of these parts shows the receipt. */
function holds({ receipt, trust }: Refuted, { path, checkpoint }: Inclusion): boolean {
  const { origin = null, index = null } = receipt;
  const log = { origin, index, checkpoint, inclusion_proof: path };
  return verifyReceipt({ ...receipt, log }, trust, NATIVE).valid;
}

interface Inclusion {
  readonly path: readonly string[];
  readonly checkpoint: string;
}

const proofOf =
  ({ receipt, document, tlogProof, trust }: Refuted, { index, text }: Shown): ProofOf =>
  (contradiction, reason, more) => ({
    schema: 'actlog-refutation-v1',
    origin: trust.origin,
    vkey: trust.vkey,
    contradiction,
    reason,
    entry: { index, entry: text },
    receipt,
    ...(tlogProof === undefined ? {} : { tlog_proof: tlogProof }),
    document,
    ...more,
  });

const unknown = (reason: string): Refutation => ({ outcome: 'unknown', reason });

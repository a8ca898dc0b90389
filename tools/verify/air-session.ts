// The AIR export of a session against a kit: every record as one by itself, their chain, that none is left out, and,
// where the export has the proofs, the place of each in the log. gateway/API.md §12.3, §12.4; VERIDIC Evidence Envelope v0.1.

import { isDeepStrictEqual } from 'node:util';
import { native } from '../../log/index.ts';
import type { Json, JsonObject, Link } from '../../log/index.ts';
import { openEntry, verifyAbsence, verifyCheckpoint } from '../../log/verify.ts';
import type { Question, TreeHead, Trust } from '../../log/verify.ts';
import { exportFault } from '../../gateway/static/verify/export-members.ts';
import { coseLines, itemOf, recordLines, ZERO } from './air.ts';
import type { Item } from './air.ts';
import type { Line, Outcome } from './check.ts';
import { checkEntry, sha256 } from './cose.ts';
import { Lines, refused } from './lines.ts';
import { list, objectOf, text } from './reading.ts';

const NATIVE = { suite: native };

type Key = readonly ['session', string];

/** What closes a chain says of it. */
interface Closing {
  readonly count: number;
  /** Index, log time and, unless an entry follows, leaf hash (base64) of the last entry. */
  readonly last: readonly (Json | undefined)[];
}

/** Checks the export of a session. */
export function checkAirSession(document: JsonObject, trust: Trust, kit: JsonObject): Outcome {
  const lines = new Lines();
  const shown = list(document['records']);
  const key: Key = ['session', text(document['session_ref']) ?? ''];
  const closing = lines.take('completeness', () => {
    const found = closingOf(document['completeness_proof'] ?? null, key, trust);
    const { count } = found;
    if (count !== shown.length || document['count'] !== count) {
      throw refused(`the chain has ${String(count)} entries, ${String(shown.length)} are shown`);
    }
    const words = `${String(count)} entries, as the chain of the session has under the checkpoint`;
    return [words, found];
  });
  const tree = lines.take('export', () => {
    const opened = treeOf(document, key, trust, kit);
    return ['its log, its checkpoint and its key are those that were checked', opened];
  });
  // Asked for with the proofs, every record has them: one that has none was deprived of it.
  const proven = shown.some((one) => PROOFS.some((name) => one[name] !== undefined));
  const chain = new Chain(key, closing);
  for (const [i, one] of shown.entries()) {
    const bad = recordFault(one, { chain, trust, kit, proven, tree });
    if (bad === undefined) continue;
    lines.all.push({ ...bad, detail: `record ${String(i)}: ${bad.detail}` });
    return lines.outcome('');
  }
  const places = tree === undefined || !proven ? null : `in the tree of ${String(tree.size)}`;
  if (shown.length > 0) {
    const checked = `${String(shown.length)}: entry, record, hashes, signature, chain`;
    lines.run('records', () => checked);
    lines.run('inclusion', () =>
      places === null
        ? { not_shown: 'the export has no proofs of its entries: ?proofs=true adds them' }
        : `each ${places} entries, with a signed statement that says so`,
    );
  }
  // A ref that names a chain is plain text: the proof would not hold otherwise.
  const all = `all ${String(shown.length)} records of session ${key[1]}, chained and signed`;
  return lines.outcome(places === null ? all : `${all}, each ${places} entries`, {
    session_ref: key[1],
    records: shown.length,
    ...(places === null || tree === undefined ? {} : { size: tree.size }),
  });
}

/** What a record brings of its place, when that was asked for. */
const PROOFS = ['inclusion_proof', 'cose_sign1_b64'];

/** The tree of the export's checkpoint, which is that of the completeness proof. */
function treeOf(document: JsonObject, key: Key, trust: Trust, kit: JsonObject): TreeHead {
  const fault = exportFault(document, trust, kit);
  if (fault !== null) throw refused(fault);
  const { checkpoint } = objectOf(document['completeness_proof'] ?? null);
  if (document['checkpoint'] !== checkpoint) throw refused('checkpoint is not that of the proof');
  const tree = verifyCheckpoint(text(checkpoint) ?? '', trust, NATIVE);
  if (document['size'] !== tree.size) throw refused('size is not that of the checkpoint');
  if (document['agent_id'] !== `session:${key[1]}`) {
    throw refused('agent_id is not that of the session');
  }
  return tree;
}

/** What the record of a session is checked with. */
interface Among {
  readonly chain: Chain;
  readonly trust: Trust;
  readonly kit: JsonObject;
  readonly proven: boolean;
  /** Undefined when the export has no good checkpoint. */
  readonly tree: TreeHead | undefined;
}

/** The first check that the next record fails. */
function recordFault(
  shown: JsonObject,
  { chain, trust, kit, proven, tree }: Among,
): Line | undefined {
  const lines = new Lines();
  const item = itemOf(shown);
  let signed = (): JsonObject => checkEntry(item.entry, trust);
  if (proven) {
    lines.run('inclusion', () => {
      const path = shown['inclusion_proof'];
      if (path === undefined) throw refused('it has no inclusion proof, and others have');
      if (tree === undefined) throw refused('there is no good checkpoint that it could be under');
      const { index = null } = objectOf(item.entry);
      const { statement } = openEntry({ index, entry: item.entry, path }, tree, trust, NATIVE);
      // Shown to be included, an entry of before its key was revoked holds.
      signed = () => statement;
      return '';
    });
  }
  recordLines(lines, item, () => signed(), trust, kit);
  if (proven) coseLines(lines, shown['cose_sign1_b64'], item, trust, kit, tree?.size);
  lines.run('chain', () => {
    chain.next(item);
    return '';
  });
  return lines.all.find(({ outcome }) => outcome === 'failed');
}

/** The records in their order, each after the one before it, the last as what closes the chain says. */
class Chain {
  readonly #key: Key;
  readonly #closing: Closing | undefined;
  #seq = 0;
  #hash = ZERO;
  #index: Json = null;
  #ms: Json = null;

  constructor(key: Key, closing: Closing | undefined) {
    this.#key = key;
    this.#closing = closing;
  }

  /** Throws `document_invalid` when the record does not stand here. */
  next({ record, entry }: Item): void {
    const [, session_ref] = this.#key;
    const { prev_chain_hash, chain_hash, sequence_number } = objectOf(record['integrity'] ?? null);
    const { index = null, issued_at_ms = null, links } = objectOf(entry);
    // Of an entry that the log may not have signed: of any form.
    const link = list(links).find(({ key }) => isDeepStrictEqual(key, this.#key));
    if (
      link?.['seq'] !== this.#seq ||
      link['prev_index'] !== this.#index ||
      link['prev_ms'] !== this.#ms ||
      sequence_number !== this.#seq ||
      record['agent_id'] !== `session:${session_ref}`
    ) {
      throw refused('the entry does not stand here in the session');
    }
    if (prev_chain_hash !== this.#hash) throw refused('the hash before it is another');
    this.#seq += 1;
    this.#hash = text(chain_hash) ?? ZERO;
    this.#index = index;
    this.#ms = issued_at_ms;
    if (this.#seq === this.#closing?.count) this.#checkLast(entry);
  }

  #checkLast(entry: string): void {
    const leaf = Buffer.from(sha256('\0', entry), 'hex').toString('base64');
    const here = [this.#index, this.#ms, leaf];
    if (this.#closing?.last.some((value, i) => value !== here[i]) === true) {
      throw refused('the chain of the session ends with another entry');
    }
  }
}

/** What the session's chain has by its closing document, after the document's own check. */
function closingOf(document: Json, key: Key, trust: Trust): Closing {
  const { question, proof } = objectOf(document);
  const { from_ms, to_ms } = objectOf(question ?? null);
  if (typeof from_ms !== 'number' || from_ms !== to_ms) {
    throw refused('the document does not close the chain at one moment');
  }
  const asked: Question = { key, from_ms, to_ms };
  verifyAbsence(document, asked, trust, NATIVE);
  const { type, head, successor } = objectOf(proof ?? null);
  if (type === 'never') return { count: 0, last: [] };
  if (type === 'tail') {
    const { count, last_index, last_ms, last_leaf_hash } = objectOf(head ?? null);
    return { count: count as number, last: [last_index, last_ms, last_leaf_hash] };
  }
  const { links } = objectOf(objectOf(successor ?? null)['entry'] ?? null);
  const link = (links as unknown as readonly Link[]).find(
    ({ key: [kind, name] }) => kind === key[0] && name === key[1],
  );
  if (link === undefined) throw refused('the closing entry is not of this session');
  return { count: link.seq, last: [link.prev_index, link.prev_ms] };
}

// A report or pack against the entry that commits to it, and against the chain of its session: that it was not
// changed, and that nothing was left out. gateway/API.md §2.2, §12.1, §12.4; log/FORMAT.md §6.

import { canonical, native, RightEdge, toHex } from '../../log/index.ts';
import type { Json, JsonObject } from '../../log/index.ts';
import { verifyAbsence, verifyReceipt } from '../../log/verify.ts';
import type { Trust } from '../../log/verify.ts';
import type { Outcome } from './check.ts';
import { Lines, refused } from './lines.ts';
import { list, objectOf, text } from './reading.ts';

const NATIVE = { suite: native };

/** Schemas of the documents, and the types of the entries that commit to them. */
export const SEALED_DOCUMENTS: ReadonlyMap<string, string> = new Map([
  ['svc-article-12-report-v1', 'compliance.article12_report.v1'],
  ['svc-naic-exhibit-pack-v1', 'compliance.naic_pack.v1'],
]);

/** Checks a document; every check runs, so that the one that fails is named. */
export function checkSealed(shown: JsonObject, trust: Trust): Outcome {
  const lines = new Lines();
  const { completeness_proof, checkpoint, signature, receipt, ...document } = shown;
  const statement = lines.take('receipt', () => receiptOf(receipt ?? null, trust));
  lines.run('signature', () => {
    if (typeof signature !== 'string' || signature !== objectOf(receipt ?? null)['signature']) {
      throw refused('it is not that of the receipt');
    }
    return 'that of the receipt';
  });
  lines.run('document', () => {
    if (statement === undefined) throw refused('without a good receipt nothing commits to it');
    const type = SEALED_DOCUMENTS.get(text(document['schema']) ?? '');
    if (statement['type'] !== type) throw refused('the receipt is of another kind of document');
    const hash = toHex(native.sha256(Buffer.from(canonical(document))));
    if (statement['document_sha256'] !== hash) {
      throw refused('the receipt commits to another document: this one was changed');
    }
    return `entry ${indexOf(statement)} commits to it`;
  });
  const proof = objectOf(completeness_proof ?? null);
  lines.run('completeness', () => {
    if (statement === undefined) throw refused('without a good receipt no session is named');
    return completeness(proof, document, statement, trust);
  });
  lines.run('checkpoint', () => {
    if (checkpoint !== proof['checkpoint']) throw refused('it is not that of the proof');
    return 'the one that the proof is under';
  });
  const entries = document['entries'] as number;
  return lines.outcome(
    `the log commits to this document, and its session has the ${String(entries)} entries that it speaks of`,
    {
      schema: document['schema'] ?? null,
      session_ref: document['session_ref'] ?? null,
      entries,
      sealed_at: document['sealed_at'] ?? null,
    },
  );
}

const indexOf = ({ index }: JsonObject): string => String(Number(index));

function receiptOf(receipt: Json, trust: Trust): readonly [string, JsonObject] {
  const { valid, checks, statement, size } = verifyReceipt(receipt, trust, NATIVE);
  const failed = checks.find(({ outcome }) => outcome === 'failed');
  if (failed !== undefined) throw refused(`${failed.name.replaceAll('_', ' ')}: ${failed.detail}`);
  if (!valid || statement === null) throw refused('it has no form');
  const place = size === undefined ? 'its place is not shown' : `in the tree of ${String(size)}`;
  return [`entry ${indexOf(statement)}, ${place}`, statement];
}

/** The proof is about the session that the entry names, up to when the document was sealed or later. */
function completeness(
  proof: JsonObject,
  document: JsonObject,
  statement: JsonObject,
  trust: Trust,
): string {
  const { from_ms = null, to_ms = null } = objectOf(proof['question'] ?? null);
  const key = statement['subject_key'] as readonly string[];
  const question = { key, from_ms: from_ms as number, to_ms: to_ms as number };
  const { entries: shown } = verifyAbsence(proof, question, trust, NATIVE);
  if ((to_ms as number) < (statement['to_ms'] as number))
    throw refused('it ends before the document');
  const count = closingCount(objectOf(proof['proof'] ?? null), key);
  if (
    proof['more'] !== undefined ||
    count !== document['entries'] ||
    count !== statement['entries']
  ) {
    throw refused(`the session has ${String(count)} entries, the document speaks of others`);
  }
  if (shown < count)
    return `the session has ${String(count)} entries, the last ${String(shown)} shown`;
  if (rootOf(proof) !== document['entries_root']) throw refused('entries_root is of other entries');
  return `all ${String(count)} entries of the session are shown`;
}

/** How many entries a chain has before what closes its window; the proof was checked. */
function closingCount({ type, head, successor }: JsonObject, key: readonly string[]): number {
  if (type === 'never') return 0;
  if (type === 'tail') return objectOf(head ?? null)['count'] as number;
  const entry = objectOf(objectOf(successor ?? null)['entry'] ?? null);
  const link = list(entry['links']).find(
    (one) => canonical(one['key'] ?? null) === canonical([...key]),
  );
  return link?.['seq'] as number;
}

/** RFC 6962 root over the entries that a proof shows. */
function rootOf(proof: JsonObject): string {
  const edge = new RightEdge();
  for (const { entry } of list(proof['entries'])) {
    const bytes = Buffer.from(text(entry) ?? '');
    edge.append(native.sha256(Buffer.concat([Buffer.of(0), bytes])));
  }
  return toHex(edge.root());
}

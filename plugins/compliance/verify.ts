// The verifier of Article 12 reports and NAIC exhibit packs: the document was not changed since the log committed to it,
// and nothing of its session was left out. gateway/API.md §2.2, §12.1, §12.4; log/FORMAT.md §6. Browser-safe.

import {
  canonical,
  heldReceipt,
  leafHashOf,
  Lines,
  memberOf,
  objectOf,
  objectsOf,
  parsedOf,
  refuse,
  rootOfLeaves,
  suiteOf,
  textOf,
  toHex,
  utf8,
  verifyAbsence,
} from '../../log/verify.ts';
import type { Asked, JsonObject, Suite, Trust, Verifier } from '../../log/verify.ts';

/** Schemas of the documents, and the types of the entries that commit to them. */
const TYPES: Readonly<Record<string, string>> = {
  'svc-article-12-report-v1': 'compliance.article12_report.v1',
  'svc-naic-exhibit-pack-v1': 'compliance.naic_pack.v1',
};

/** Sealed documents about a session. Every check runs, so that the one that fails is named. */
export const sealedVerifier: Verifier = {
  kind: 'sealed',
  title: 'a sealed report or exhibit pack',
  schemas: Object.keys(TYPES),
  originOf: (document) => memberOf(objectOf(objectOf(document).receipt), 'origin'),

  async check(shown, trust, asked) {
    const suite = suiteOf(asked);
    const lines = new Lines();
    const { completeness_proof, checkpoint, signature, receipt, ...document } = objectOf(shown);
    const statement = await lines.take('receipt', () => {
      const held = heldReceipt(receipt ?? null, trust, asked);
      const { size, index } = held;
      const place =
        size === undefined ? 'its place is not shown' : `in the tree of ${String(size)}`;
      return [`entry ${String(index)}, ${place}`, held.statement];
    });
    await lines.run('signature', () =>
      typeof signature === 'string' && signature === objectOf(receipt).signature
        ? 'that of the receipt'
        : refuse('it is not that of the receipt'),
    );
    await lines.run('document', () => {
      if (statement === undefined) {
        return refuse('without a good receipt nothing commits to it');
      }
      if (statement.type !== TYPES[textOf(document.schema)]) {
        return refuse('the receipt is of another kind of document');
      }
      if (statement.document_sha256 !== toHex(suite.sha256(utf8(canonical(document))))) {
        return refuse('the receipt commits to another document: this one was changed');
      }
      return `entry ${String(Number(statement.index))} commits to it`;
    });
    const proof = objectOf(completeness_proof);
    await lines.run('completeness', () =>
      statement === undefined
        ? refuse('without a good receipt no session is named')
        : completeness(proof, document, statement, trust, asked),
    );
    await lines.run('checkpoint', () =>
      checkpoint === proof.checkpoint
        ? 'the one that the proof is under'
        : refuse('it is not that of the proof'),
    );
    const { schema = null, session_ref = null, sealed_at = null, entries = null } = document;
    return lines.finding(
      `the log commits to this document, and its session has the ${String(Number(entries))} entries that it speaks of`,
      {
        facts: { schema, session_ref, entries, sealed_at },
        ...(statement === undefined ? {} : { statement }),
      },
    );
  },
};

/** The proof is about the session that the entry names, up to when the document was sealed or later. */
function completeness(
  proof: JsonObject,
  document: JsonObject,
  statement: JsonObject,
  trust: Trust,
  asked: Asked,
): string {
  const suite = suiteOf(asked);
  const { from_ms = null, to_ms = null } = objectOf(proof.question);
  const key = statement.subject_key as readonly string[];
  const question = { key, from_ms: from_ms as number, to_ms: to_ms as number };
  const { entries: shown } = verifyAbsence(proof, question, trust, { suite });
  if ((to_ms as number) < (statement.to_ms as number)) {
    return refuse('it ends before the document');
  }
  const count = closingCount(objectOf(proof.proof), key);
  if (proof.more !== undefined || count !== document.entries || count !== statement.entries) {
    return refuse(`the session has ${String(count)} entries, the document speaks of others`);
  }
  if (shown < count) {
    return `the session has ${String(count)} entries, the last ${String(shown)} shown`;
  }
  if (rootOf(suite, proof) !== document.entries_root) {
    return refuse('entries_root is of other entries');
  }
  return `all ${String(count)} entries of the session are shown`;
}

/** How many entries a chain has before what closes its window; the proof was checked. */
function closingCount({ type, head, successor }: JsonObject, key: readonly string[]): number {
  if (type === 'never') return 0;
  if (type === 'tail') return objectOf(head).count as number;
  const { links } = parsedOf(objectOf(successor).entry);
  const link = objectsOf(links).find((one) => canonical(one.key ?? null) === canonical([...key]));
  return link?.seq as number;
}

/** RFC 6962 root over the entries that a proof shows, in hex. */
function rootOf(suite: Suite, proof: JsonObject): string {
  const leaves = objectsOf(proof.entries).map(({ entry }) => leafHashOf(suite, textOf(entry)));
  return toHex(rootOfLeaves(suite, leaves));
}

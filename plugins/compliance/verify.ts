// The verifier of Article 12 reports and NAIC exhibit packs: checks that the document is the one that the log committed
// to, and that no entry of its session, or of its system and period, was left out. gateway/API.md §2.2, §12.1, §12.4;
// log/FORMAT.md §6. Runs in browsers.

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
  'svc-article-12-system-report-v1': 'compliance.article12_system_report.v1',
  'svc-naic-exhibit-pack-v1': 'compliance.naic_pack.v1',
};

/** Verifies sealed documents about a session or a system. Every check runs, so that each failing one is named. */
export const sealedVerifier: Verifier = {
  kind: 'sealed',
  title: 'a sealed report or exhibit pack',
  schemas: Object.keys(TYPES),
  originOf: (document) => memberOf(objectOf(objectOf(document).receipt), 'origin'),

  async check(shown, trust, asked) {
    const suite = suiteOf(asked);
    const lines = new Lines();
    const { completeness_proof, opening_proof, checkpoint, signature, receipt, ...document } =
      objectOf(shown);
    const statement = await lines.take('receipt', () => {
      const held = heldReceipt(receipt ?? null, trust, asked);
      const { size, index } = held;
      const place =
        size === undefined ? 'its place is not shown' : `in the tree of ${String(size)}`;
      return [`entry ${String(index)}, ${place}`, held.statement];
    });
    await lines.run('signature', () =>
      typeof signature === 'string' && signature === objectOf(receipt).signature
        ? 'equals the signature of the receipt'
        : refuse('it differs from the signature of the receipt'),
    );
    await lines.run('document', () => {
      if (statement === undefined) {
        return refuse('without a good receipt nothing commits to it');
      }
      if (statement.type !== TYPES[textOf(document.schema)]) {
        return refuse('the receipt is not of this kind of document');
      }
      if (statement.document_sha256 !== toHex(suite.sha256(utf8(canonical(document))))) {
        return refuse('the receipt commits to another document, so this one was changed');
      }
      return `entry ${String(Number(statement.index))} commits to it`;
    });
    const proof = objectOf(completeness_proof);
    await lines.run('completeness', () =>
      statement === undefined
        ? refuse('without a good receipt the chain is unknown')
        : completeness(proof, objectOf(opening_proof), document, statement, trust, asked),
    );
    await lines.run('checkpoint', () =>
      checkpoint === proof.checkpoint
        ? 'equals the checkpoint of the proof'
        : refuse('it differs from the checkpoint of the proof'),
    );
    const {
      schema = null,
      session_ref = null,
      entity,
      sealed_at = null,
      entries = null,
    } = document;
    const of = entity === undefined ? 'session has' : 'system has, in its period,';
    const about = entity === undefined ? { session_ref } : { entity };
    return lines.finding(
      `the log commits to this document, and its ${of} the ${String(Number(entries))} entries that it speaks of`,
      {
        facts: { schema, ...about, entries, sealed_at },
        ...(statement === undefined ? {} : { statement }),
      },
    );
  },
};

/** Checks that the proof is about the chain of the commitment and covers the period up to the time of the document. */
function completeness(
  proof: JsonObject,
  opening: JsonObject,
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
  const began_ms = Number(statement.from_ms ?? 0);
  if (document.entity !== undefined && document.entity !== key[1]) {
    return refuse('the receipt is about another entity');
  }
  if ((from_ms as number) < began_ms) return refuse('it begins before the period');
  const [first] = objectsOf(proof.entries);
  let before = 0;
  if (began_ms > 0 && from_ms === began_ms) {
    before = first === undefined ? closingCount(objectOf(proof.proof), key) : seqOf(first, key);
  } else if (began_ms > 0) {
    // The end of its window does not matter, because the first entry is the same in a longer window.
    const opened = { key, from_ms: began_ms, to_ms: Number(objectOf(opening.question).to_ms) };
    verifyAbsence(opening, opened, trust, { suite });
    const [earliest] = objectsOf(opening.entries);
    if (earliest === undefined) return refuse('the opening proof shows no entry');
    before = seqOf(earliest, key);
  }
  const count = closingCount(objectOf(proof.proof), key) - before;
  const whole = key[0] === 'session' ? 'session' : 'period';
  if (proof.more !== undefined || count !== document.entries || count !== statement.entries) {
    return refuse(
      `the ${whole} has ${String(count)} entries, but the document states another number`,
    );
  }
  if (shown < count) {
    return `the ${whole} has ${String(count)} entries, the last ${String(shown)} shown`;
  }
  if (rootOf(suite, proof) !== document.entries_root) {
    return refuse('entries_root is of other entries');
  }
  return `all ${String(count)} entries of the ${whole} are shown`;
}

/** The chain sequence number of an opened entry, whose proof has been checked. */
function seqOf(opened: JsonObject, key: readonly string[]): number {
  const { links } = parsedOf(opened.entry);
  const link = objectsOf(links).find((one) => canonical(one.key ?? null) === canonical([...key]));
  return link?.seq as number;
}

/** The number of entries of a chain up to the end of a window, from a proof that has been checked. */
function closingCount({ type, head, successor }: JsonObject, key: readonly string[]): number {
  if (type === 'never') return 0;
  if (type === 'tail') return objectOf(head).count as number;
  return seqOf(objectOf(successor), key);
}

/** RFC 6962 root over the entries that a proof shows, in hex. */
function rootOf(suite: Suite, proof: JsonObject): string {
  const leaves = objectsOf(proof.entries).map(({ entry }) => leafHashOf(suite, textOf(entry)));
  return toHex(rootOfLeaves(suite, leaves));
}

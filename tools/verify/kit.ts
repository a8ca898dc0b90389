// A kit against itself, and against one that is kept. gateway/API.md §2.2, §2.5.

import { canonical, fromBase64, native } from '../../log/index.ts';
import type { JsonObject } from '../../log/index.ts';
import {
  checkDocument,
  heldReceipt,
  kitChange,
  Lines,
  memberOf,
  objectOf,
  objectsOf,
  originOfDocument,
  refuse,
  textOf,
  toHex,
  utf8,
  verifyCheckpoint,
  verifyReceipt,
} from '../../plugins/verifiers.ts';
import type { Finding, Shown, Trust } from '../../plugins/verifiers.ts';

const NATIVE = { suite: native };

/** Checks the vectors and checkpoints of a kit, the entry that commits to it, and the kit against the pinned one. */
export async function checkKit(
  kit: JsonObject,
  trusts: readonly Trust[],
  pinned: JsonObject | null = null,
): Promise<Finding> {
  const trustFor = (origin: unknown): Trust | undefined =>
    trusts.find((trust) => trust.origin === origin);
  const lines = new Lines();
  if (pinned !== null) await lines.run('pinned_kit', () => comparedWith(pinned, kit));
  for (const log of objectsOf(kit['logs'])) {
    await lines.run('checkpoint', () => {
      const trust = trustFor(log['origin']);
      if (trust === undefined) return refuse('a log has no origin');
      const { size } = verifyCheckpoint(textOf(log['checkpoint']), trust, NATIVE);
      return `${trust.origin}, ${String(size)} entries`;
    });
  }
  for (const [i, { receipt, tlog_proof, expected }] of objectsOf(kit['vectors']).entries()) {
    await lines.run('vector', () => {
      const [first] = trusts;
      const trust = trustFor(objectOf(receipt)['origin']) ?? first;
      if (trust === undefined) return refuse('the kit has no logs');
      const options =
        typeof tlog_proof === 'string' ? { ...NATIVE, tlogProof: tlog_proof } : NATIVE;
      const { valid } = verifyReceipt(receipt ?? null, trust, options);
      if (valid !== expected) return refuse(`${String(i)} is ${String(valid)}`);
      return `${String(i)} is ${valid ? 'accepted' : 'refused'}, as the kit says`;
    });
  }
  for (const [i, vector] of objectsOf(kit['export_vectors']).entries()) {
    await lines.run('export_vector', async () => {
      const { valid, summary } = await exportFinding(vector, kit, trusts);
      if (valid !== vector['expected']) {
        return refuse(`${String(i)} is ${String(valid)}: ${summary}`);
      }
      const tampered = memberOf(vector, 'tampered');
      const what = `${textOf(vector['name'])}${tampered === null ? '' : `, ${tampered} changed`}`;
      return `${String(i)} (${what}) is ${valid ? 'accepted' : 'refused'}, as the kit says`;
    });
  }
  await lines.run('receipt', () => committed(kit, trustFor));
  return lines.finding(
    pinned === null
      ? 'the kit agrees with itself and is in the log; but its operator gave it to you'
      : 'the kit agrees with itself and with the pinned one, and is in the log',
    { facts: { logs: trusts.map(({ origin }) => origin) } },
  );
}

/** Compares a kit with the pinned one; either may be the newer. LogError with the first thing in which they differ. */
function comparedWith(pinned: JsonObject, kit: JsonObject): string {
  const wrong = kitChange(pinned, kit);
  if (wrong === null) return 'it has the logs and the keys of the pinned kit';
  // Times are the kits' own word: which is the newer one shows by what it has.
  if (kitChange(kit, pinned) === null) return 'the pinned kit has its logs and keys, and is newer';
  return refuse(`against the pinned kit, ${wrong}`);
}

function exportFinding(
  { air, cose_b64 }: JsonObject,
  kit: JsonObject,
  trusts: readonly Trust[],
): Promise<Finding> {
  const shown: Shown =
    cose_b64 === undefined
      ? { kind: 'air', document: objectOf(air) }
      : { kind: 'cose', document: fromBase64(textOf(cose_b64)) };
  const claimed = originOfDocument(shown);
  const trust = trusts.find(({ origin }) => origin === claimed);
  if (trust === undefined) return refuse('a vector is of another log');
  return checkDocument(shown, trust, { ...NATIVE, kit });
}

/** gateway/API.md §2.2: an entry has SHA-256 of the JCS form of the kit without its receipt. */
function committed(kit: JsonObject, trustFor: (origin: unknown) => Trust | undefined): string {
  const { receipt, ...rest } = kit;
  const trust = trustFor(objectOf(receipt)['origin']);
  if (trust === undefined) return refuse('the kit has no receipt');
  const { statement, index } = heldReceipt(receipt ?? null, trust, NATIVE);
  if (statement['document_sha256'] !== toHex(native.sha256(utf8(canonical(rest))))) {
    return refuse('the receipt is of another kit');
  }
  return `entry ${String(index)} of ${trust.origin} commits to it`;
}

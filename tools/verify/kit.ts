// A kit against itself, and against one that is kept. gateway/API.md §2.2, §2.5.

import { canonical, fromBase64, native } from '../../log/index.ts';
import type { JsonObject } from '../../log/index.ts';
import { verifyCheckpoint, verifyReceipt } from '../../log/verify.ts';
import type { Trust } from '../../log/verify.ts';
import { checkAir } from './air.ts';
import type { Outcome } from './check.ts';
import { checkCose, coseOrigin } from './cose.ts';
import { Lines, refused } from './lines.ts';
import { comparedWith } from './pinned.ts';
import { list, objectOf, text } from './reading.ts';

const NATIVE = { suite: native };

/** A kit against itself: its own vectors, checkpoints, and the entry that commits to it; and against the pinned one. */
export function checkKit(
  kit: JsonObject,
  trusts: readonly Trust[],
  pinned: JsonObject | null = null,
): Outcome {
  const trustFor = (origin: unknown): Trust | undefined =>
    trusts.find((trust) => trust.origin === origin);
  const lines = new Lines();
  if (pinned !== null) lines.run('pinned_kit', () => comparedWith(pinned, kit));
  for (const log of list(kit['logs'])) {
    lines.run('checkpoint', () => {
      const trust = trustFor(log['origin']);
      if (trust === undefined) throw refused('a log has no origin');
      const { size } = verifyCheckpoint(text(log['checkpoint']) ?? '', trust, NATIVE);
      return `${trust.origin}, ${String(size)} entries`;
    });
  }
  for (const [i, { receipt, tlog_proof, expected }] of list(kit['vectors']).entries()) {
    lines.run('vector', () => {
      const [first] = trusts;
      const trust = trustFor(objectOf(receipt ?? null)['origin']) ?? first;
      if (trust === undefined) throw refused('the kit has no logs');
      const proof = text(tlog_proof);
      const { valid } = verifyReceipt(receipt ?? null, trust, {
        suite: native,
        ...(proof === null ? {} : { tlogProof: proof }),
      });
      if (valid !== expected) throw refused(`${String(i)} is ${String(valid)}`);
      return `${String(i)} is ${valid ? 'accepted' : 'refused'}, as the kit says`;
    });
  }
  for (const [i, vector] of list(kit['export_vectors']).entries()) {
    lines.run('export_vector', () => {
      const { valid, summary } = exportOutcome(vector, kit, trustFor);
      if (valid !== vector['expected']) {
        throw refused(`${String(i)} is ${String(valid)}: ${summary}`);
      }
      const { name, tampered } = vector;
      const what = `${text(name) ?? ''}${tampered === undefined ? '' : `, ${text(tampered) ?? ''} changed`}`;
      return `${String(i)} (${what}) is ${valid ? 'accepted' : 'refused'}, as the kit says`;
    });
  }
  lines.run('receipt', () => committed(kit, trustFor));
  return lines.outcome(
    pinned === null
      ? 'the kit agrees with itself and stands in the log; it still is its operator who gave it to you'
      : 'the kit agrees with itself and with the pinned one, and stands in the log',
    { logs: trusts.map(({ origin }) => origin) },
  );
}

function exportOutcome(
  { air, cose_b64 }: JsonObject,
  kit: JsonObject,
  trustFor: (origin: unknown) => Trust | undefined,
): Outcome {
  const document = objectOf(air ?? null);
  const message = cose_b64 === undefined ? null : fromBase64(text(cose_b64) ?? '');
  const trust = trustFor(message === null ? document['origin'] : coseOrigin(message));
  if (trust === undefined) throw refused('a vector is of another log');
  if (message !== null) return checkCose(message, trust, kit, undefined);
  return checkAir(document, trust, kit);
}

/** gateway/API.md §2.2: an entry has SHA-256 of the JCS form of the kit without its receipt. */
function committed(kit: JsonObject, trustFor: (origin: unknown) => Trust | undefined): string {
  const { receipt, ...rest } = kit;
  const trust = trustFor(objectOf(receipt ?? null)['origin']);
  if (trust === undefined) throw refused('the kit has no receipt');
  const { valid, statement, index } = verifyReceipt(receipt ?? null, trust, NATIVE);
  const hash = Buffer.from(native.sha256(Buffer.from(canonical(rest)))).toString('hex');
  if (!valid) throw refused('the receipt of the kit does not hold');
  if (statement?.['document_sha256'] !== hash) {
    throw refused('the receipt is of another kit');
  }
  return `entry ${String(index)} of ${trust.origin} commits to it`;
}

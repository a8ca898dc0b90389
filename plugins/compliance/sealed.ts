// Seals documents: an entry commits to each, and its receipt travels with it; one that did not change is not
// committed twice. gateway/API.md §2.2.

import { createHash } from 'node:crypto';
import { canonical, Turns } from '../../log/index.ts';
import type { Draft, JsonObject, LogView } from '../contract.ts';
import { sealedRow } from './entries.ts';
import type { SealedRow } from './entries.ts';
import type { SealTime } from './documents.ts';
import { placedReceipt } from './session.ts';
import type { ReadSession } from './session.ts';

/** What one request wants sealed. */
export interface SealRequest {
  readonly log: LogView;
  /** The type of the entry that commits to it. */
  readonly type: string;
  readonly session: ReadSession;
  readonly now_ms: number;
  /** What the document says, sealed at a time; the same for the same session and time. */
  readonly build: (at: SealTime) => JsonObject;
  readonly append: (draft: Draft) => Promise<void>;
}

const hashOf = (document: JsonObject): string =>
  createHash('sha256').update(canonical(document)).digest('hex');

/** Seals documents of one gateway. */
export class Sealer {
  /** Serialises requests for one document: the second finds it sealed. */
  readonly #turns = new Turns();

  /** The document with its proof, checkpoint, signature and receipt. */
  async seal(request: SealRequest): Promise<JsonObject> {
    const { log, type, session } = request;
    const turn = `${log.origin} ${sealedRow(type, session.session_ref)}`;
    const { document, index } = await this.#turns.run(() => sealedDocument(request), turn);
    const receipt = await placedReceipt(log, index);
    return {
      ...document,
      completeness_proof: session.completeness,
      checkpoint: session.completeness['checkpoint'] ?? null,
      signature: receipt['signature'] ?? null,
      receipt,
    };
  }
}

async function sealedDocument({
  log,
  type,
  session,
  now_ms,
  build,
  append,
}: SealRequest): Promise<{ readonly document: JsonObject; readonly index: number }> {
  const name = sealedRow(type, session.session_ref);
  const fresh = { sealed_at_ms: now_ms, to_ms: session.to_ms };
  const document = build(fresh);
  const known = log.row(name) as unknown as SealedRow | undefined;
  if (known?.entries === session.tally.count) {
    const again = build(known);
    // Time alone may change what a checklist says: then it is another document.
    if (hashOf(again) === known.document_sha256 && sameBut(document, again)) {
      return { document: again, index: known.index };
    }
  }
  await append({
    type,
    members: {
      subject_key: [...session.key],
      entries: session.tally.count,
      ...fresh,
      document_sha256: hashOf(document),
    },
  });
  const row = log.row(name) as unknown as SealedRow | undefined;
  if (row === undefined) throw new Error(`no row of the ${type} that was appended`);
  return { document, index: row.index };
}

/** Whether two documents say the same of a checklist; where there is none they do. */
const sameBut = (a: JsonObject, b: JsonObject): boolean =>
  canonical(a['checklist'] ?? null) === canonical(b['checklist'] ?? null);

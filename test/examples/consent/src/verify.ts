// The verifier of a status document. It trusts only the key of the log: the grant is in the tree of the checkpoint in
// the document, and the chain of its withdrawals is empty or has an entry up to the time of the document. Runs in
// browsers.

import {
  memberOf,
  objectOf,
  openEntry,
  refuse,
  single,
  suiteOf,
  textOf,
  verifyAbsence,
  verifyCheckpoint,
} from 'actlog/verify';
import type { Asked, JsonObject, Trust, Verifier } from 'actlog/verify';

/** `schema` of a status document. */
export const STATUS = 'consent-status-v1';

/** The kind of the withdrawal chains, one chain for each grant. */
export const WITHDRAWN = 'consent.withdrawn';

/** Verifies that a consent was in force, or withdrawn, at the time of the document. */
export const statusVerifier: Verifier = {
  kind: 'consent_status',
  title: 'the status of a consent',
  schemas: [STATUS],
  originOf: (document) => memberOf(objectOf(document), 'origin'),
  check: (document, trust, asked) =>
    single('consent', () => {
      const { grant_id, state, as_of_ms } = checkStatus(objectOf(document), trust, asked);
      const at = new Date(as_of_ms).toISOString();
      return {
        detail: `grant ${grant_id} is in the log, and its withdrawals up to ${at} are complete`,
        summary:
          state === 'in_force'
            ? `no withdrawal of the consent was logged up to ${at}`
            : `the consent was withdrawn before ${at}`,
        not_proven: ['That nobody withdrew the consent elsewhere: the log has what is submitted.'],
      };
    }),
};

interface Status {
  readonly grant_id: string;
  readonly state: 'in_force' | 'withdrawn';
  readonly as_of_ms: number;
}

function checkStatus(document: JsonObject, trust: Trust, asked: Asked): Status {
  const { state, as_of_ms, grant, withdrawals } = document;
  const suite = suiteOf(asked);
  const tree = verifyCheckpoint(textOf(objectOf(withdrawals)['checkpoint']), trust, { suite });
  const opened = openEntry(grant ?? null, tree, trust, { suite });
  if (opened.type !== 'consent.grant.v1') refuse('the document has no grant');
  if (typeof as_of_ms !== 'number' || as_of_ms < opened.ms) refuse('the document has no time');
  const grant_id = textOf(opened.statement['entry_id']);
  if (document['grant_id'] !== grant_id) refuse('the document is about another grant');
  const question = { key: [WITHDRAWN, grant_id] as const, from_ms: opened.ms, to_ms: as_of_ms };
  const { verdict } = verifyAbsence(withdrawals ?? null, question, trust, { suite });
  const proven = verdict === 'PRESENT' ? 'withdrawn' : 'in_force';
  if (state !== proven) refuse(`the document says ${textOf(state)}, and proves ${proven}`);
  return { grant_id, state: proven, as_of_ms };
}

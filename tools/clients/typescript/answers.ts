// Verifies answers under the keys of a pinned kit, and that they are about what the caller asked.

import {
  absenceVerifier,
  check,
  checkpointVerifier,
  inclusionVerifier,
  isJsonObject,
  isLogError,
  isUnanswerable,
  memberOf,
  objectOf,
  objectsOf,
  originsOf,
  trustFromKit,
  verifyReceipt,
} from '../../../log/verify.ts';
import type { Json, JsonObject, Question, Shown, Trust, Verifier } from '../../../log/verify.ts';
import { Unverified } from './errors.ts';

const ABSENCE_SCHEMA = 'svc-absence-witness-v1';
const DOCUMENTS: readonly Verifier[] = [absenceVerifier, inclusionVerifier, checkpointVerifier];

/** The pinned logs, and the checks of answers under their keys. Every check throws Unverified. */
export class Verification {
  readonly #trusts: ReadonlyMap<string, Trust>;

  /** @throws LogError `document_invalid`, `key_invalid`, `policy_invalid` for a kit that is not well formed */
  constructor(kit: JsonObject) {
    this.#trusts = new Map(originsOf(kit).map((origin) => [origin, trustFromKit(kit, origin)]));
  }

  /** Verifies each receipt and absence document in an answer. Returns how many there were. */
  async answer(answer: Json): Promise<number> {
    let count = 0;
    for (const { value, tlogProof } of signedIn(answer)) {
      count += 1;
      if (value.schema === ABSENCE_SCHEMA) {
        const { key = null, from_ms = null, to_ms = null } = objectOf(value.question);
        const question = { key, from_ms, to_ms } as unknown as Question; // The verifier checks its form.
        await this.document({ kind: 'absence', document: value }, question);
      } else {
        this.receipt(value, tlogProof);
      }
    }
    return count;
  }

  /** Verifies an absence document against its question, an inclusion proof or a checkpoint. */
  async document(shown: Shown, question?: Question): Promise<void> {
    const verifier = DOCUMENTS.find(({ kind }) => kind === shown.kind);
    const trust = this.#trustOf(verifier?.originOf(shown.document) ?? null);
    const asked = question === undefined ? {} : { question };
    const finding = await check(DOCUMENTS, shown, trust, asked).catch((error: unknown) => {
      if (isLogError(error) || isUnanswerable(error)) throw new Unverified(error.message);
      throw error;
    });
    demand(finding.valid, `the answer fails verification: ${finding.summary}`);
  }

  /** Verifies a receipt. Returns whether it shows the place of its entry in the tree. */
  receipt(receipt: JsonObject, tlogProof?: string): boolean {
    const trust = this.#trustOf(memberOf(receipt, 'origin'));
    const result = verifyReceipt(receipt, trust, tlogProof === undefined ? {} : { tlogProof });
    const failed = result.checks.find(({ outcome }) => outcome === 'failed');
    if (failed === undefined) return result.size !== undefined;
    const name = failed.name.replaceAll('_', ' ');
    throw new Unverified(`a receipt fails verification: ${name}: ${failed.detail}`);
  }

  #trustOf(origin: string | null): Trust {
    const trust = origin === null ? undefined : this.#trusts.get(origin);
    if (trust !== undefined) return trust;
    const shown = JSON.stringify((origin ?? '').slice(0, 200));
    throw new Unverified(`the answer is of the log ${shown}, which the kit does not have`);
  }
}

interface Signed {
  readonly value: JsonObject;
  /** The tlog-proof beside a receipt. */
  readonly tlogProof?: string;
}

/** The receipts and absence documents in an answer, at any depth, each without what is inside it. */
function* signedIn(value: Json, tlogProof?: string): Generator<Signed> {
  if (Array.isArray(value)) {
    for (const one of value as readonly Json[]) yield* signedIn(one);
    return;
  }
  if (!isJsonObject(value)) return;
  const isReceipt = ['signature', 'kid', 'entry_hash'].every(
    (name) => memberOf(value, name) !== null,
  );
  if (isReceipt || value.schema === ABSENCE_SCHEMA) {
    yield tlogProof === undefined ? { value } : { value, tlogProof };
    return;
  }
  const beside = memberOf(objectOf(value.proof), 'tlog_proof') ?? undefined;
  for (const [name, member] of Object.entries(value)) {
    yield* signedIn(member, name === 'receipt' ? beside : undefined);
  }
}

// What an answer must say about its request. A receipt that verifies may still be the receipt of another request.

/** Compares a verified answer with the body of its request; throws Unverified. */
export type AboutRequest = (answer: JsonObject, body: JsonObject) => void;

export const aboutClassification: AboutRequest = (answer, body) => {
  receiptOf('classify', answer);
  demand(
    disclosed(answer, 'message') === body.message,
    'the receipt is not shown to be of this message',
  );
};

export const aboutDecision: AboutRequest = (answer, body) => {
  const receipt = receiptOf('gate', objectOf(answer.receipt));
  for (const name of ['outcome', 'action_ref']) {
    const isSame = answer[name] !== undefined && answer[name] === receipt[name];
    demand(isSame, `${name} is not that of the receipt`);
  }
  const preimage = objectOf(disclosed(receipt, 'preimage'));
  const isOfAct = ['action_type', 'agent_id'].every((name) => preimage[name] === body[name]);
  demand(isOfAct, 'the receipt is not shown to be of this act');
};

export const aboutBind: AboutRequest = (answer, body) => {
  const receipt = receiptOf('pdtr', objectOf(answer.receipt));
  const asked = /^(?:0x|sha256:)?([0-9A-Fa-f]{64})$/.exec(
    memberOf(body, 'payment_hash') ?? '',
  )?.[1];
  const isOfPayment = asked === undefined || receipt.payment_hash === asked.toLowerCase();
  demand(isOfPayment, 'the receipt is of another payment');
};

export const aboutRestraint: AboutRequest = (answer, body) => {
  const receipt = receiptOf('restraint', objectOf(answer.receipt));
  const isOfAct = disclosed(receipt, 'action_not_taken') === body.action_not_taken;
  demand(isOfAct, 'the receipt is not shown to be of this act');
};

/** The documents of a witness are about the surfaces that were asked about, and cover the whole window. */
export const aboutWitness: AboutRequest = (answer, body) => {
  const documents = [...objectsOf([answer.witness ?? null]), ...objectsOf(answer.witnesses)];
  const asked =
    typeof body.surface === 'string'
      ? [body.surface]
      : Array.isArray(body.surfaces)
        ? (body.surfaces as readonly Json[])
        : null;
  const windows = new Map<Json, [number, number][]>();
  for (const { question } of documents) {
    const { key = null, from_ms, to_ms } = objectOf(question);
    const parts = Array.isArray(key) ? (key as readonly Json[]) : [];
    const isOfEntity = parts.length === 3 && parts[0] === 'surface' && parts[1] === body.entity;
    demand(isOfEntity, 'a document is about another chain');
    const surface = parts[2] ?? null;
    demand(asked === null || asked.includes(surface), 'a document is about another surface');
    const window: [number, number] = [Number(from_ms), Number(to_ms)];
    windows.set(surface, [...(windows.get(surface) ?? []), window]);
  }
  const isAnswered = documents.length > 0 && (asked ?? []).every((surface) => windows.has(surface));
  demand(isAnswered, 'no document answers the question');
  for (const parts of windows.values())
    checkWindow(parts, Number(body.from_ms), Number(body.to_ms));
};

/** After a succession each log answers for its part of the window: together the parts must leave nothing out. */
function checkWindow(parts: readonly [number, number][], from_ms: number, to_ms: number): void {
  let covered = from_ms - 1;
  for (const [from, to] of [...parts].sort(([a], [b]) => a - b)) {
    demand(from >= from_ms && to <= to_ms, 'a document is about another window');
    if (from > covered + 1) break;
    covered = Math.max(covered, to);
  }
  demand(covered >= to_ms, 'the documents leave out a part of the window');
}

function receiptOf(plugin: string, receipt: JsonObject): JsonObject {
  const isOfPlugin = memberOf(receipt, 'type')?.startsWith(`${plugin}.`) ?? false;
  demand(isOfPlugin, `the answer has no receipt of ${plugin}`);
  return receipt;
}

/** The value behind a commitment of a verified receipt; undefined if the receipt does not disclose it. */
const disclosed = (receipt: JsonObject, name: string): Json | undefined =>
  objectOf(objectOf(receipt.disclosures)[name]).value;

function demand(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Unverified(otherwise);
}

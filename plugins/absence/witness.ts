// POST /api/v1/absence/witness: absence documents about one or more surfaces. A separate entry commits to each
// document. gateway/API.md §9.2 to §9.5, §14; log/FORMAT.md §6.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  ApiError,
  described,
  documentMembers,
  EntityName,
  exactlyOne,
  Hex32,
  logName,
  Millis,
  packDocument,
  ReadyJson,
  receiptOf,
  route,
  SurfaceName,
  unpackDocument,
  windowsOf,
} from '../contract/index.ts';
import type {
  AnsweredEntry,
  ChainKey,
  Draft,
  Json,
  JsonObject,
  LogView,
  LogWindow,
  PluginHost,
  Route,
} from '../contract/index.ts';
import type { Wording } from './document.ts';
import type { Worded } from './document.ts';
import {
  EARLIER_WITNESS,
  earlierWitnessType,
  SurfaceKey,
  WITNESS,
  witnessType,
} from './entries.ts';

/** Largest number of surfaces in a request. Each gets a document and an entry. */
const MAX_SURFACES = 16;

/** An absence document (log/FORMAT.md §6). */
const DocumentSchema = Type.Object(
  {
    ...documentMembers,
    question: Type.Object({ key: SurfaceKey, from_ms: Millis, to_ms: Millis }),
    declared: Type.Optional(Type.Object({})),
    coverage: Type.Optional(Type.Object({})),
    statement: Type.String({ description: 'The finding in plain English. It proves nothing.' }),
    does_not_assert: Type.Array(Type.String()),
    receipt: Type.Optional(
      described(
        receiptOf(witnessType),
        'Receipt of the entry that commits to the document. For a document of an earlier log it is in `receipts`.',
      ),
    ),
  },
  { $id: 'AbsenceDocument' },
);

/** The answer of the witness, and of the document without a receipt. */
export const WitnessAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    witness: Type.Optional(DocumentSchema),
    witnesses: Type.Optional(Type.Array(DocumentSchema)),
    receipts: Type.Optional(
      Type.Array(receiptOf(earlierWitnessType), {
        description:
          'Receipts of the entries that commit to the documents of earlier logs, in the same order. These entries are ' +
          'in the newest log, so a verifier of the earlier log cannot check them.',
      }),
    ),
    decision: Type.Optional(Type.Enum(['ALLOW', 'BLOCK'])),
    reasons: Type.Optional(
      Type.Array(Type.String(), { description: 'Why the decision is not ALLOW.' }),
    ),
  },
  { $id: 'WitnessAnswer' },
);

const Body = Type.Object(
  {
    entity: EntityName,
    surface: Type.Optional(SurfaceName),
    surfaces: Type.Optional(
      Type.Array(SurfaceName, { minItems: 1, maxItems: MAX_SURFACES, uniqueItems: true }),
    ),
    from_ms: Millis,
    to_ms: { ...Millis, description: 'The window is of log time, closed at both ends.' },
    surface_manifest_hash: Type.Optional({
      ...Hex32,
      description:
        'The manifest that the caller expects. The request is refused if another one is in force.',
    }),
    gate: Type.Optional(
      Type.Boolean({
        description: 'Adds a decision, which is ALLOW only if every surface is ABSENT.',
      }),
    ),
  },
  { $id: 'WitnessRequest', ...exactlyOne('surface', 'surfaces') },
);

/** What `respond` needs beside the entries: the texts of the documents, or packed documents for a repeated request. */
type Kept = { readonly texts: readonly string[] } | { readonly packed: readonly JsonObject[] };

/** The route that issues witnesses. */
export function witnessRoute(host: PluginHost, wording: Wording): Route {
  return route({
    method: 'POST',
    path: '/api/v1/absence/witness',
    tag: 'absence',
    summary:
      'Absence witness: proves what was logged on a surface in a window, or that nothing was',
    description:
      'Answers with one self-contained document for each surface, which `actlog verify` checks offline. The window ' +
      'must be closed; `Prefer: wait=N` waits for that. If no manifest was published before the window, the verdict is ' +
      'UNDECLARED. If the window overlaps earlier logs, there is a document for each log and its part of the window. ' +
      'If entries without a key go to the sandbox, a request without a key reads the live log, appends nothing and ' +
      'gets no receipt.',
    access: 'open',
    asksLive: true,
    idempotent: true,
    body: Body,
    responses: { 200: { description: 'The document or documents.', schema: WitnessAnswer } },
    errors: ['window_not_closed'],
    example: {
      entity: 'did:example:acme',
      surface: 'policy_bind',
      from_ms: 1790000000000,
      to_ms: 1790000060000,
    },
    cost: ({ body }) => surfacesOf(body).length,
    async handle(ctx) {
      const { body, caller, wait_ms } = ctx.state;
      const { entity, from_ms, to_ms } = body;
      if (from_ms > to_ms) {
        throw new ApiError('parameter_invalid', 'from_ms is after to_ms', { param: 'from_ms' });
      }
      const surfaces = surfacesOf(body);
      const { surface_manifest_hash: hash } = body;
      const newest = host.log(caller.kind);
      const windows = windowsOf(host, caller.kind, { from_ms, to_ms });
      for (const { log, to_ms: end_ms } of windows) {
        if (hash !== undefined) checkManifest(log, entity, hash);
        await log.windowClosed(end_ms, wait_ms);
      }
      const shown: Shown[] = [];
      for (const window of windows) {
        for (const surface of surfaces) {
          const found = await foundIn(window, ['surface', entity, surface]);
          if (hash !== undefined) checkInForce(found, hash);
          const { log } = window;
          shown.push({ ...wording.worded(found), log, newest: log.number === newest.number });
        }
      }
      const gated = body.gate === true;
      if (!ctx.state.may_append) {
        const documents = shown.map(({ text }) => new ReadyJson(text, {}));
        ctx.body = answerOf(documents, [], { body, gate: gated ? gateOf(shown.map(askedIn)) : {} });
        return;
      }
      const decision = gated ? decisionOf(shown) : undefined;
      const drafts = shown.map((one) => draftOf(one, decision));
      const now: Kept = { texts: shown.map(({ text }) => text) };
      await ctx.state.append(drafts, {
        keep: {
          now,
          later: () => ({ packed: shown.map(({ document }) => packDocument(document)) }),
        },
      });
    },
    respond(entries, _disclosures, { body, caller }, kept) {
      const documents = entries.map((entry, i) => {
        const text = textAt(wording, host.logs(caller.kind), kept as Kept, entry, i);
        return new ReadyJson(text, isEarlier(entry) ? {} : { receipt: entry.receipt });
      });
      const receipts = entries.filter(isEarlier).map(({ receipt }) => receipt);
      const gate = body.gate === true ? gateOf(entries.map(askedOf)) : {};
      return answerOf(documents, receipts, { body, gate });
    },
  });
}

/** The answer: one document as `witness`, or several as `witnesses`. */
function answerOf(
  documents: readonly ReadyJson[],
  receipts: readonly object[],
  { body, gate }: { readonly body: Static<typeof Body>; readonly gate: object },
): object {
  const [first, second] = documents;
  const single = body.surfaces === undefined && second === undefined;
  return {
    ok: true,
    ...(single ? { witness: first } : { witnesses: documents }),
    ...(receipts.length === 0 ? {} : { receipts }),
    ...gate,
  };
}

/** A document and the log that it is about. */
interface Shown extends Worded {
  readonly log: LogView;
  /** Whether that is the newest log. */
  readonly newest: boolean;
}

const foundIn = ({ log, from_ms, to_ms }: LogWindow, key: ChainKey): Promise<JsonObject> =>
  log.absence({ key, from_ms, to_ms });

/** The draft of the entry that commits to a document. It is appended to the newest log in every case. */
function draftOf(
  { log, newest, document, document_sha256, verdict, checkpoint_size }: Shown,
  decision: string | undefined,
): Draft {
  const { key = null, from_ms = null, to_ms = null } = document['question'] as JsonObject;
  const members = {
    ...{ subject_key: key, from_ms, to_ms, verdict, checkpoint_size, document_sha256 },
    ...(decision === undefined ? {} : { decision }),
  };
  if (newest) return { type: WITNESS, members };
  return { type: EARLIER_WITNESS, members: { ...members, log_number: log.number } };
}

const isEarlier = ({ statement }: AnsweredEntry): boolean => statement['type'] === EARLIER_WITNESS;

function surfacesOf({
  surface,
  surfaces,
}: {
  surface?: string;
  surfaces?: readonly string[];
}): readonly string[] {
  return surfaces ?? (surface === undefined ? [] : [surface]);
}

function refusedHash(message: string): ApiError {
  const param = 'surface_manifest_hash';
  return new ApiError('parameter_invalid', `${param} ${message}`, { param });
}

/** Refuses a hash that is not of a manifest of the entity. */
function checkManifest(log: LogView, entity: string, hash: string): void {
  const index = log.manifestOfHash(hash);
  if (index === null) throw refusedHash(`matches no manifest in ${logName(log)}`);
  if (log.receipt(index)?.['entity'] !== entity) {
    throw refusedHash('is the hash of a manifest of another entity');
  }
}

/** Refuses a hash that is not of a manifest in force in the window, if the document shows the manifests. */
function checkInForce(found: JsonObject, hash: string): void {
  const declared = found['declared'] as
    { readonly manifests: readonly { entry: string }[] } | undefined;
  if (declared === undefined) return;
  const hashes = declared.manifests.map(
    ({ entry }) => (JSON.parse(entry) as JsonObject)['surface_manifest_hash'] as string,
  );
  if (hashes.includes(hash)) return;
  throw refusedHash(`is not in force in the window: ${hashes.join(', ')} is`);
}

const decisionOf = (asked: readonly { readonly verdict: string }[]): 'ALLOW' | 'BLOCK' =>
  asked.every(({ verdict }) => verdict === 'ABSENT') ? 'ALLOW' : 'BLOCK';

/** A surface and its verdict; `where` names the log if it is not the newest. */
interface Asked {
  readonly surface: string;
  readonly verdict: string;
  readonly where: string;
}

/** Surface and verdict of an entry. */
function askedOf({ statement }: AnsweredEntry): Asked {
  const { subject_key, sandbox, log_number } = statement;
  const [, , surface = ''] = subject_key as readonly string[];
  const kind = sandbox === true ? 'sandbox' : 'live';
  const where =
    typeof log_number === 'number' ? ` in ${logName({ kind, number: log_number })}` : '';
  return { surface, verdict: statement['verdict'] as string, where };
}

/** Surface and verdict of a document without an entry. */
function askedIn({ document, verdict, log, newest }: Shown): Asked {
  const { key } = document['question'] as unknown as { readonly key: readonly string[] };
  const [, , surface = ''] = key;
  return { surface, verdict, where: newest ? '' : ` in ${logName(log)}` };
}

/** The gate decision and its reasons. */
function gateOf(asked: readonly Asked[]): { decision: string; reasons: string[] } {
  const reasons = asked
    .filter(({ verdict }) => verdict !== 'ABSENT')
    .map(({ surface, verdict, where }) => `${surface} is ${verdict}${where}`);
  return { decision: decisionOf(asked), reasons };
}

function textAt(
  wording: Wording,
  logs: readonly LogView[],
  kept: Kept,
  { statement }: AnsweredEntry,
  i: number,
): string {
  if ('texts' in kept) return kept.texts[i] ?? '{}';
  const { origin, log_number } = statement;
  const log = logs.find((served) =>
    log_number === undefined ? served.origin === origin : served.number === log_number,
  );
  if (log === undefined) throw new Error('the log of a kept document is not served');
  const size = statement['checkpoint_size'] as number;
  return wording.textOf(unpackDocument(log, kept.packed[i] as Json, size) as JsonObject);
}

// POST /api/v1/absence/witness: documents about one or several surfaces, each committed to by an entry of its
// own. gateway/API.md §9.2 to §9.5, §14; log/FORMAT.md §6.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  ApiError,
  described,
  documentMembers,
  EntityName,
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

/** Most surfaces of one request; each has a document and an entry. */
const MAX_SURFACES = 16;

/** A document of log/FORMAT.md §6. */
const DocumentSchema = Type.Object(
  {
    ...documentMembers,
    question: Type.Object({ key: SurfaceKey, from_ms: Millis, to_ms: Millis }),
    declared: Type.Optional(Type.Object({})),
    coverage: Type.Optional(Type.Object({})),
    statement: Type.String({ description: 'In plain words; proves nothing.' }),
    does_not_assert: Type.Array(Type.String()),
    receipt: Type.Optional(
      described(
        receiptOf(witnessType),
        'Of the entry that commits to the document; a document of an earlier log has its own in `receipts`.',
      ),
    ),
  },
  { $id: 'AbsenceDocument' },
);

const WitnessAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    witness: Type.Optional(DocumentSchema),
    witnesses: Type.Optional(Type.Array(DocumentSchema)),
    receipts: Type.Optional(
      Type.Array(receiptOf(earlierWitnessType), {
        description:
          'Of the entries that commit to the documents of earlier logs, in their order: they stand in the newest ' +
          'log, and a verifier of an earlier one does not read them.',
      }),
    ),
    decision: Type.Optional(Type.Enum(['ALLOW', 'BLOCK'])),
    reasons: Type.Optional(
      Type.Array(Type.String(), { description: 'What keeps a gate from ALLOW.' }),
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
      description: 'Of the manifest that the caller counts on; refused when another is in force.',
    }),
    gate: Type.Optional(
      Type.Boolean({ description: 'Adds a decision: ALLOW only when every surface is ABSENT.' }),
    ),
  },
  { $id: 'WitnessRequest' },
);

/** What `respond` needs beside the entries: the documents, whole or packed for a later day. */
type Kept = { readonly texts: readonly string[] } | { readonly packed: readonly JsonObject[] };

/** The route that issues witnesses. */
export function witnessRoute(host: PluginHost, wording: Wording): Route {
  return route({
    method: 'POST',
    path: '/api/v1/absence/witness',
    tag: 'absence',
    summary: 'Absence witness: what was logged on a surface in a window, or that nothing was',
    description:
      'One self-contained document for each surface, which `actlog verify` checks offline. The window must be ' +
      'closed; `Prefer: wait=N` waits for that. The manifest must stand before the window, else UNDECLARED. Where ' +
      'the window reaches into the time of earlier logs there is a document for each log, of the part of the window ' +
      'that is its own. Where entries without a key go to the sandbox, a request without a key asks the live log, ' +
      'appends nothing and gets no receipt.',
    access: 'open',
    asksLive: true,
    idempotent: true,
    body: Body,
    responses: { 200: { description: 'The document, or one for each.', schema: WitnessAnswer } },
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
        throw new ApiError('parameter_invalid', 'from_ms is over to_ms', { param: 'from_ms' });
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

/** The answer: one document as `witness`, several as `witnesses`. */
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

/** A document, and the log that it is of. */
interface Shown extends Worded {
  readonly log: LogView;
  /** Whether that is the log that takes entries. */
  readonly newest: boolean;
}

const foundIn = ({ log, from_ms, to_ms }: LogWindow, key: ChainKey): Promise<JsonObject> =>
  log.absence({ key, from_ms, to_ms });

/** The entry of a document, in the newest log whichever the document is of. */
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
  if (surface !== undefined && surfaces !== undefined) {
    throw new ApiError(
      'parameter_invalid',
      'surface and surfaces are given: one says what is asked',
      {
        param: 'surfaces',
      },
    );
  }
  const asked = surfaces ?? (surface === undefined ? [] : [surface]);
  if (asked.length > 0) return asked;
  throw new ApiError('parameter_missing', 'surface or surfaces is missing', { param: 'surface' });
}

function refusedHash(message: string): ApiError {
  const param = 'surface_manifest_hash';
  return new ApiError('parameter_invalid', `${param} ${message}`, { param });
}

/** The hash is of a manifest of the entity. */
function checkManifest(log: LogView, entity: string, hash: string): void {
  const index = log.manifestOfHash(hash);
  if (index === null) throw refusedHash(`is of no manifest in ${logName(log)}`);
  if (log.receipt(index)?.['entity'] !== entity) {
    throw refusedHash('is of a manifest of another entity');
  }
}

/** The hash is of a manifest in force in the window, where the document shows which those are. */
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

/** A surface that was asked about, and what was found; `where` names an earlier log. */
interface Asked {
  readonly surface: string;
  readonly verdict: string;
  readonly where: string;
}

/** The question of an entry. */
function askedOf({ statement }: AnsweredEntry): Asked {
  const { subject_key, sandbox, log_number } = statement;
  const [, , surface = ''] = subject_key as readonly string[];
  const kind = sandbox === true ? 'sandbox' : 'live';
  const where =
    typeof log_number === 'number' ? ` in ${logName({ kind, number: log_number })}` : '';
  return { surface, verdict: statement['verdict'] as string, where };
}

/** The question of a document that no entry commits to. */
function askedIn({ document, verdict, log, newest }: Shown): Asked {
  const { key } = document['question'] as unknown as { readonly key: readonly string[] };
  const [, , surface = ''] = key;
  return { surface, verdict, where: newest ? '' : ` in ${logName(log)}` };
}

/** The decision of the Apoha gate. */
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

// GET /export/scitt/air/…: the records of one entry and of a session.
// gateway/API.md §12.3, §12.4.

import { Type } from 'typebox';
import {
  ApiError,
  described,
  entryNamed,
  EntryOrHash,
  EntryReceipt,
  isJsonObject,
  kindsOf,
  LogName,
  LogNumber,
  LogOfEntry,
  LookupDocument,
  parseJson,
  route,
  sessionCost,
  sessionLog,
  toBase64,
} from '../../contract/index.ts';
import type { JsonObject, LogView, Route } from '../../contract/index.ts';
import { AirRecord } from './record.ts';
import { recordText, sessionBatch, sessionChain } from './session.ts';
import type { AirService } from './session.ts';
import { airStatement } from './statement.ts';
import { coseView } from './view.ts';

const AirKey = Type.Object({
  kty: Type.Literal('EC'),
  crv: Type.Literal('P-256'),
  x: Type.String(),
  y: Type.String(),
  kid: Type.String(),
  alg: Type.Literal('ES256'),
  use: Type.Literal('sig'),
});

const AirExport = Type.Object(
  {
    schema: Type.Literal('svc-air-export-v1'),
    spec: Type.Literal('air-1.0'),
    entry_id: Type.String({ format: 'uuid' }),
    origin: Type.String(),
    record: AirRecord,
    cose: Type.Object({}, { description: 'The COSE statement as readable JSON.' }),
    cose_sign1_b64: Type.String({
      description:
        'COSE_Sign1 over the canonical form of the record without `integrity`. Header 394 has the RFC 9942 receipt of ' +
        'the log entry whose leaf hash is `outcome_hash`.',
    }),
    entry: Type.String({ description: 'The exact text of the entry.' }),
    receipt: described(EntryReceipt, 'Of the entry, with its proof.'),
    key: AirKey,
  },
  { $id: 'AirExport' },
);

const AirSession = Type.Object(
  {
    schema: Type.Literal('svc-air-session-v1'),
    spec: Type.Literal('air-1.0'),
    origin: Type.String(),
    session_ref: Type.String(),
    agent_id: Type.String(),
    count: Type.Integer({ minimum: 0 }),
    size: Type.Integer({ minimum: 0 }),
    checkpoint: Type.String(),
    completeness_proof: described(
      LookupDocument,
      'A document of the log (svc-absence-witness-v1) on the chain of the session. The `count` of its head, or the ' +
        '`seq` of its successor, is the number of entries.',
    ),
    key: AirKey,
    records: Type.Array(
      Type.Object({
        record: AirRecord,
        entry: Type.String(),
        inclusion_proof: Type.Optional(Type.Array(Type.String())),
        cose_sign1_b64: Type.Optional(Type.String()),
      }),
    ),
  },
  { $id: 'AirSession' },
);

/** Number of records that are made at a cost of 1 (measured), without and with proofs and statements. */
const SIGNED = 120;
const PROVEN = 16;

/** The routes of the records. */
export function airRoutes(service: AirService): readonly Route[] {
  const { host } = service;
  return [
    route({
      method: 'GET',
      path: '/export/scitt/air/session/{session_id}.json',
      tag: 'exports',
      summary: 'AIR batch of a session, with a proof of completeness',
      description:
        'The session of the tenant with this name. The answer is streamed. `proofs=true` adds the inclusion proof and ' +
        'the signed statement of each entry.',
      access: 'open',
      whole: true,
      params: Type.Object({
        session_id: Type.String({ minLength: 1, maxLength: host.limits.string_chars }),
      }),
      query: Type.Object({
        proofs: Type.Optional(Type.Union([Type.Literal('true'), Type.Literal('false')])),
        log: LogName,
        log_number: LogNumber,
      }),
      responses: {
        200: { description: 'The batch; `count` 0 for an unknown session.', schema: AirSession },
      },
      errors: ['log_unavailable'],
      cost: ({ params, query, caller }) =>
        sessionCost(host, caller, params.session_id, query.proofs === 'true' ? PROVEN : SIGNED),
      async handle(ctx) {
        const { params, query, caller } = ctx.state;
        if (query.log !== undefined && query.log !== caller.kind) {
          throw new ApiError(
            'parameter_invalid',
            `a session has its name by the caller, whose log is ${caller.kind}`,
            { param: 'log' },
          );
        }
        const { session_id } = params;
        const { log, session_ref } = await sessionLog(host, caller, session_id, query.log_number);
        const session = await sessionChain(log, session_ref, await log.covering(log.size()));
        ctx.set('Cache-Control', 'no-store');
        ctx.type = 'application/json; charset=utf-8';
        ctx.body = sessionBatch(service, log, session, query.proofs === 'true');
      },
    }),
    route({
      method: 'GET',
      path: '/export/scitt/air/{entry_id}.json',
      tag: 'exports',
      summary: 'AIR and COSE of an entry',
      description: 'By entry_id or entry hash. The answer has no disclosures of the entry.',
      access: 'read',
      params: Type.Object({ entry_id: EntryOrHash }),
      query: Type.Object({ log: LogOfEntry }),
      responses: {
        200: {
          description: 'The record, and the same record as a COSE statement.',
          schema: AirExport,
        },
      },
      errors: ['resource_missing', 'log_unavailable'],
      async handle(ctx) {
        const { params, query, caller } = ctx.state;
        const found = entryNamed(host, kindsOf(query.log, caller), params.entry_id);
        ctx.set('Cache-Control', 'no-store');
        ctx.body = await airExport(service, found.log, found.index);
      },
    }),
  ];
}

/** The export of one entry. */
export async function airExport(
  service: AirService,
  log: LogView,
  index: number,
): Promise<JsonObject> {
  const { host, chains, receipts } = service;
  const { size } = await log.covering(index + 1);
  const [signer] = host.signers(log.kind, 'air');
  const placed = await chains.record(log, index);
  const text = recordText(placed, await signer.sign(placed.place.chain_hash));
  const record = parseJson(text);
  const receipt = log.receipt(index);
  const checkpoint = log.checkpointAt(size);
  if (!isJsonObject(record) || receipt === null || checkpoint === null) {
    throw new Error(`entry ${String(index)} has no record`);
  }
  const cose = await airStatement(placed, {
    signer,
    iss: host.url(''),
    receipt: await receipts.inclusion(log, index, size, placed.entry),
  });
  const inclusion_proof = log.inclusion(index, size).map(toBase64);
  return {
    schema: 'svc-air-export-v1',
    spec: 'air-1.0',
    entry_id: receipt['entry_id'] as string,
    origin: log.origin,
    record,
    cose: coseView(cose),
    cose_sign1_b64: toBase64(cose),
    entry: placed.entry,
    receipt: { ...receipt, log: { origin: log.origin, index, checkpoint, inclusion_proof } },
    key: { ...signer.jwk, kid: signer.kid, alg: 'ES256', use: 'sig' },
  };
}

// The keys of COSE messages as COSE keys, and consistency receipts between published trees.
// draft-ietf-scitt-scrapi; RFC 9052 §7, RFC 9679, RFC 9942.

import { Type } from 'typebox';
import { coseKey, coseThumbprint, encodeCbor, native, toBase64Url } from '../../../log/index.ts';
import { ApiError, kindOf, LOG_KINDS, LogName, route } from '../../contract.ts';
import type { PluginHost, Route } from '../../contract.ts';
import type { Receipts } from '../receipts.ts';
import { conciseProblem, PROBLEM_TYPE } from './problem.ts';

const CBOR = 'application/cbor';
const CACHE = 'public, max-age=300';
const KEYS = ['cose', 'air'] as const;
const Size = Type.String({ pattern: '^[1-9][0-9]{0,14}$' });

/** Keys and consistency. */
export function keyRoutes(host: PluginHost, receipts: Receipts): readonly Route[] {
  // Asked for each time: a key that was rotated in is there at once.
  const byKid = () => {
    const keys = LOG_KINDS.flatMap((kind) => KEYS.flatMap((name) => host.signers(kind, name)));
    return new Map(
      keys.map(({ jwk }) => [toBase64Url(coseThumbprint(native, jwk)), coseKey(native, jwk)]),
    );
  };
  return [
    route({
      method: 'GET',
      path: '/.well-known/scitt-keys',
      tag: 'exports',
      summary: 'Keys of COSE receipts and statements (COSE_KeySet)',
      description: 'Of both logs. Older keys stay: what they signed holds.',
      access: 'read',
      responses: { 200: { description: 'COSE_KeySet.', type: CBOR } },
      problem: conciseProblem,
      handle(ctx) {
        ctx.set('Cache-Control', CACHE);
        ctx.set('Content-Type', CBOR);
        ctx.body = Buffer.from(encodeCbor([...byKid().values()]));
      },
    }),
    route({
      method: 'GET',
      path: '/.well-known/scitt-keys/{kid}',
      tag: 'exports',
      summary: 'One key (COSE_Key)',
      access: 'read',
      params: Type.Object({
        kid: Type.String({ maxLength: 512, description: 'Its RFC 9679 thumbprint, base64url.' }),
      }),
      responses: {
        200: { description: 'COSE_Key.', type: CBOR },
        404: { description: 'No such key.', type: PROBLEM_TYPE },
      },
      problem: conciseProblem,
      handle(ctx) {
        const key = byKid().get(ctx.state.params.kid);
        if (key === undefined) {
          throw new ApiError('resource_missing', 'there is no such key', { param: 'kid' });
        }
        ctx.set('Cache-Control', CACHE);
        ctx.set('Content-Type', CBOR);
        ctx.body = Buffer.from(encodeCbor(key));
      },
    }),
    route({
      method: 'GET',
      path: '/export/scitt/consistency',
      tag: 'exports',
      summary: 'COSE receipt that one published tree begins with another',
      access: 'read',
      query: Type.Object({
        from: { ...Size, description: 'The smaller size.' },
        to: Type.Optional({ ...Size, description: 'The larger one; the newest unless given.' }),
        log: LogName,
      }),
      responses: {
        200: { description: 'RFC 9942 receipt.', type: 'application/cose' },
        400: { description: 'No two published sizes.', type: PROBLEM_TYPE },
      },
      problem: conciseProblem,
      async handle(ctx) {
        const { query, caller } = ctx.state;
        const log = host.log(kindOf(query.log, caller));
        const from = Number(query.from);
        const to = query.to === undefined ? log.published().size : Number(query.to);
        for (const [param, size] of [
          ['from', from],
          ['to', to],
        ] as const) {
          if (log.checkpointAt(size) === null) {
            const message = `${param} is no published size`;
            throw new ApiError('parameter_invalid', message, { param });
          }
        }
        if (from >= to) {
          throw new ApiError('parameter_invalid', 'from is not below to', { param: 'from' });
        }
        ctx.set('Content-Type', 'application/cose');
        ctx.body = Buffer.from(await receipts.consistency(log, from, to));
      },
    }),
  ];
}

// GET /.well-known/x402: the resources with a toll, in the discovery document that x402scan reads: version, resources
// as absolute URLs, ownershipProofs, instructions. The other members are additions of actlog.

import { route } from 'actlog/plugin';
import type { PluginHost, Route } from 'actlog/plugin';
import { Type } from 'typebox';

const Discovery = Type.Object(
  {
    version: Type.Literal(1),
    resources: Type.Array(Type.String({ format: 'uri' })),
    ownershipProofs: Type.Array(Type.String()),
    instructions: Type.String(),
    schema: Type.String(),
    tolls: Type.Array(
      Type.Object({
        method: Type.String(),
        url: Type.String({ format: 'uri' }),
        toll: Type.String(),
        toll_usd: Type.Number(),
        metered: Type.Boolean({
          description: 'Whether an act of this resource is charged with it.',
        }),
      }),
    ),
  },
  { $id: 'X402Discovery' },
);

interface Resources {
  readonly schema: string;
  readonly version: 1;
  readonly resources: readonly { readonly method: string; path: string; toll: string }[];
  readonly instructions: string;
}

interface Metering {
  readonly metering: Readonly<Record<string, { readonly metered: boolean }>>;
}

/** The route of discovery. */
export function discoveryRoute(host: PluginHost): Route {
  const file = host.catalog('x402.json') as unknown as Resources;
  const { schema, version, instructions } = file;
  const proofs = host.settings['X402_OWNERSHIP_PROOFS'] as string | undefined;
  const { metering } = host.catalog('tolls.json') as unknown as Metering;
  const tolls = file.resources.map(({ method, path, toll }) => ({
    method,
    url: host.url(path),
    toll,
    toll_usd: host.toll(toll).micro_usd / 1_000_000,
    metered: metering[toll]?.metered ?? false,
  }));
  const document = {
    version,
    resources: tolls.map(({ url }) => url),
    ownershipProofs: proofs?.split(',') ?? [],
    instructions,
    schema,
    tolls,
  };
  return route({
    method: 'GET',
    path: '/.well-known/x402',
    tag: 'signal',
    summary: 'Resources with a toll, for x402 discovery',
    access: 'read',
    responses: { 200: { description: 'The resources.', schema: Discovery } },
    handle(ctx) {
      ctx.body = document;
    },
  });
}

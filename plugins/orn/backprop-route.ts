// POST /api/v1/orn/backprop. gateway/API.md §10.4, §14.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ApiError, atLeastOne, firstOf, receiptOf, route } from '../contract/index.ts';
import type { Caller, JsonObject, PluginHost, Route } from '../contract/index.ts';
import {
  DecimalText,
  End,
  MAX_EDGES,
  MAX_NAMED,
  millionthsOf,
  Named,
  placeOf,
  statedMicroUsd,
  UsdInput,
  usdText,
} from './members.ts';
import { backprop, backwards, cycleOf, MODES } from './backprop.ts';
import { BACKPROP, BackpropMembers, backpropType, DOES_NOT_ASSERT, ornErrors } from './entries.ts';
import { ONE } from './game.ts';
import {
  GraphId,
  namedGraph,
  namesOf,
  placedEdges,
  refuseBeside,
  registeredGraph,
} from './graph.ts';
import type { Graph } from './graph.ts';

const BackpropAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    backprop_entry_id: Type.String({ format: 'uuid' }),
    mode: BackpropMembers.properties.mode,
    sink: Type.String(),
    liability_usd: DecimalText,
    nodes: Type.Array(
      Type.Object({ id: Type.String(), liability_usd: DecimalText, retained_usd: DecimalText }),
    ),
    does_not_assert: Type.Array(Type.String()),
    verify_url: Type.String({ format: 'uri' }),
    receipt: receiptOf(backpropType),
  },
  { $id: 'BackpropAllocation' },
);

const Weight = Type.Unsafe<string | number>({
  type: ['string', 'number'],
  ...{ pattern: '^(0(\\.[0-9]{1,6})?|1(\\.0{1,6})?)$', minimum: 0, maximum: 1 },
  description: 'Sensitivity from 0 to 1, at most 6 digits after the point.',
});

const BackpropBody = Type.Object(
  {
    graph_id: GraphId,
    nodes: Type.Optional(
      Type.Array(Named, {
        ...{ minItems: 1, maxItems: MAX_NAMED },
        description: 'Needed, with edges, unless graph_id names a graph.',
      }),
    ),
    edges: Type.Optional(
      Type.Array(
        Type.Object({ from: End, to: End, weight: Weight }, { additionalProperties: false }),
        {
          maxItems: MAX_EDGES,
          description: 'Each edge goes from a tool to the one that uses its output.',
        },
      ),
    ),
    sink: { ...End, description: 'The node at which the liability arose.' },
    liability_usd: UsdInput,
    mode: Type.Optional(
      Type.Enum([...MODES], {
        default: 'conserving',
        description:
          'conserving: each node passes its whole amount to its inputs, in proportion to their weights. ' +
          'plain: the chain rule with unnormalised weights; the sum is not conserved.',
      }),
    ),
  },
  { $id: 'BackpropRequest', ...atLeastOne(['nodes', 'edges'], 'graph_id') },
);

/** The route of Coutility backprop. */
export function backpropRoute(host: PluginHost): Route {
  return route({
    method: 'POST',
    path: '/api/v1/orn/backprop',
    tag: 'orn',
    summary: 'Propagate a liability back through a graph of tools: Coutility backprop',
    description:
      'Reverse-mode propagation over an acyclic graph. In the mode `conserving`, the amounts of the nodes without inputs ' +
      'sum to the liability, to the micro-USD. The entry has the result and commits to the graph.',
    access: 'open',
    idempotent: true,
    body: BackpropBody,
    responses: { 200: { description: 'The amount of each node.', schema: BackpropAnswer } },
    errors: [ornErrors.graph_cycle],
    example: {
      nodes: [{ id: 'search' }, { id: 'prices' }, { id: 'planner' }, { id: 'booking' }],
      edges: [
        { from: 'search', to: 'planner', weight: 0.5 },
        { from: 'prices', to: 'planner', weight: 0.25 },
        { from: 'planner', to: 'booking', weight: 1 },
      ],
      sink: 'booking',
      liability_usd: 90,
    },
    // Nodes and edges at their limits take a few milliseconds.
    cost: ({ body }) => 1 + (body.edges?.length ?? MAX_EDGES) / MAX_EDGES,
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const { graph_id, sink, liability_usd, mode = 'conserving' } = body;
      const { nodes, edges } = await graphOf(host, caller, body);
      const { places, edges: read } = placedEdges({ nodes, edges }, sensitivity);
      const from = placeOf(places, sink, 'sink');
      const liability = BigInt(millionthsOf(liability_usd, 'liability_usd'));
      const order = backwards(nodes.length, read);
      if (order === null) {
        const names = cycleOf(nodes.length, read).map((at) => nodes[at]?.id ?? '');
        const way = [...names, ...names.slice(0, 1)].join(' → ');
        throw new ApiError(ornErrors.graph_cycle, `the edges form a cycle: ${way}`, {
          param: 'edges',
        });
      }
      const carried = backprop({ edges: read, order }, { sink: from, liability, mode });
      const stated = (amounts: readonly bigint[]): number[] =>
        amounts.map((amount) => statedMicroUsd(amount, 'liability_usd'));
      const members: JsonObject = {
        mode,
        nodes: nodes.length,
        sink: from,
        liability_micro_usd: Number(liability),
        carried_micro_usd: stated(carried.liability),
        retained_micro_usd: stated(carried.retained),
        does_not_assert: Object.keys(DOES_NOT_ASSERT),
        ...namedGraph(graph_id),
      };
      const inputs = { nodes, edges };
      await ctx.state.append([{ type: BACKPROP, members, private: { inputs } }]);
    },
    respond(entries, disclosures, { body }) {
      const { entry_id, statement, receipt } = firstOf(entries);
      const names = namesOf(body.nodes, disclosures, 'nodes', statement['nodes'] as number);
      const carried = statement['carried_micro_usd'] as readonly number[];
      const retained = statement['retained_micro_usd'] as readonly number[];
      return {
        ok: true,
        backprop_entry_id: entry_id,
        mode: statement['mode'],
        sink: body.sink,
        liability_usd: usdText(statement['liability_micro_usd']),
        nodes: names.map((id, at) => ({
          id,
          liability_usd: usdText(carried[at]),
          retained_usd: usdText(retained[at]),
        })),
        does_not_assert: Object.values(DOES_NOT_ASSERT),
        verify_url: receipt.verify_url,
        receipt,
      };
    },
  });
}

/** The graph that a request sends, or the registered one that it names. */
async function graphOf(
  host: PluginHost,
  caller: Caller,
  { graph_id, nodes, edges }: Static<typeof BackpropBody>,
): Promise<Graph> {
  if (graph_id === undefined) return { nodes: nodes ?? [], edges: edges ?? [] };
  if (nodes !== undefined) refuseBeside('nodes');
  if (edges !== undefined) refuseBeside('edges');
  return registeredGraph(host, caller, graph_id);
}

function sensitivity(input: string | number, param: string): number {
  const weight = millionthsOf(input, param);
  if (weight >= 0 && weight <= ONE) return weight;
  throw new ApiError('parameter_invalid', `${param} must be from 0 to 1`, { param });
}

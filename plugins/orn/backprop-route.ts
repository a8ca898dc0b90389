// POST /api/v1/orn/backprop. gateway/API.md §10.4, §14.

import { Type } from 'typebox';
import { ApiError, receiptOf, route } from '../contract/index.ts';
import type { JsonObject, PluginHost, Route } from '../contract/index.ts';
import {
  DecimalText,
  End,
  MAX_EDGES,
  MAX_NAMED,
  millionthsOf,
  Named,
  onlyEntry,
  placeOf,
  placesOf,
  statedMicroUsd,
  UsdInput,
  usdText,
} from './members.ts';
import { backprop, backwards, cycleOf, MODES } from './backprop.ts';
import type { ToolEdge } from './backprop.ts';
import { BACKPROP, BackpropMembers, backpropType, DOES_NOT_ASSERT, ornErrors } from './entries.ts';
import { ONE } from './game.ts';

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
  description: 'Sensitivity from 0 to 1, at most 6 digits behind the point.',
});

const BackpropBody = Type.Object(
  {
    nodes: Type.Array(Named, { minItems: 1, maxItems: MAX_NAMED }),
    edges: Type.Array(
      Type.Object({ from: End, to: End, weight: Weight }, { additionalProperties: false }),
      { maxItems: MAX_EDGES, description: 'From a tool to the one that uses its output.' },
    ),
    sink: { ...End, description: 'The node that the liability arose at.' },
    liability_usd: UsdInput,
    mode: Type.Optional(
      Type.Enum([...MODES], {
        default: 'conserving',
        description:
          'conserving: a node passes all that it carries to its inputs, in the proportion of their weights. ' +
          'plain: the chain rule, weights as they are; the sum is not kept.',
      }),
    ),
  },
  { $id: 'BackpropRequest' },
);

/** The route of Coutility backprop. */
export function backpropRoute(_host: PluginHost): Route {
  return route({
    method: 'POST',
    path: '/api/v1/orn/backprop',
    tag: 'orn',
    summary: 'Carry a liability back through the graph of tools: Coutility backprop',
    description:
      'Reverse mode over an acyclic graph. Conserving, what the nodes without inputs retain sums to the ' +
      'liability to the micro-USD. The entry has the result, and commits to the graph.',
    access: 'open',
    idempotent: true,
    body: BackpropBody,
    responses: { 200: { description: 'What each node carries.', schema: BackpropAnswer } },
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
    cost: ({ body }) => 1 + body.edges.length / MAX_EDGES,
    async handle(ctx) {
      const { nodes, edges, sink, liability_usd, mode = 'conserving' } = ctx.state.body;
      const places = placesOf(nodes, 'nodes');
      const read = edges.map(({ from, to, weight }, at): ToolEdge => {
        const param = `edges.${String(at)}`;
        return {
          from: placeOf(places, from, `${param}.from`),
          to: placeOf(places, to, `${param}.to`),
          weight: sensitivity(weight, `${param}.weight`),
        };
      });
      const from = placeOf(places, sink, 'sink');
      const liability = BigInt(millionthsOf(liability_usd, 'liability_usd'));
      const order = backwards(nodes.length, read);
      if (order === null) {
        const names = cycleOf(nodes.length, read).map((at) => nodes[at]?.id ?? '');
        const way = [...names, ...names.slice(0, 1)].join(' → ');
        throw new ApiError(ornErrors.graph_cycle, `the edges go round: ${way}`, { param: 'edges' });
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
      };
      const inputs = { nodes, edges };
      await ctx.state.append([{ type: BACKPROP, members, private: { inputs } }]);
    },
    respond(entries, _, { body }) {
      const { entry_id, statement, receipt } = onlyEntry(entries);
      const carried = statement['carried_micro_usd'] as readonly number[];
      const retained = statement['retained_micro_usd'] as readonly number[];
      return {
        ok: true,
        backprop_entry_id: entry_id,
        mode: statement['mode'],
        sink: body.sink,
        liability_usd: usdText(statement['liability_micro_usd']),
        nodes: body.nodes.map(({ id }, at) => ({
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

function sensitivity(input: string | number, param: string): number {
  const weight = millionthsOf(input, param);
  if (weight >= 0 && weight <= ONE) return weight;
  throw new ApiError('parameter_invalid', `${param} is not from 0 to 1`, { param });
}

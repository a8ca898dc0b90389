// The entry types of the orchestration layer. Results are in clear text, as numbers in the order of the request; the
// inputs are one commitment. log/FORMAT.md §2; gateway/API.md §10.4.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import { asSchema, EntryId, errorsOf, plural, sentenceOf, usdOf } from '../contract/index.ts';
import type { EntryType } from '../contract/index.ts';
import { DecimalText, MAX_EDGES, MAX_NAMED, MicroUsd } from './members.ts';
import { MODES } from './backprop.ts';
import { VALUE_FUNCTIONS } from './game-request.ts';

/** Error codes of this plugin. */
export const ornErrors = errorsOf({
  graph_cycle: { status: 400, sentence: 'The edges of the graph form a cycle.' },
  general_average_conditions_unmet: {
    status: 400,
    sentence: 'A condition of general average is not met.',
  },
});

/** Names of the entry types. */
export const GRAPH = 'orn.graph.v1';
export const SHARP = 'orn.sharp.v2';
export const BACKPROP = 'orn.backprop.v2';
export const AVERAGE = 'orn.average.v1';

/** `does_not_assert` of allocations. */
export const DOES_NOT_ASSERT = {
  inputs_true:
    'that the inputs are true: they are what the caller told, and the entry commits to them',
  liability_in_law: 'that anybody owes or is liable for what the rule allots',
  settlement: 'that anything was paid',
} as const;

const Place = Type.Integer({ minimum: 0, maximum: MAX_NAMED });
const AmountsByPlace = Type.Array(MicroUsd, { maxItems: MAX_NAMED });
const does_not_assert = Type.Array(Type.Enum(Object.keys(DOES_NOT_ASSERT)));

const sharpMembers = Type.Object({
  method: Type.Enum(['exact', 'sampled']),
  value_function: Type.Enum([...VALUE_FUNCTIONS]),
  agents: Place,
  amount_micro_usd: MicroUsd,
  worth: { ...DecimalText, description: 'What all agents are worth more than none.' },
  shapley_values: Type.Array(DecimalText, {
    maxItems: MAX_NAMED,
    description: 'By the place of the agent, rounded to six digits, halves away from zero.',
  }),
  parts_micro_usd: {
    ...AmountsByPlace,
    description: 'By the place of the agent, by largest remainder; the sum is the amount.',
  },
  // The members below are present if the values were sampled.
  epsilon: Type.Optional({
    ...DecimalText,
    description: 'Share of the amount that a part may be off by.',
  }),
  delta: Type.Optional({
    ...DecimalText,
    description: 'Probability that any part is off by more.',
  }),
  bound_micro_usd: Type.Optional({
    ...MicroUsd,
    description: 'Epsilon of the amount, and one for rounding.',
  }),
  range: Type.Optional({
    ...DecimalText,
    description:
      'Width of the range of marginal contributions: r of the bound m = r² ln(2n/δ) / (2 (ε worth)²).',
  }),
  seed: Type.Optional(
    Type.Integer({
      ...{ minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
      description: 'Draws the permutations again: SHAKE128, Fisher-Yates.',
    }),
  ),
  seed_source: Type.Optional(Type.Enum(['caller', 'service'])),
  permutations: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  does_not_assert,
}).properties;

const backpropMembers = Type.Object({
  mode: Type.Enum([...MODES]),
  nodes: Place,
  sink: { ...Place, description: 'Place of the node that the liability arose at.' },
  liability_micro_usd: MicroUsd,
  carried_micro_usd: { ...AmountsByPlace, description: 'By the place of the node.' },
  retained_micro_usd: {
    ...AmountsByPlace,
    description:
      'What a node without inputs does not pass on; conserving, the sum is the liability.',
  },
  does_not_assert,
}).properties;

const CLOSED = { additionalProperties: false };
const graph_id = Type.Optional({
  ...EntryId,
  description: 'The entry of the registered graph that the request named.',
});

/** The graph of an orchestration; the commitment `graph` is `{nodes, edges}`. */
export const GraphMembers = Type.Object(
  {
    nodes: Place,
    edges: Type.Integer({ minimum: 0, maximum: MAX_EDGES }),
    acyclic: { ...Type.Boolean(), description: 'Whether backprop can go through it.' },
  },
  CLOSED,
);

/** A SHARP slice of every agent; the commitment `inputs` is `{orchestration_id, agents, value_function}`. */
export const SharpMembers = Type.Object({ ...sharpMembers, graph_id }, CLOSED);

/** Liability carried back through a graph; the commitment `inputs` is `{nodes, edges}`. */
export const BackpropMembers = Type.Object({ ...backpropMembers, graph_id }, CLOSED);

/** A general average; the commitment `inputs` is `{peril, parties}`, with `expenditure_by` if the request has it. */
const AverageMembers = Type.Object(
  {
    intentional: Type.Literal(true),
    reasonable: Type.Literal(true),
    parties: Place,
    allowance_micro_usd: MicroUsd,
    expenditure_micro_usd: MicroUsd,
    contributory_value_micro_usd: MicroUsd,
    contributions_micro_usd: {
      ...AmountsByPlace,
      description: 'By the place of the party; the sum is the allowance.',
    },
    nets_micro_usd: {
      ...AmountsByPlace,
      description: 'Above 0 a party pays, below it receives; with outside_micro_usd the sum is 0.',
    },
    outside_micro_usd: {
      ...MicroUsd,
      description: 'What goes to who bore the expenditure and is no party, below 0.',
    },
    does_not_assert,
  },
  { additionalProperties: false },
);

const sharpSentence = sentenceOf<
  Pick<Static<typeof SharpMembers>, 'amount_micro_usd' | 'agents' | 'method'>
>(
  ({ amount_micro_usd, agents, method }) =>
    `A SHARP slice divides ${usdOf(amount_micro_usd)} among ${plural(agents, 'agent')} by ${method} Shapley values.`,
);

const backpropSentence = sentenceOf<
  Pick<Static<typeof BackpropMembers>, 'liability_micro_usd' | 'nodes' | 'mode'>
>(
  ({ liability_micro_usd, nodes, mode }) =>
    `A liability of ${usdOf(liability_micro_usd)} was carried back through a graph of ${plural(nodes, 'node')}, in the mode ${mode}.`,
);

/** `orn.graph.v1`. */
export const graphType: EntryType = {
  name: GRAPH,
  schema: asSchema(GraphMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof GraphMembers>>(({ nodes, edges, acyclic }) => {
    const cycles = acyclic ? 'without a cycle' : 'with a cycle';
    return `The tenant registered a graph of ${plural(nodes, 'node')} and ${plural(edges, 'edge')}, ${cycles}.`;
  }),
};

/** `orn.sharp.v2`. */
export const sharpType: EntryType = {
  name: SHARP,
  schema: asSchema(SharpMembers),
  keys: [],
  sentence: sharpSentence,
};

/** `orn.backprop.v2`. */
export const backpropType: EntryType = {
  name: BACKPROP,
  schema: asSchema(BackpropMembers),
  keys: [],
  sentence: backpropSentence,
};

/** `orn.average.v1`. */
export const averageType: EntryType = {
  name: AVERAGE,
  schema: asSchema(AverageMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof AverageMembers>>(
    ({ allowance_micro_usd, parties }) =>
      `A general average, declared by the tenant, shares ${usdOf(allowance_micro_usd)} among ${plural(parties, 'party', 'parties')}.`,
  ),
};

/** Types of earlier releases, without a graph. */
export const earlierTypes: readonly EntryType[] = [
  {
    name: 'orn.sharp.v1',
    schema: asSchema(Type.Object(sharpMembers, CLOSED)),
    keys: [],
    sentence: sharpSentence,
  },
  {
    name: 'orn.backprop.v1',
    schema: asSchema(Type.Object(backpropMembers, CLOSED)),
    keys: [],
    sentence: backpropSentence,
  },
];

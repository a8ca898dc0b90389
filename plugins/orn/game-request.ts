// Parses the value function of a request into a game. gateway/API.md §10.4, §14.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ApiError, neededBy } from '../contract/index.ts';
import {
  End,
  MAX_EDGES,
  MAX_NAMED,
  millionthsOf,
  placeOf,
  placesOf,
  ValueInput,
} from './members.ts';
import { ONE } from './game.ts';
import type { Game } from './game.ts';

/** Kinds of value function. */
export const VALUE_FUNCTIONS = ['table', 'additive', 'max', 'min', 'threshold', 'edges'] as const;

/** Largest number of agents of a table, which has a value for each coalition. */
const TABLE_AGENTS = 12;

/** The members that each kind needs besides its type. */
const MEMBERS = {
  table: ['values'],
  additive: ['weights'],
  max: ['weights'],
  min: ['weights'],
  threshold: ['weights', 'quota'],
  edges: ['edges'],
} as const satisfies Record<(typeof VALUE_FUNCTIONS)[number], readonly string[]>;

/** `value_function` of a request. */
export const ValueFunction = Type.Object(
  {
    type: Type.Enum([...VALUE_FUNCTIONS]),
    values: Type.Optional(
      Type.Record(Type.String({ maxLength: 4096 }), ValueInput, {
        maxProperties: 2 ** TABLE_AGENTS,
        description:
          'For `table`, with at most 12 agents: the value of each coalition, named by its agents separated by commas in ' +
          'any order. The default value of the empty coalition "" is 0.',
      }),
    ),
    weights: Type.Optional(
      Type.Record(Type.String({ maxLength: 256 }), ValueInput, {
        maxProperties: MAX_NAMED,
        description: 'For `additive`, `max`, `min` and `threshold`: the weight of each agent.',
      }),
    ),
    quota: Type.Optional({
      ...ValueInput,
      description:
        'For `threshold`, above 0: a coalition with at least this weight has the value 1, others 0.',
    }),
    edges: Type.Optional(
      Type.Array(
        Type.Object({ from: End, to: End, weight: ValueInput }, { additionalProperties: false }),
        {
          maxItems: MAX_EDGES,
          description:
            'For `edges`: the value of a coalition is the sum of the weights of the edges between its agents.',
        },
      ),
    ),
  },
  { additionalProperties: false, ...neededBy('type', MEMBERS) },
);

type Requested = Static<typeof ValueFunction>;
const PARAM = 'value_function';

/**
 * Makes the game over the agents, in the order of the request.
 *
 * @throws ApiError 400 that names the invalid member
 */
export function gameOf(agents: readonly { readonly id: string }[], requested: Requested): Game {
  const { type, values, weights, quota, edges } = requested;
  const places = placesOf(agents, 'agents');
  const has: readonly string[] = ['type', ...MEMBERS[type]];
  const other = Object.keys(requested).find((member) => !has.includes(member));
  if (other !== undefined) refuse(`a value function of type ${type} has no ${other}`, other);
  const game = { agents: agents.length };
  switch (type) {
    case 'table':
      return { ...game, type, values: tableOf(places, values ?? {}) };
    case 'additive':
      return { ...game, type, weights: weightsOf(places, weights, true) };
    case 'max':
    case 'min':
      return { ...game, type, weights: weightsOf(places, weights, false) };
    case 'threshold': {
      const reached = millionthsOf(quota ?? 0, `${PARAM}.quota`);
      if (reached <= 0) refuse(`${PARAM}.quota is not above 0`, 'quota');
      return { ...game, type, weights: weightsOf(places, weights, false), quota: reached };
    }
    case 'edges': {
      const links = (edges ?? []).map(({ from, to, weight }, at) => {
        const param = `${PARAM}.edges.${String(at)}`;
        return [
          placeOf(places, from, `${param}.from`),
          placeOf(places, to, `${param}.to`),
          millionthsOf(weight, `${param}.weight`),
        ] as const;
      });
      checkSum(
        links.map(([, , weight]) => weight),
        'edges',
      );
      return { ...game, type, edges: links };
    }
  }
}

function tableOf(
  places: ReadonlyMap<string, number>,
  given: Readonly<Record<string, string | number>>,
): number[] {
  if (places.size > TABLE_AGENTS) {
    const agents = `${String(places.size)} agents`;
    refuse(`a table of ${agents} is too large, the limit is ${String(TABLE_AGENTS)}`, 'values');
  }
  const names = [...places.keys()];
  const values = new Map<number, number>();
  for (const [coalition, value] of Object.entries(given)) {
    const param = `${PARAM}.values.${coalition}`;
    let mask = 0;
    for (const name of coalition === '' ? [] : coalition.split(',')) {
      const bit = 1 << placeOf(places, name, param);
      if ((mask & bit) !== 0) refuse(`${param} names ${name} twice`, `values.${coalition}`);
      mask |= bit;
    }
    if (values.has(mask)) refuse(`${param} is there in another order too`, `values.${coalition}`);
    values.set(mask, millionthsOf(value, param));
  }
  const table = Array.from({ length: 2 ** places.size }, (_, mask) => {
    if (mask === 0) return values.get(0) ?? 0;
    const coalition = names.filter((_name, bit) => (mask & (1 << bit)) !== 0).join(',');
    return values.get(mask) ?? missing(`values.${coalition}`);
  });
  // A marginal contribution is the difference of two values, which must also be a safe integer.
  for (const value of table) checkSum([value, value], 'values');
  return table;
}

function weightsOf(
  places: ReadonlyMap<string, number>,
  given: Requested['weights'],
  signed: boolean,
): number[] {
  const weights = new Map(Object.entries(given ?? {}));
  for (const name of weights.keys()) placeOf(places, name, `${PARAM}.weights.${name}`);
  const read = [...places.keys()].map((name) => {
    const param = `${PARAM}.weights.${name}`;
    const weight = millionthsOf(weights.get(name) ?? missing(`weights.${name}`), param);
    if (weight < 0 && !signed) refuse(`${param} is below 0`, `weights.${name}`);
    return weight;
  });
  checkSum(read, 'weights');
  return read;
}

/** Checks that any sum of these values is a safe integer. */
function checkSum(millionths: readonly number[], member: string): void {
  const sum = millionths.reduce((total, value) => total + Math.abs(value), 0);
  if (Number.isSafeInteger(sum)) return;
  const limit = String(Math.floor(Number.MAX_SAFE_INTEGER / ONE));
  refuse(`${PARAM}.${member} are too large together, the limit is ${limit}`, member);
}

function refuse(message: string, member: string): never {
  throw new ApiError('parameter_invalid', message, { param: `${PARAM}.${member}` });
}

function missing(member: string): never {
  const param = `${PARAM}.${member}`;
  throw new ApiError('parameter_missing', `${param} is missing`, { param });
}

// General average: POST /api/v1/orn/declare. gateway/API.md §10.4, §14; York-Antwerp Rules 2016, Rules A, C, G, XVII.
//
// A sacrifice for the common safety is borne by all parties whose property it saved, in proportion to the value.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ApiError, firstOf, receiptOf, route } from '../contract/index.ts';
import type { AnsweredEntry, JsonObject, PluginHost, Route } from '../contract/index.ts';
import { AVERAGE, averageType, DOES_NOT_ASSERT, ornErrors } from './entries.ts';
import {
  apportion,
  DecimalText,
  End,
  MAX_NAMED,
  millionthsOf,
  millionthsText,
  Named,
  placeOf,
  placesOf,
  rounded,
  statedMicroUsd,
  UsdInput,
  usdText,
} from './members.ts';

/** A party's values in micro-USD. */
interface Stake {
  /** Net value that was saved. */
  readonly saved: bigint;
  /** Value of its sacrifice, which is made good to it. */
  readonly sacrificed: bigint;
}

/** The parties of an adventure and the expenditure. */
interface Average {
  readonly parties: readonly Stake[];
  /** Expenditure for the common safety, beside the sacrifices. */
  readonly expenditure: bigint;
  /** Index of the party that paid the expenditure; null if an outsider paid it. */
  readonly expenditure_by: number | null;
}

/** The adjustment; lists are by the index of the party. */
interface Adjustment {
  /** The sum of the sacrifices and the expenditure, which is made good. */
  readonly allowance: bigint;
  /** The sum of the contributory values, each saved value + made good. */
  readonly contributory: bigint;
  /** Shares of the allowance; their sum is the allowance. */
  readonly contributions: readonly bigint[];
  /** Contribution minus the amount made good to the party. A positive net is paid, a negative one received. */
  readonly nets: readonly bigint[];
  /** Net of an outsider that paid the expenditure: minus the expenditure, or 0. Together with the nets the sum is 0. */
  readonly outside: bigint;
}

/**
 * Computes the adjustment by largest remainder. The sum of the contributory values must not be 0, which the caller
 * checks.
 */
export function adjust({ parties, expenditure, expenditure_by }: Average): Adjustment {
  const values = parties.map(({ saved, sacrificed }) => saved + sacrificed);
  const contributory = values.reduce((sum, value) => sum + value, 0n);
  const allowance = parties.reduce((sum, { sacrificed }) => sum + sacrificed, expenditure);
  const contributions = apportion(allowance, values, contributory);
  const nets = parties.map(({ sacrificed }, at) => {
    const borne = at === expenditure_by ? expenditure : 0n;
    return (contributions[at] ?? 0n) - sacrificed - borne;
  });
  const outside = expenditure_by === null ? -expenditure : 0n;
  return { allowance, contributory, contributions, nets, outside };
}

const AverageAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    average_entry_id: Type.String({ format: 'uuid' }),
    allowance_usd: DecimalText,
    expenditure_usd: DecimalText,
    contributory_value_usd: DecimalText,
    rate: {
      ...DecimalText,
      description: 'Allowance divided by contributory value, rounded to 6 digits.',
    },
    parties: Type.Array(
      Type.Object({
        id: Type.String(),
        contributory_value_usd: DecimalText,
        contribution_usd: DecimalText,
        made_good_usd: DecimalText,
        net_usd: {
          ...DecimalText,
          description: 'A positive net is paid, a negative one received.',
        },
      }),
    ),
    outside_usd: {
      ...DecimalText,
      description:
        'Net of an outsider that paid the expenditure. The sum of this and of the nets is 0.',
    },
    does_not_assert: Type.Array(Type.String()),
    verify_url: Type.String({ format: 'uri' }),
    receipt: receiptOf(averageType),
  },
  { $id: 'GeneralAverage' },
);

const averageBody = ({ limits }: PluginHost) =>
  Type.Object(
    {
      peril: Type.String({
        maxLength: limits.string_chars,
        description: 'The peril that threatened all parties.',
      }),
      intentional: Type.Boolean({
        description: 'The sacrifice or expenditure was made on purpose.',
      }),
      reasonable: Type.Boolean({ description: 'The sacrifice or expenditure was reasonable.' }),
      parties: Type.Array(
        Type.Object(
          { ...Named.properties, saved_value_usd: UsdInput, sacrificed_usd: UsdInput },
          { additionalProperties: false },
        ),
        { maxItems: MAX_NAMED, description: 'The two or more parties of the common adventure.' },
      ),
      expenditure_usd: Type.Optional({
        ...UsdInput,
        description: 'Expenditure for the common safety, beside the sacrifices.',
      }),
      expenditure_by: Type.Optional({
        ...End,
        description: 'The party that paid the expenditure. Without it an outsider paid.',
      }),
    },
    { $id: 'GeneralAverageRequest' },
  );

type Request = Static<ReturnType<typeof averageBody>>;

/** The route of general average. */
export function declareRoute(host: PluginHost): Route {
  return route({
    method: 'POST',
    path: '/api/v1/orn/declare',
    tag: 'orn',
    summary: 'Declare a general average: divide a sacrifice among all parties that it saved',
    description:
      'Follows the York-Antwerp Rules 2016. A contributory value is the value saved plus the amount made good, the rate ' +
      'is the allowance divided by their sum, and the nets sum to 0. The entry has the result, and commits to ' +
      'the peril and the parties.',
    access: 'open',
    idempotent: true,
    body: averageBody(host),
    responses: { 200: { description: 'The adjustment.', schema: AverageAnswer } },
    errors: [ornErrors.general_average_conditions_unmet],
    example: {
      peril: 'a corrupted index threatened every agent of the run',
      intentional: true,
      reasonable: true,
      parties: [
        { id: 'ship', saved_value_usd: 800_000, sacrificed_usd: 0 },
        { id: 'cargo a', saved_value_usd: 0, sacrificed_usd: 100_000 },
        { id: 'cargo b', saved_value_usd: 100_000, sacrificed_usd: 0 },
      ],
    },
    async handle(ctx) {
      const { body } = ctx.state;
      const average = averageOf(body);
      checkConditions(body, average);
      const { allowance, contributory, contributions, nets, outside } = adjust(average);
      const stated = (amount: bigint): number => statedMicroUsd(amount, 'parties');
      const members: JsonObject = {
        intentional: true,
        reasonable: true,
        parties: body.parties.length,
        allowance_micro_usd: stated(allowance),
        expenditure_micro_usd: stated(average.expenditure),
        contributory_value_micro_usd: stated(contributory),
        contributions_micro_usd: contributions.map(stated),
        nets_micro_usd: nets.map(stated),
        outside_micro_usd: stated(outside),
        does_not_assert: Object.keys(DOES_NOT_ASSERT),
      };
      const { peril, parties, expenditure_by } = body;
      const by = expenditure_by === undefined ? {} : { expenditure_by };
      const inputs = { peril, parties, ...by };
      await ctx.state.append([{ type: AVERAGE, members, private: { inputs } }]);
    },
    respond(entries, _, { body }) {
      const entry = firstOf(entries);
      return { ok: true, ...averageShown(entry, averageOf(body), body), receipt: entry.receipt };
    },
  });
}

function averageOf({ parties, expenditure_usd = 0, expenditure_by }: Request): Average {
  const places = placesOf(parties, 'parties');
  return {
    parties: parties.map(({ saved_value_usd, sacrificed_usd }, at) => ({
      saved: BigInt(millionthsOf(saved_value_usd, `parties.${String(at)}.saved_value_usd`)),
      sacrificed: BigInt(millionthsOf(sacrificed_usd, `parties.${String(at)}.sacrificed_usd`)),
    })),
    expenditure: BigInt(millionthsOf(expenditure_usd, 'expenditure_usd')),
    expenditure_by:
      expenditure_by === undefined ? null : placeOf(places, expenditure_by, 'expenditure_by'),
  };
}

/**
 * Checks Rules A and C: a common peril, an intentional and reasonable act, two parties or more, and a value to share.
 */
function checkConditions(body: Request, { parties, expenditure }: Average): void {
  const given = parties.reduce((sum, { sacrificed }) => sum + sacrificed, expenditure);
  const value = parties.reduce((sum, { saved, sacrificed }) => sum + saved + sacrificed, 0n);
  const conditions: readonly (readonly [met: boolean, param: string, text: string])[] = [
    [body.peril.trim() !== '', 'peril', 'no peril is stated'],
    [body.intentional, 'intentional', 'the act was not intentional'],
    [body.reasonable, 'reasonable', 'the act was not reasonable'],
    [parties.length >= 2, 'parties', 'a common adventure has two or more parties'],
    [given > 0n, 'parties', 'there is neither a sacrifice nor an expenditure'],
    [value > 0n, 'parties', 'no party has a contributory value'],
  ];
  const unmet = conditions.filter(([met]) => !met);
  const [first] = unmet;
  if (first === undefined) return;
  const message = `no general average: ${unmet.map(([, , text]) => text).join('; ')}`;
  throw new ApiError(ornErrors.general_average_conditions_unmet, message, { param: first[1] });
}

/** The answer for an entry, with the names of the request. */
function averageShown(
  { entry_id, statement, receipt }: AnsweredEntry,
  { parties, expenditure, expenditure_by }: Average,
  body: Request,
): JsonObject {
  const contributions = statement['contributions_micro_usd'] as readonly number[];
  const nets = statement['nets_micro_usd'] as readonly number[];
  const allowance = BigInt(statement['allowance_micro_usd'] as number);
  const contributory = BigInt(statement['contributory_value_micro_usd'] as number);
  return {
    average_entry_id: entry_id,
    allowance_usd: millionthsText(allowance),
    expenditure_usd: usdText(statement['expenditure_micro_usd']),
    contributory_value_usd: millionthsText(contributory),
    rate: millionthsText(rounded(allowance * 1_000_000n, contributory)),
    parties: parties.map(({ saved, sacrificed }, at) => ({
      id: body.parties[at]?.id ?? '',
      contributory_value_usd: millionthsText(saved + sacrificed),
      contribution_usd: usdText(contributions[at]),
      made_good_usd: millionthsText(sacrificed + (at === expenditure_by ? expenditure : 0n)),
      net_usd: usdText(nets[at]),
    })),
    outside_usd: usdText(statement['outside_micro_usd']),
    does_not_assert: Object.values(DOES_NOT_ASSERT),
    verify_url: receipt.verify_url,
  };
}

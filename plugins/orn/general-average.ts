// General average: POST /api/v1/orn/declare. gateway/API.md §10.4, §14; York-Antwerp Rules 2016, Rules A, C, G, XVII.
//
// What was sacrificed for the common safety is borne by all whose property it saved, in proportion to its value.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ApiError, receiptOf, route } from '../contract/index.ts';
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
  onlyEntry,
  placeOf,
  placesOf,
  rounded,
  statedMicroUsd,
  UsdInput,
  usdText,
} from './members.ts';

/** What a party has at stake. */
interface Stake {
  /** Net value that was saved. */
  readonly saved: bigint;
  /** What it gave up for all: made good to it. */
  readonly sacrificed: bigint;
}

/** An adventure and what was given for it. */
interface Average {
  readonly parties: readonly Stake[];
  /** Expenditure for all, beside the sacrifices. */
  readonly expenditure: bigint;
  /** The place of the party that bore the expenditure; null when it is none of them. */
  readonly expenditure_by: number | null;
}

/** Who bears what, by the place of the party. */
interface Adjustment {
  /** All that is made good: the sacrifices and the expenditure. */
  readonly allowance: bigint;
  /** The sum of the contributory values, each saved value + made good. */
  readonly contributory: bigint;
  /** Shares of the allowance; their sum is the allowance. */
  readonly contributions: readonly bigint[];
  /** Contribution − what is made good to the party: above 0 it pays, below 0 it receives. */
  readonly nets: readonly bigint[];
  /** What goes to who bore the expenditure and is no party: − expenditure, or 0. With the nets its sum is 0. */
  readonly outside: bigint;
}

/**
 * Adjusts an average by largest remainder. Without any contributory value there is nobody to contribute: that is
 * no average, and the caller refuses it.
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
    rate: { ...DecimalText, description: 'Allowance by contributory value, rounded to 6 digits.' },
    parties: Type.Array(
      Type.Object({
        id: Type.String(),
        contributory_value_usd: DecimalText,
        contribution_usd: DecimalText,
        made_good_usd: DecimalText,
        net_usd: { ...DecimalText, description: 'Above 0 it pays, below 0 it receives.' },
      }),
    ),
    outside_usd: {
      ...DecimalText,
      description:
        'What goes to who bore the expenditure and is no party; the nets and it sum to 0.',
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
        description: 'What threatened all of them.',
      }),
      intentional: Type.Boolean({
        description: 'The sacrifice or expenditure was made on purpose.',
      }),
      reasonable: Type.Boolean({ description: 'It was reasonably made.' }),
      parties: Type.Array(
        Type.Object(
          { ...Named.properties, saved_value_usd: UsdInput, sacrificed_usd: UsdInput },
          { additionalProperties: false },
        ),
        { maxItems: MAX_NAMED, description: 'Two or more: the common adventure.' },
      ),
      expenditure_usd: Type.Optional({
        ...UsdInput,
        description: 'Expenditure for the common safety, beside the sacrifices.',
      }),
      expenditure_by: Type.Optional({
        ...End,
        description: 'The party that bore the expenditure; without it somebody who is no party.',
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
    summary: 'Declare a general average: an intentional sacrifice, borne by all whom it saved',
    description:
      'By the York-Antwerp Rules 2016: a contributory value is what was saved and what is made good, the rate is ' +
      'the allowance by their sum, and nets sum to 0 to the micro-USD. The entry has the result, and commits to ' +
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
      const entry = onlyEntry(entries);
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

/** Rules A and C: a peril to all, an act on purpose and with reason, a common adventure, and something to share. */
function checkConditions(body: Request, { parties, expenditure }: Average): void {
  const given = parties.reduce((sum, { sacrificed }) => sum + sacrificed, expenditure);
  const value = parties.reduce((sum, { saved, sacrificed }) => sum + saved + sacrificed, 0n);
  const conditions: readonly (readonly [met: boolean, param: string, text: string])[] = [
    [body.peril.trim() !== '', 'peril', 'no peril is stated'],
    [body.intentional, 'intentional', 'the act was not intentional'],
    [body.reasonable, 'reasonable', 'the act was not reasonable'],
    [parties.length >= 2, 'parties', 'a common adventure has two or more parties'],
    [given > 0n, 'parties', 'nothing was sacrificed or spent'],
    [value > 0n, 'parties', 'no party has any value to contribute by'],
  ];
  const unmet = conditions.filter(([met]) => !met);
  const [first] = unmet;
  if (first === undefined) return;
  const message = `no general average: ${unmet.map(([, , text]) => text).join('; ')}`;
  throw new ApiError(ornErrors.general_average_conditions_unmet, message, { param: first[1] });
}

/** An entry as its answer shows it, with the names of the request. */
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

// POST /api/v1/foundry/pipeline/run. gateway/API.md §10.7, §14.

import { Type } from 'typebox';
import classify from '../../classify/index.ts';
import { EntryId, EntryReceipt, receiptOf, route } from '../../contract.ts';
import type { PluginHost, Route } from '../../contract.ts';
import { custodyBody } from '../custody/routes.ts';
import { DecimalInput } from '../../decimal.ts';
import { lastEntry } from '../last-entry.ts';
import { ReadingsInput } from '../oracle/request.ts';
import { PipelineMembers, pipelineType } from './entries.ts';
import { runDrafts } from './steps.ts';
import type { RunRequest } from './steps.ts';
import { textCost } from '../../cost.ts';

/** The domain by whose rules the message of a run is classified. */
const DOMAIN = 'hiring';

const RunAnswer = Type.Object(
  {
    ok: Type.Boolean({ description: 'No step failed.' }),
    run_entry_id: EntryId,
    ...PipelineMembers.properties,
    receipts: Type.Array(EntryReceipt, { description: 'Of the steps, in their order.' }),
    receipt: receiptOf(pipelineType),
  },
  { $id: 'PipelineRun' },
);

/** The route of pipeline runs. */
export function pipelineRoute(host: PluginHost): Route {
  const classifier = host.use(classify);
  return route({
    method: 'POST',
    path: '/api/v1/foundry/pipeline/run',
    tag: 'foundry',
    summary: 'Run the foundry from a governed act to its settlement',
    description:
      'Physics, print, oracle, obligation, settlement, conformity, custody, clearing, stack, in one group of ' +
      'entries. It stops at the first step that fails; what was done before stays, with its receipts. Each ' +
      'step has its own toll.',
    access: 'open',
    idempotent: true,
    body: Type.Object(
      {
        message: Type.String({ minLength: 1, maxLength: host.limits.message_bytes }),
        readings: ReadingsInput,
        template_id: Type.String({ maxLength: 256 }),
        enabled_exposure_usd: Type.Optional(DecimalInput),
        category_id: Type.Optional(Type.String({ maxLength: 256 })),
        custody: Type.Optional(custodyBody(host)),
      },
      { $id: 'PipelineRunRequest' },
    ),
    responses: { 200: { description: 'What became of each step.', schema: RunAnswer } },
    errors: ['log_unavailable'],
    example: {
      message: 'The incident report is sealed',
      readings: [
        { source_id: 'net_a', value: '1.00' },
        { source_id: 'net_b', value: '1.01' },
        { source_id: 'sealed', value: '1.02' },
      ],
      template_id: 'incident_sealed',
      enabled_exposure_usd: '1000000',
      category_id: 'insurance',
      custody: { event_type: 'tokenize', asset_id: 'note-7', quantity: '1000' },
    },
    cost: ({ body }) => textCost(body.message),
    async handle(ctx) {
      const { caller } = ctx.state;
      const body: RunRequest = ctx.state.body;
      const judged = await classifier.judge(body.message, DOMAIN);
      await ctx.state.append(await runDrafts(host, caller, body, judged));
    },
    respond(entries) {
      const { statement, entry_id, receipt } = lastEntry(entries);
      const { state = '', steps = [] } = statement;
      const receipts = entries.slice(0, -1).map((entry) => entry.receipt);
      return { ok: state === 'completed', run_entry_id: entry_id, state, steps, receipts, receipt };
    },
  });
}

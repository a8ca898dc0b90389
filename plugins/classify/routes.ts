// POST /api/v1/classify: thin; the rules are in rules.ts. gateway/API.md §16.

import { Type } from 'typebox';
import {
  ActEntity,
  actingEntity,
  Millis,
  receiptMembers,
  route,
  SurfaceName,
  textCost,
} from '../contract/index.ts';
import type { PluginHost, Route } from '../contract/index.ts';
import type { Classifier } from './classifier.ts';
import { ResultMembers } from './entries.ts';
import { checkWebhookUrl, DEFAULT_DOMAIN, judge, resultDraft } from './rules.ts';

const ClassifyReceipt = Type.Object(
  { ...receiptMembers, ...ResultMembers.properties },
  { $id: 'ClassifyReceipt' },
);

/** The routes of the classifier. */
export function classifyRoutes(host: PluginHost, classifier: Classifier): readonly Route[] {
  const { limits } = host;
  const Name = Type.String({ minLength: 1, maxLength: limits.string_chars });
  const toll = host.toll('classify');
  const Body = Type.Object(
    {
      message: Type.String({
        description:
          `The text to classify. Empty, or over ${String(limits.message_bytes)} bytes of UTF-8, it is ERROR. ` +
          'It does not enter the log: the entry holds a salted commitment to it.',
      }),
      domain: Type.Optional(Type.String({ ...Name, default: DEFAULT_DOMAIN })),
      session_id: Type.Optional(Name),
      webhook_url: Type.Optional(
        Type.String({
          maxLength: 2048,
          description: 'An https address. The entry commits to it.',
        }),
      ),
      entity: ActEntity,
      surface: Type.Optional(SurfaceName),
      event_at_ms: Type.Optional(Millis),
    },
    { $id: 'ClassifyRequest' },
  );
  return [
    route({
      method: 'POST',
      path: '/api/v1/classify',
      tag: 'classify',
      summary: 'Classify a message and get a signed receipt',
      description:
        'Answers SAFE, VIOLATION, CRISIS or ERROR. A message that cannot be judged is ERROR, never SAFE. ' +
        'Every result is an entry of the log, signed and durable before it is answered.',
      access: 'key',
      idempotent: true,
      batch: true,
      flat: true,
      body: Body,
      responses: { 200: { description: 'The receipt.', schema: ClassifyReceipt } },
      errors: ['message_required', 'invalid_webhook_url', 'tenant_forbidden'],
      example: { message: 'Schedule the interview for Monday', domain: 'hiring' },
      cost: ({ body }) => textCost(body.message),
      async handle(ctx) {
        const { body, caller } = ctx.state;
        const request = {
          ...body,
          entity: await actingEntity(host.log(caller.kind), caller, body),
        };
        if (body.webhook_url !== undefined) checkWebhookUrl(body.webhook_url, host.egress);
        const judged = await judge(request, classifier, limits);
        await ctx.state.append([resultDraft(request, caller, judged, toll)]);
      },
    }),
  ];
}

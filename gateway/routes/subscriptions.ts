// /signal/trigger/subscriptions: webhook subscriptions to triggers, to classifications of the tenant and to checkpoints.
// gateway/API.md §11; Standard Webhooks.

import { Type } from 'typebox';
import { ApiError, listRoute, route } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { MAX_SUBSCRIPTIONS } from '../webhooks/subscriptions.ts';
import type { Subscription } from '../webhooks/subscriptions.ts';
import { Milliseconds } from './schemas.ts';

const TAG = 'Webhooks';
const PATH = '/signal/trigger/subscriptions';
const MAX_URL_CHARS = 2048;

const UUID = '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$';
const TriggerId = Type.String({ pattern: UUID, description: 'Of any tenant: the log is public.' });
const SubscriptionId = Type.String({ pattern: '^sub_[0-9A-Za-z]{24}$' });

const Shown = Type.Object(
  {
    id: SubscriptionId,
    url: Type.String(),
    types: Type.Array(Type.String()),
    trigger_id: Type.Optional(TriggerId),
    signed_with_secret: Type.Boolean({
      description: 'Whether messages also have a `v1` signature.',
    }),
    status: Type.Union([Type.Literal('enabled'), Type.Literal('disabled')]),
    disabled_reason: Type.Optional(
      Type.String({
        description: '`gone`: it answered 410. `unreachable`: it failed for three days.',
      }),
    ),
    created_at_ms: Milliseconds,
  },
  { $id: 'WebhookSubscription' },
);

const Made = Type.Object(
  {
    ok: Type.Literal(true),
    subscription: Shown,
    secret: Type.Optional(
      Type.String({ description: '`whsec_` and base64, 32 bytes; shown this once.' }),
    ),
  },
  { $id: 'WebhookSubscriptionMade' },
);

/** POST, GET and DELETE. */
export function subscriptionRoutes(gateway: Gateway): readonly Route[] {
  const { subscriptions, types } = gateway.webhooks;
  const { PAGE_DEFAULT: page_default, PAGE_MAX: page_max } = gateway.config;
  const limits = { page_default, page_max };
  const Order = Type.Object(
    {
      url: Type.String({ maxLength: MAX_URL_CHARS, description: 'An https address.' }),
      types: Type.Array(Type.Enum([...types]), { minItems: 1, maxItems: types.length }),
      trigger_id: Type.Optional(TriggerId),
      secret: Type.Optional(
        Type.Boolean({
          description: 'Also sign with a shared secret (`v1`) that the service makes.',
        }),
      ),
    },
    { $id: 'WebhookSubscriptionOrder' },
  );
  return [
    route({
      method: 'POST',
      path: PATH,
      tag: TAG,
      summary: 'Subscribe an address to events',
      description:
        'Messages follow Standard Webhooks, signed as `v1a` with the webhook key of /crypto/jwks.json. They come at ' +
        'least once, and those of one trigger in the order of their entries. Events are those of the tenant, or of ' +
        `one trigger with \`trigger_id\`. A tenant has at most ${String(MAX_SUBSCRIPTIONS)} in each log.`,
      access: 'key',
      body: Order,
      responses: { 200: { description: 'The subscription.', schema: Made } },
      errors: ['invalid_webhook_url', 'parameter_invalid'],
      example: { url: 'https://example.com/hook', types: [...types].slice(0, 1) },
      async handle(ctx) {
        const { body, caller } = ctx.state;
        const refusal = gateway.egress.refusal(body.url);
        if (refusal !== null) {
          throw new ApiError('invalid_webhook_url', `url ${refusal}`, { param: 'url' });
        }
        const { secret, ...subscription } = await subscriptions.add(caller, body);
        ctx.set('Cache-Control', 'no-store');
        ctx.body = {
          ok: true,
          subscription: shown({ ...subscription, ...(secret === undefined ? {} : { secret }) }),
          ...(secret === undefined ? {} : { secret }),
        };
      },
    }),
    listRoute(
      { limits },
      {
        path: PATH,
        tag: TAG,
        summary: 'Subscriptions of this tenant, oldest first',
        access: 'key',
        ...{ $id: 'WebhookSubscriptions', row: Shown, former: { data: 'subscriptions' } },
        members: { ok: Type.Literal(true) },
        places: '^\\d{16}\\.sub_[0-9A-Za-z]{24}$',
        find: ({ caller }, { after = '', limit }) =>
          subscriptions
            .of(caller)
            .filter((one) => placeOf(one) > after)
            .slice(0, limit),
        placeOf,
        shown,
        beside: () => ({ ok: true }),
      },
    ),
    route({
      method: 'DELETE',
      path: `${PATH}/{id}`,
      tag: TAG,
      summary: 'End a subscription',
      description: 'Messages that wait for it are dropped.',
      access: 'key',
      params: Type.Object({ id: SubscriptionId }),
      responses: {
        200: {
          description: 'It is gone.',
          schema: Type.Object({ ok: Type.Literal(true), id: SubscriptionId }),
        },
      },
      errors: ['resource_missing'],
      async handle(ctx) {
        const { caller, params } = ctx.state;
        if (!(await subscriptions.delete(caller, params.id))) {
          throw new ApiError('resource_missing', 'this tenant has no such subscription', {
            param: 'id',
          });
        }
        ctx.body = { ok: true, id: params.id };
      },
    }),
  ];
}

const placeOf = ({ id, created_at_ms }: Subscription): string =>
  `${String(created_at_ms).padStart(16, '0')}.${id}`;

function shown(one: Subscription): object {
  const { id, url, types, trigger_id, secret, disabled_at_ms, disabled_reason, created_at_ms } =
    one;
  return {
    id,
    url,
    types,
    ...(trigger_id === undefined ? {} : { trigger_id }),
    signed_with_secret: secret !== undefined,
    status: disabled_at_ms === undefined ? 'enabled' : 'disabled',
    ...(disabled_reason === undefined ? {} : { disabled_reason }),
    created_at_ms,
  };
}

// The console of a tenant, /console, and the routes that it needs beside those of the plugins: recent receipts, keys,
// events as they are logged, failed deliveries, and the operator's view of the service. The page has no data; its script
// asks with the key of its user. gateway/API.md §11.1, §13.

import { Type } from 'typebox';
import {
  ApiError,
  listRoute,
  Nullable,
  pageRoute,
  ROLES,
  route,
} from '../../plugins/contract/index.ts';
import type { Caller, Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import type { KeyRecord } from '../tenants/api-key.ts';
import { LETTER_PLACE } from '../webhooks/dead-letters.ts';
import { outcomeOf, statementAt } from '../search.ts';
import { clusterMembers, componentsOf, witnessesOf } from './health.ts';
import { allLogs } from './keys.ts';
import { Count, Milliseconds } from './schemas.ts';

const TAG = 'Console';

/** Every route of the console. */
export function consoleRoutes(gateway: Gateway): readonly Route[] {
  return [
    pageRoute({ path: '/console', summary: 'The console of a tenant, and of the operator' }, () =>
      gateway.page('console', {
        title: 'Console',
        description: 'What waits, what was logged and what failed, for the holder of a key.',
        here: '/console',
        scripts: ['console-page.js'],
        panels: [...gateway.plugged().console, ...OWN_PANELS],
      }),
    ),
    receiptsRoute(gateway),
    keysRoute(gateway),
    eventsRoute(gateway),
    deliveriesRoute(gateway),
    replayRoute(gateway),
    serviceRoute(gateway),
  ];
}

/** The panels of the gateway itself. */
const OWN_PANELS = [
  {
    id: 'receipts',
    title: 'Receipts',
    list: '/api/v1/receipts',
    empty: 'Nothing was logged for this tenant yet.',
    heading: 'sentence',
    receipt: 'entry_id',
    facts: [
      { name: 'Outcome', member: 'outcome' },
      { name: 'Type', member: 'type' },
      { name: 'Logged', member: 'issued_at_ms' },
    ],
  },
  {
    id: 'findings',
    title: 'Findings',
    list: '/api/v1/receipts?outcome=VIOLATION',
    empty: 'No message of this tenant was classified as a violation.',
    heading: 'sentence',
    receipt: 'entry_id',
    facts: [{ name: 'Logged', member: 'issued_at_ms' }],
  },
  {
    id: 'deliveries',
    title: 'Failed deliveries',
    list: '/signal/trigger/deliveries',
    empty: 'Every message was delivered, or is still being tried.',
    heading: 'type',
    facts: [
      { name: 'Message', member: 'id' },
      { name: 'To', member: 'to' },
      { name: 'Attempts', member: 'attempts' },
      { name: 'Why', member: 'reason' },
      { name: 'Given up', member: 'died_at_ms' },
    ],
    actions: [{ name: 'Send again', path: '/signal/trigger/deliveries/{id}/replay', body: {} }],
  },
  {
    id: 'keys',
    title: 'API keys',
    list: '/api/v1/keys',
    empty: 'This tenant has no key.',
    heading: 'key_id',
    facts: [
      { name: 'Role', member: 'role' },
      { name: 'State', member: 'state' },
      { name: 'Issued', member: 'created_at_ms' },
      { name: 'Last use', member: 'last_used_at_ms' },
    ],
  },
];

const ReceiptRow = Type.Object(
  {
    index: Count,
    entry_id: Type.String(),
    type: Type.String(),
    issued_at_ms: Milliseconds,
    outcome: Nullable(Type.String()),
    sentence: Type.String({ description: 'What the entry says.' }),
    permalink: Type.String({ format: 'uri' }),
  },
  { $id: 'RecentReceipt' },
);

function receiptsRoute(gateway: Gateway): Route {
  const { PAGE_DEFAULT: page_default, PAGE_MAX: page_max } = gateway.config;
  const filter = (description: string) =>
    Type.Optional(Type.String({ maxLength: 256, description }));
  const query = { type: filter('Only of this type.'), outcome: filter('Only with this outcome.') };
  return listRoute<number, typeof query>(
    { limits: { page_default, page_max } },
    {
      ...{ path: '/api/v1/receipts', tag: TAG, access: 'key', query, $id: 'RecentReceipts' },
      summary: 'The newest entries of this tenant',
      description: 'Published entries of the newest log of the key, without disclosures.',
      row: ReceiptRow,
      rows: 'Newest first.',
      places: '^(0|[1-9]\\d{0,14})$',
      async find({ query: { type, outcome }, caller }, { after, limit }) {
        const log = gateway.logs[caller.kind];
        const given = {
          ...(type === undefined ? {} : { type }),
          ...(outcome === undefined ? {} : { outcome }),
        };
        const facets = { ...given, tenant: caller.tenant_ref };
        const found: number[] = [];
        let before: number | null = after === undefined ? Infinity : Number(after);
        // A search looks at a bounded number of entries; it goes on until the page is full.
        while (before !== null && found.length < limit) {
          const page = { facets, before, from: 0, limit: limit - found.length };
          const result = await gateway.search.search(log, page);
          found.push(...result.indexes);
          before = result.before;
        }
        return found;
      },
      placeOf: String,
      shown(index, { caller }) {
        const log = gateway.logs[caller.kind];
        const statement = statementAt(log, index);
        const { entry_id, type, issued_at_ms } = statement;
        const { permalink = '' } = gateway.receipt(log, index) ?? {};
        return {
          ...{ index, entry_id, type, issued_at_ms, outcome: outcomeOf(statement) },
          ...{ sentence: gateway.sentence(statement), permalink },
        };
      },
    },
  );
}

const KeyRow = Type.Object(
  {
    key_id: Type.String(),
    role: Type.Enum([...ROLES]),
    scopes: Type.Array(Type.String(), { description: 'The scopes with which it was issued.' }),
    state: Type.Enum(['active', 'expired', 'revoked']),
    created_at_ms: Milliseconds,
    expires_at_ms: Nullable(Milliseconds),
    last_used_at_ms: Type.Union([Milliseconds, Type.Null()], {
      description: 'Null if the key was not used since this process started.',
    }),
  },
  { $id: 'KeyOfTenant' },
);

function keysRoute(gateway: Gateway): Route {
  const { tenants, config } = gateway;
  const placeOf = ({ created_at_ms, key_id }: KeyRecord): string =>
    `${String(created_at_ms).padStart(16, '0')}.${key_id}`;
  return listRoute(
    { limits: { page_default: config.PAGE_DEFAULT, page_max: config.PAGE_MAX } },
    {
      ...{ path: '/api/v1/keys', tag: TAG, access: 'key', $id: 'KeysOfTenant', row: KeyRow },
      summary: 'The API keys of this tenant in the log of the key',
      description:
        'Oldest first. Keys are issued, rotated and revoked by the operator (`actlog keys`).',
      rows: 'The keys, without their texts.',
      places: '^\\d{16}\\.key_[0-9A-Za-z]+$',
      find: ({ caller }, { after = '', limit }) =>
        tenants
          .list()
          .filter((key) => key.tenant === caller.tenant && key.kind === caller.kind)
          .sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
          .filter((key) => placeOf(key) > after)
          .slice(0, limit),
      placeOf,
      shown: ({ key_id, role, scopes, created_at_ms, expires_at_ms, revoked_at_ms }) => ({
        ...{ key_id, role, scopes, created_at_ms, expires_at_ms: expires_at_ms ?? null },
        state:
          revoked_at_ms !== undefined
            ? 'revoked'
            : (expires_at_ms ?? Infinity) <= gateway.now()
              ? 'expired'
              : 'active',
        last_used_at_ms: tenants.lastUse(key_id),
      }),
    },
  );
}

function eventsRoute(gateway: Gateway): Route {
  return route({
    ...{ method: 'GET', path: '/api/v1/events', tag: TAG, access: 'key' },
    summary: 'What is logged for this tenant, as it is published',
    description:
      'Server-sent events: `entry` with index, entry_id, type, outcome and sentence, and `checkpoint` with the size. A ' +
      'stream begins with what comes next and may leave out entries while the client does not read; ' +
      '`/api/v1/receipts` lists all. The key is sent as a header, so the stream is read with fetch. The request must ' +
      'accept text/event-stream.',
    responses: { 200: { description: 'The stream.', type: 'text/event-stream; charset=utf-8' } },
    handle(ctx) {
      // A client that expects an answer with an end would wait for ever.
      if (!ctx.get('Accept').includes('text/event-stream')) {
        const message = 'the answer is a stream without an end: accept text/event-stream';
        throw new ApiError('parameter_invalid', message, { param: 'Accept' });
      }
      ctx.set('Content-Type', 'text/event-stream; charset=utf-8');
      ctx.set('Cache-Control', 'no-store');
      ctx.set('X-Accel-Buffering', 'no');
      if (ctx.method === 'HEAD') {
        ctx.body = '';
        return;
      }
      const body = gateway.events.stream(ctx.state.caller);
      ctx.body = body;
      ctx.state.holds(() => body.readableLength);
    },
  });
}

const DeliveryRow = Type.Object(
  {
    id: Type.String({ description: '`msg_` and the id of the entry.' }),
    type: Type.String(),
    to: Type.String({ description: 'The id of a subscription, or `webhook_url`.' }),
    attempts: Count,
    reason: Type.String(),
    died_at_ms: Milliseconds,
  },
  { $id: 'FailedDelivery' },
);

/** Failed deliveries that the operator's view counts. */
const MAX_LETTERS = 1000;

/** Whether a message was for the caller: to a subscription of its own, or of an entry of its own. */
const isOf =
  (gateway: Gateway, caller: Caller) =>
  ({ to, tenant_ref }: { readonly to: string; readonly tenant_ref: string }): boolean =>
    to === 'webhook_url'
      ? tenant_ref === caller.tenant_ref
      : gateway.webhooks.subscriptions.of(caller).some(({ id }) => id === to);

function deliveriesRoute(gateway: Gateway): Route {
  const { config, webhooks } = gateway;
  return listRoute(
    { limits: { page_default: config.PAGE_DEFAULT, page_max: config.PAGE_MAX } },
    {
      ...{ path: '/signal/trigger/deliveries', tag: 'Webhooks', access: 'key' },
      ...{ $id: 'FailedDeliveries', row: DeliveryRow },
      summary: 'Messages to this tenant whose last attempt failed',
      description: 'In the order of their entries.',
      rows: 'The messages. They are kept for 30 days.',
      places: LETTER_PLACE,
      find({ caller }, page) {
        const { kind, tenant_ref } = caller;
        const subscriptions = webhooks.subscriptions.of(caller).map(({ id }) => id);
        return webhooks.dead.page({ kind, tenant_ref, subscriptions }, page);
      },
      placeOf: ({ place }) => place,
      shown: ({ id, type, to, attempts, reason, died_at_ms }) => {
        return { id, type, to, attempts, reason, died_at_ms };
      },
    },
  );
}

function replayRoute(gateway: Gateway): Route {
  return route({
    ...{ method: 'POST', path: '/signal/trigger/deliveries/{id}/replay', tag: 'Webhooks' },
    access: 'key',
    summary: 'Send a failed message again',
    description:
      'With all attempts before it. A subscription that was disabled is enabled. The example needs the id of a failed ' +
      'message in the path.',
    params: Type.Object({ id: Type.String({ maxLength: 64 }) }),
    bodyRequired: false,
    body: Type.Object({}, { $id: 'ReplayRequest' }),
    responses: {
      200: {
        description: 'How many messages with this id are sent again.',
        schema: Type.Object(
          {
            ok: Type.Literal(true),
            replayed: Type.Integer({ minimum: 0, description: 'Messages that are sent again.' }),
          },
          { $id: 'Replayed' },
        ),
      },
    },
    errors: ['resource_missing'],
    example: {},
    async handle(ctx) {
      const { params, caller } = ctx.state;
      const { dead } = gateway.webhooks;
      const replayed = await dead.replayOwn(params.id, caller.kind, isOf(gateway, caller));
      if (replayed === 0) {
        throw new ApiError('resource_missing', 'this tenant has no failed message of this id', {
          param: 'id',
        });
      }
      ctx.body = { ok: true, replayed };
    },
  });
}

const ServiceAnswer = Type.Object(
  {
    logs: Type.Array(
      Type.Object({
        origin: Type.String(),
        size: Count,
        published_size: Type.Integer({ description: 'Size of the newest checkpoint.' }),
        published_at_ms: Milliseconds,
        waiting: Type.Integer({ description: 'Entries without a checkpoint.' }),
        writable: Type.Boolean({ description: 'Whether its storage takes entries.' }),
        indexed: Type.Integer({ description: 'Entries in the search index.' }),
      }),
    ),
    witnesses: Type.Array(Type.Object({}), { description: 'As /health shows them.' }),
    components: Type.Array(
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        fault: Type.Union([Type.String(), Type.Null()], { description: 'Null if the part works.' }),
      }),
    ),
    replication: Type.Object(
      {
        role: Type.Optional(Type.Enum(['leader', 'follower'])),
        leader: Type.Optional(
          Type.Union([Type.String(), Type.Null()], {
            description: 'The address of the leader; null while none is known.',
          }),
        ),
        applied: Type.Optional(
          Type.Record(Type.String(), Count, { description: 'The size of each log on this node.' }),
        ),
        lag_ms: Type.Optional(Count),
      },
      { description: 'As /readyz shows it in a cluster; empty for a service of one process.' },
    ),
    uploads: Type.Array(
      Type.Object({
        log: Type.String(),
        size: Type.Integer({ description: 'Size of the newest checkpoint in the object store.' }),
        lag_entries: Type.Integer({
          description: 'Published entries that the object store lacks.',
        }),
        stopped: Type.Boolean({
          description: 'Whether uploads stopped, because the object store has another history.',
        }),
      }),
      { description: 'Uploads to the object store, if the service has one.' },
    ),
    failed_deliveries: Type.Integer({ description: 'Up to 1,000 are counted.' }),
    event_streams: Type.Integer({ description: 'Open streams of /api/v1/events.' }),
    uptime_ms: Type.Integer({ description: 'Since the start of the process.' }),
  },
  { $id: 'ServiceState' },
);

function serviceRoute(gateway: Gateway): Route {
  return route({
    ...{ method: 'GET', path: '/api/v1/service', tag: TAG, access: { roles: ['service'] } },
    summary: 'The state of the service, for its operator',
    description:
      'Logs, checkpoints, witnesses with their last cosignature, replication, queues, and faults.',
    responses: { 200: { description: 'The state.', schema: ServiceAnswer } },
    async handle(ctx) {
      ctx.set('Cache-Control', 'no-store');
      ctx.body = {
        logs: allLogs(gateway).map((log) => {
          const { size, published_at_ms } = log.published();
          const { waiting, writable } = log.health();
          return {
            ...{ origin: log.origin, size: log.size(), published_size: size, published_at_ms },
            ...{ waiting, writable, indexed: gateway.search.indexed(log) },
          };
        }),
        witnesses: witnessesOf(gateway),
        replication: clusterMembers(gateway),
        uploads: (gateway.uploads?.states() ?? []).map(({ log, size, stopped }) => {
          const lag_entries = Math.max(0, log.published().size - size);
          return { log: log.origin, size, lag_entries, stopped };
        }),
        components: componentsOf(gateway).map(({ id, name, fault }) => ({ id, name, fault })),
        failed_deliveries: (await gateway.webhooks.dead.list(MAX_LETTERS)).length,
        event_streams: gateway.events.open,
        uptime_ms: Math.round(gateway.uptimeMs()),
      };
    },
  });
}

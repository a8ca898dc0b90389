// The messages that the service posts: one operation for each event, with its payload and headers.
// OpenAPI 3.1.0 §4.8.1 (webhooks); Standard Webhooks; gateway/API.md §11.

import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import type { JsonObject } from '../../log/index.ts';
import { receiptOf } from '../../plugins/contract/index.ts';
import type { AnyEntryType, EventRule } from '../../plugins/contract/index.ts';
import { CHECKPOINT_PUBLISHED } from '../webhooks/subscriptions.ts';
import type { SchemaComponents } from './schemas.ts';

/** The headers of each message. */
const HEADERS: Readonly<Record<string, JsonObject>> = {
  'webhook-id': {
    name: 'webhook-id',
    in: 'header',
    required: true,
    description:
      'Names the message: `msg_` and the id of the entry. It is the same at each attempt; remember it, since delivery ' +
      'is at least once.',
    schema: { type: 'string', pattern: '^msg_[0-9a-f-]{36}$' },
  },
  'webhook-timestamp': {
    name: 'webhook-timestamp',
    in: 'header',
    required: true,
    description: 'Seconds of UTC at which this attempt was signed.',
    schema: { type: 'integer', minimum: 0 },
  },
  'webhook-signature': {
    name: 'webhook-signature',
    in: 'header',
    required: true,
    description:
      'Signatures over `<webhook-id>.<webhook-timestamp>.<body>`, with a space between them: `v1a,` and the base64 of ' +
      'Ed25519 by a key of purpose `webhook` in /crypto/jwks.json; with a secret also `v1,` and HMAC-SHA256.',
    schema: { type: 'string', pattern: '^v1a?,[A-Za-z0-9+/=]+( v1a?,[A-Za-z0-9+/=]+)*$' },
  },
};

const RESPONSES = {
  '2XX': { description: 'Received. Any other answer but 410 is retried for three days.' },
  '410': { description: 'Ends the subscription.' },
};

const CheckpointData = Type.Object(
  {
    origin: Type.String({ description: 'The origin of the log.' }),
    size: Type.Integer({ minimum: 1, description: 'How many entries the checkpoint covers.' }),
    root: Type.String({ description: 'The root hash of the tree of that size, base64.' }),
    checkpoint: Type.String({ description: 'The checkpoint: a signed note.' }),
    url: Type.String({ format: 'uri', description: 'Where the newest checkpoint is read.' }),
  },
  { description: 'The checkpoint, as it was published.' },
);

/** The parameters that all messages have, for the components of the document. */
export const webhookParameters: Readonly<Record<string, JsonObject>> = HEADERS;

/** One operation for each event, by its name. */
export function webhooksOf(
  rules: readonly EventRule[],
  types: readonly AnyEntryType[],
  components: SchemaComponents,
): JsonObject {
  const webhooks: Record<string, JsonObject> = {};
  for (const { entry, events, when } of rules) {
    const type = types.find(({ name }) => name === entry);
    for (const event of events) {
      const data = entryData(type === undefined ? undefined : receiptOf(type));
      webhooks[event] = message(
        event,
        when ?? `An entry ${entry} is this event.`,
        data,
        components,
      );
    }
  }
  webhooks[CHECKPOINT_PUBLISHED] = message(
    CHECKPOINT_PUBLISHED,
    'A checkpoint is published.',
    CheckpointData,
    components,
  );
  return Object.fromEntries(Object.entries(webhooks).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** What a message says of an entry; a receipt that would make it larger than 20 kB is left out. */
function entryData(receipt: TSchema | undefined): TSchema {
  return Type.Object(
    {
      entry_id: Type.String({ format: 'uuid', description: 'The entry that is the event.' }),
      permalink: Type.String({ format: 'uri', description: 'The page of the receipt.' }),
      verify_url: Type.String({ format: 'uri', description: 'Where the receipt is verified.' }),
      ...(receipt === undefined ? {} : { receipt: Type.Optional(receipt) }),
    },
    {
      description:
        'The entry with its public receipt, which never has disclosures. A receipt that would make the message ' +
        'larger than 20 kB is left out.',
    },
  );
}

function message(
  event: string,
  when: string,
  data: TSchema,
  components: SchemaComponents,
): JsonObject {
  const payload = Type.Object({
    type: Type.Literal(event, { description: 'The event.' }),
    timestamp: Type.String({
      format: 'date-time',
      description: 'When the event happened, in UTC.',
    }),
    data,
  });
  return {
    post: {
      operationId: `webhook_${event.replaceAll('.', '_')}`,
      tags: ['Webhooks'],
      summary: when,
      security: [],
      parameters: Object.keys(HEADERS).map((name) => ({ $ref: `#/components/parameters/${name}` })),
      requestBody: {
        required: true,
        content: { 'application/json': { schema: components.use(payload) } },
      },
      responses: RESPONSES,
    },
  };
}

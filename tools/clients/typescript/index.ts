// The client of the HTTP interface (gateway/API.md): `import { Client } from 'actlog/client'`. Read client.ts first;
// requests.ts sends, answers.ts verifies, webhooks.ts opens messages, operations.ts has the types.

export { Client } from './client.ts';
export type { ClientOptions, LogKind } from './client.ts';
export { ApiError, ConnectionFailed, Unverified } from './errors.ts';
export type {
  AnswerOf,
  BodyOf,
  Input,
  ListPath,
  Method,
  PathOf,
  QueryOf,
  RowOf,
} from './operations.ts';
export type { CallOptions } from './requests.ts';
export { openWebhook, webhookKeys } from './webhooks.ts';
export type { WebhookMessage, WebhookTrust } from './webhooks.ts';

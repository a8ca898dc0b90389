// POST /api/v1/inference/chat/completions. gateway/API.md §10.8; OpenAI API, Chat Completions.

import { Type } from 'typebox';
import { ApiError, EntryId, Hex32, isJsonObject, receiptOf, route } from '../../contract/index.ts';
import type { Json, JsonObject, PluginHost, Route, RouteContext } from '../../contract/index.ts';
import { foundryErrors, lastEntry } from '../entries.ts';
import {
  chunksOf,
  failureOf,
  PROOF_TRAILER,
  proofOf,
  relay,
  Relay,
  SEAL_MODEL,
  sealDraft,
  suppliedCompletion,
} from './seal.ts';
import type { Outcome } from './entries.ts';
import { ask, Patience, upstreamOf } from './upstream.ts';
import type { Exchange, Streaming, UpstreamOptions } from './upstream.ts';
import { sealType } from './entries.ts';

const completionBody = ({ limits }: PluginHost) => {
  const Text = Type.String({ minLength: 1, maxLength: limits.string_chars });
  return Type.Object(
    {
      model: Text,
      messages: Type.Array(Type.Object({ role: Text }), { minItems: 1 }),
      stream: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
      stream_options: Type.Optional(Type.Union([Type.Object({}), Type.Null()])),
      session_id: Type.Optional({
        ...Text,
        description: 'Whose chain the exchange goes to; `metadata.session_id` is taken too.',
      }),
      metadata: Type.Optional(Type.Union([Type.Object({}), Type.Null()])),
    },
    {
      $id: 'ChatCompletionRequest',
      description: 'Other members are passed to the upstream as they are.',
      additionalProperties: true,
    },
  );
};

const CompletionAnswer = Type.Object(
  {
    object: Type.String(),
    choices: Type.Array(Type.Unknown()),
    proof: Type.Object({
      entry_id: EntryId,
      session_root: Hex32,
      session_size: Type.Integer({ minimum: 1 }),
      outcome: Type.String(),
      request_hash: Hex32,
      response_hash: Hex32,
      verify_url: Type.String({ format: 'uri' }),
    }),
    receipt: receiptOf(sealType),
  },
  {
    $id: 'SealedCompletion',
    description: 'The completion as it came, and the proof of it.',
    additionalProperties: true,
  },
);

interface CompletionRequest {
  readonly model: string;
  readonly messages: readonly object[];
  readonly stream?: boolean | null;
  readonly stream_options?: { readonly include_usage?: unknown } | null;
  readonly session_id?: string;
  readonly metadata?: object | null;
}

/** The route of inference. */
export function inferenceRoute(host: PluginHost): Route {
  const upstream = upstreamOf(host.settings, host.egress.configured);
  return route({
    method: 'POST',
    path: '/api/v1/inference/chat/completions',
    tag: 'foundry',
    summary: 'Pass a chat completion on, and seal the exchange',
    description:
      'OpenAI-compatible, whole or as server-sent events. The last chunk of a stream with `choices` brings the ' +
      `proof, and the trailer ${PROOF_TRAILER} repeats it. The model ${SEAL_MODEL} seals the assistant message that the request ends with. However the ` +
      'upstream fails, that is sealed too. The entry commits to request and response, and holds the root of ' +
      'the session’s exchanges.',
    access: 'open',
    idempotent: true,
    body: completionBody(host),
    responses: {
      200: {
        description: 'A chat.completion, or a stream of chunks.',
        schema: CompletionAnswer,
        formats: ['text/event-stream'],
      },
    },
    errors: ['api_key_missing', 'upstream_error', foundryErrors.inference_upstream_unconfigured],
    example: {
      model: SEAL_MODEL,
      messages: [
        { role: 'user', content: 'Is the applicant shortlisted?' },
        { role: 'assistant', content: 'A person will decide that.' },
      ],
      session_id: 'interview-42',
    },
    async handle(ctx) {
      const body: CompletionRequest = ctx.state.body;
      const streams = body.stream === true;
      if (streams && ctx.get('Idempotency-Key') !== '') {
        const message = 'a stream cannot be replayed: leave out the Idempotency-Key or stream';
        throw new ApiError('invalid_idempotency_key', message, { param: 'Idempotency-Key' });
      }
      if (body.model === SEAL_MODEL) await supplied(host, ctx, body);
      else await proxied(host, ctx, body, upstream);
    },
    respond(entries, disclosures, _, kept) {
      const entry = lastEntry(entries);
      const shown = proofOf(entry);
      if (kept instanceof Relay) throw kept.sealedAs(shown);
      const exchange = (kept ?? null) as Exchange | null;
      const { outcome, upstream_status } = entry.statement;
      if (outcome !== 'completed') {
        const ended = outcome as Exclude<Outcome, 'completed'>;
        const status = upstream_status as number | undefined;
        throw failureOf(ended, status, exchange?.retry_after, shown);
      }
      const held = disclosures.at(-1)?.['exchange']?.value ?? null;
      const response = exchange?.response ?? (isJsonObject(held) ? held['response'] : null);
      // Of `public` nothing is kept: a replay has the proof alone.
      const completion = isJsonObject(response) ? response : NOT_KEPT;
      return { ...completion, ...shown };
    },
  });
}

const NOT_KEPT: JsonObject = { object: 'chat.completion', choices: [] };

const sessionOf = ({ session_id, metadata }: CompletionRequest): string | undefined => {
  if (session_id !== undefined) return session_id;
  const named = (metadata as { readonly session_id?: unknown } | null | undefined)?.session_id;
  return typeof named === 'string' && named !== '' && named.length <= 512 ? named : undefined;
};

async function supplied(
  host: PluginHost,
  ctx: RouteContext,
  body: CompletionRequest,
): Promise<void> {
  const messages = body.messages as readonly JsonObject[];
  const completion = suppliedCompletion(messages, host.now());
  if (body.stream !== true) {
    await seal(host, ctx, body, { outcome: 'completed', response: completion });
    return;
  }
  const chunks = chunksOf(completion, body.stream_options?.include_usage === true);
  const streaming: Streaming = {
    status: 200,
    async chunks(pass) {
      for (const chunk of chunks) await pass(chunk, JSON.stringify(chunk));
      return { outcome: 'completed', response: chunks };
    },
  };
  await relay(ctx, streaming, () => undefined, sealerOf(host, ctx, body));
}

async function proxied(
  host: PluginHost,
  ctx: RouteContext,
  body: CompletionRequest,
  upstream: UpstreamOptions | null,
): Promise<void> {
  if (upstream === null) {
    const message = `no upstream is configured (INFERENCE_UPSTREAM_URL); ${SEAL_MODEL} needs none`;
    throw new ApiError(foundryErrors.inference_upstream_unconfigured, message);
  }
  if (ctx.state.caller.key_id === null && host.settings['INFERENCE_ANONYMOUS'] !== 'allow') {
    throw new ApiError(
      'api_key_missing',
      `the upstream needs an API key; ${SEAL_MODEL} needs none`,
    );
  }
  // Ours, and no upstream knows it.
  const { session_id: _, ...passed } = body as unknown as Record<string, Json>;
  const patience = new Patience(upstream.timeout_ms);
  const answer = await ask(upstream, passed, patience);
  if (!('chunks' in answer)) {
    await seal(host, ctx, body, answer);
    return;
  }
  const left = (): void => {
    patience.end('client_gone');
  };
  await relay(ctx, answer, left, sealerOf(host, ctx, body));
}

const sealing = (ctx: RouteContext, body: CompletionRequest, exchange: Exchange) => ({
  caller: ctx.state.caller,
  session_id: sessionOf(body),
  model: body.model,
  source: body.model === SEAL_MODEL ? ('caller' as const) : ('upstream' as const),
  streamed: body.stream === true,
  request: body as unknown as JsonObject,
  exchange,
});

async function seal(
  host: PluginHost,
  ctx: RouteContext,
  body: CompletionRequest,
  exchange: Exchange,
): Promise<void> {
  const keep = { now: exchange, later: (): Json => null };
  await ctx.state.append([sealDraft(host, sealing(ctx, body, exchange))], { keep });
}

/** Seals what a stream came to; `respond` hands the proof to the relay. */
function sealerOf(host: PluginHost, ctx: RouteContext, body: CompletionRequest) {
  return async (exchange: Exchange, to: Relay): Promise<void> => {
    const keep = { now: to, later: (): Json => null };
    await ctx.state.append([sealDraft(host, sealing(ctx, body, exchange))], { keep });
  };
}

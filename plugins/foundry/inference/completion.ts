// Completions that the caller supplies and this service only seals: the model svc-seal-1. gateway/API.md §10.8.

import { randomUUID } from 'node:crypto';
import { isJsonObject } from '../../../log/index.ts';
import { ApiError } from '../../contract.ts';
import type { Json, JsonObject } from '../../contract.ts';

/** The model that seals what the caller brings. */
export const SEAL_MODEL = 'svc-seal-1';

/** The last message as a completion. 400 where it is no assistant's text. */
export function suppliedCompletion(messages: readonly JsonObject[], now_ms: number): JsonObject {
  const last = messages.at(-1);
  const content = last?.['content'];
  if (last?.['role'] !== 'assistant' || typeof content !== 'string') {
    const message = `${SEAL_MODEL} seals a completion: the last message must be the assistant's text`;
    throw new ApiError('parameter_invalid', message, { param: 'messages' });
  }
  return {
    id: `chatcmpl-${randomUUID()}`,
    object: 'chat.completion',
    created: Math.floor(now_ms / 1000),
    model: SEAL_MODEL,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content, refusal: null },
        finish_reason: 'stop',
        logprobs: null,
      },
    ],
    // Nothing was generated here, so nothing was counted.
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  };
}

/** The chunks of a completion that is there whole. */
export function chunksOf(completion: JsonObject): JsonObject[] {
  const { id = '', created = 0, model = '', choices } = completion;
  const [choice] = choices as unknown as readonly [{ message: { content: string } }];
  const chunk = (delta: JsonObject, finish_reason: Json): JsonObject => ({
    ...{ id, object: 'chat.completion.chunk', created, model },
    choices: [{ index: 0, delta, finish_reason, logprobs: null }],
  });
  const { content } = choice.message;
  return [chunk({ role: 'assistant', content }, null), chunk({}, 'stop')];
}

/** A chunk without choices that brings the proof, as `stream_options.include_usage` brings the usage. */
export function proofChunk(chunks: readonly Json[], proof: JsonObject): JsonObject {
  const last = chunks.findLast(isJsonObject) ?? {};
  const { id = 'chatcmpl', created = 0, model = '' } = last;
  return { id, object: 'chat.completion.chunk', created, model, choices: [], ...proof };
}

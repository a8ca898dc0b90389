// A local OpenAI-compatible upstream for tests. The name of the model selects its behaviour.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { listening } from '../../support/listening.ts';
import type { Listening } from '../../support/listening.ts';

/** A running upstream. */
export interface Upstream extends Listening {
  /** Received bodies, oldest first. */
  readonly bodies: Record<string, unknown>[];
  readonly authorizations: (string | undefined)[];
}

const chunk = (content: string | null, finish_reason: string | null = null): string =>
  JSON.stringify({
    ...{ id: 'chatcmpl-up', object: 'chat.completion.chunk', created: 1, model: 'up-1' },
    choices: [
      { index: 0, delta: content === null ? {} : { role: 'assistant', content }, finish_reason },
    ],
  });

const usage = JSON.stringify({
  ...{ id: 'chatcmpl-up', object: 'chat.completion.chunk', created: 1, model: 'up-1', choices: [] },
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
});

const completion = (content: string): string =>
  JSON.stringify({
    ...{ id: 'chatcmpl-up', object: 'chat.completion', created: 1, model: 'up-1' },
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  });

/** JSON nested too deeply for a recursive parser. */
const deep = '['.repeat(300_000) + ']'.repeat(300_000);

/** Starts an upstream. */
export async function startUpstream(): Promise<Upstream> {
  const bodies: Record<string, unknown>[] = [];
  const authorizations: (string | undefined)[] = [];
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = [];
    for await (const piece of req) pieces.push(piece as Buffer);
    const body = JSON.parse(Buffer.concat(pieces).toString()) as Record<string, unknown>;
    bodies.push(body);
    authorizations.push(req.headers.authorization);
    const json = (status: number, text: string): void => {
      res.writeHead(status, { 'content-type': 'application/json', 'retry-after': '7' }).end(text);
    };
    switch (body['model']) {
      case 'hangs':
        return;
      case 'garbage':
        json(200, '<html>not what you asked for');
        return;
      case 'deep':
        json(200, `{"choices":[${deep}]}`);
        return;
      case 'empty':
        json(200, '{}');
        return;
      case 'dies':
        res.writeHead(200, { 'content-type': 'application/json', 'content-length': '999' });
        res.write('{"choices":', () => res.destroy());
        return;
      case 'busy':
        json(429, '{"error":{"message":"slow down"}}');
        return;
      case 'unknown':
        json(404, '{"error":{"message":"no such model"}}');
        return;
      case 'broken':
        json(500, '{"error":{"message":"a secret of the operator"}}');
        return;
      case 'elsewhere':
        res.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
        return;
      case 'huge':
        json(200, completion('x'.repeat(2_000_000)));
        return;
    }
    if (body['stream'] !== true) {
      json(200, completion('Hello there'));
      return;
    }
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(`: a comment\n\ndata: ${chunk('Hel')}\n\nda`);
    await new Promise((resolve) => setImmediate(resolve));
    res.write(`ta: ${chunk('lo')}\n\n`);
    if (body['model'] === 'stream-hangs') return;
    if (body['model'] === 'stream-dies') {
      res.destroy();
      return;
    }
    if (body['model'] === 'stream-deep') res.write(`data: {"choices":[${deep}]}\n\n`);
    if (body['model'] === 'stream-endless') {
      res.write('data:\n'.repeat(400_000));
      return;
    }
    if (body['model'] === 'stream-garbage') res.write('data: {"cut\n\n');
    if (body['model'] !== 'stream-bare') res.write(`data: ${chunk(null, 'stop')}\n\n`);
    const options = body['stream_options'] as { readonly include_usage?: boolean } | undefined;
    if (options?.include_usage === true) res.write(`data: ${usage}\n\n`);
    res.end('data: [DONE]\n\n');
  };
  const { url, close } = await listening((req, res) => {
    void answer(req, res).catch(() => res.destroy());
  });
  return { url: `${url}/v1`, bodies, authorizations, close };
}

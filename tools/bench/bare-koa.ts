// The bare server that the service is measured against: Koa alone, run as a process of its own. GET answers
// a small JSON or, at /bytes/<n>, n bytes; POST parses a JSON body and sends it back.

import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';

const app = new Koa();
const bytes = Buffer.alloc(65_536, 7);

app.use(async (ctx) => {
  if (ctx.method === 'POST') {
    ctx.body = JSON.parse(await textOf(ctx.req)) as object;
  } else if (ctx.path.startsWith('/bytes/')) {
    ctx.type = 'application/octet-stream';
    ctx.body = bytes.subarray(0, Number(ctx.path.slice('/bytes/'.length)));
  } else {
    ctx.body = { ok: true };
  }
});

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(`serves http://127.0.0.1:${String(port)}`);
});

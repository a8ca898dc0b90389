// Small services that protect an act as users would write them, with Express, Koa and a fetch handler. Each counts
// how often the act was done.

import { text } from 'node:stream/consumers';
import express from 'express';
import Koa from 'koa';
import { requireReceipt } from '../../../plugins/require-receipt/middleware.ts';
import type {
  DeclaredAction,
  GuardOptions,
  Permit,
} from '../../../plugins/require-receipt/middleware.ts';
import { listening } from '../../support/listening.ts';
import type { Listening } from '../../support/listening.ts';

/** A listening service. */
export interface Service extends Listening {
  /** The number of acts done. */
  done(): number;
}

export const REFUND: DeclaredAction = {
  id: 'refund',
  action_type: 'payment.refund',
  method: 'POST',
  path: '/refunds',
  description: 'Pays a customer back.',
  example: { order: 'A-7', amount: 12.5 },
};

export async function expressService(options: GuardOptions): Promise<Service> {
  let acts = 0;
  const receipts = requireReceipt(options);
  const refund = receipts.protect(REFUND);
  const app = express();
  app.post('/refunds', express.json(), refund.express(), (_req, res) => {
    acts++;
    res.json({ ok: true, under: (res.locals['permit'] as Permit).entry_id });
  });
  app.post('/unparsed', receipts.protect({ ...REFUND, id: 'unparsed' }).express(), (_req, res) => {
    res.json({ ok: true });
  });
  app.get('/.well-known/agent-actions.json', (_req, res) => {
    res.json(receipts.manifest());
  });
  // The stack of an expected error is not printed.
  app.use(((_error, _req, res, _next) => {
    res.status(500).end();
  }) as express.ErrorRequestHandler);
  return { ...(await listening(app)), done: () => acts };
}

export async function koaService(options: GuardOptions): Promise<Service> {
  let acts = 0;
  const receipts = requireReceipt(options);
  const refund = receipts.protect(REFUND).koa();
  const app = new Koa();
  app.use(async (ctx, next) => {
    if (ctx.path === '/.well-known/agent-actions.json') {
      ctx.body = receipts.manifest();
      return;
    }
    const body = await text(ctx.req);
    (ctx.request as { body?: unknown }).body = body === '' ? undefined : JSON.parse(body);
    await next();
  });
  app.use(refund);
  app.use((ctx) => {
    acts++;
    ctx.body = { ok: true, under: (ctx.state['permit'] as Permit).entry_id };
  });
  return { ...(await listening(app.callback())), done: () => acts };
}

export async function fetchService(options: GuardOptions): Promise<Service> {
  let acts = 0;
  const receipts = requireReceipt(options);
  const refund = receipts.protect(REFUND).fetch(async (request, permit) => {
    acts++;
    await request.json();
    return Response.json({ ok: true, under: permit.entry_id });
  });
  // Elsewhere the platform calls the fetch handler; here a server of node:http does.
  const served = await listening((incoming, outgoing) => {
    const answer = async (): Promise<void> => {
      const { method = 'GET', url = '/' } = incoming;
      const body = await text(incoming);
      const request = new Request(`http://service.example${url}`, {
        method,
        headers: incoming.headers as Record<string, string>,
        ...(body === '' ? {} : { body }),
      });
      const response =
        url === '/.well-known/agent-actions.json'
          ? Response.json(receipts.manifest())
          : await refund(request);
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      outgoing.end(await response.text());
    };
    answer().catch(() => outgoing.writeHead(500).end());
  });
  return { ...served, done: () => acts };
}

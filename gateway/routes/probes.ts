// What an orchestrator or a load balancer asks every few seconds: whether the process answers, and whether it should
// get traffic. gateway/API.md §13.

import { Type } from 'typebox';
import { ApiError, route } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { degradedOf } from './health.ts';

const TAG = 'Platform';

const Live = Type.Object({ status: Type.Literal('ok') }, { $id: 'Live' });

const Ready = Type.Object(
  {
    ready: Type.Literal(true),
    degraded: Type.Array(Type.String(), { description: 'As in /health.' }),
    reasons: Type.Array(Type.String(), { description: 'As in /health.' }),
  },
  { $id: 'Ready' },
);

/** /livez and /readyz. */
export function probeRoutes(gateway: Gateway): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/livez',
      tag: TAG,
      summary: 'Whether the process answers',
      description: 'Looks at nothing else: restart the process when it does not answer.',
      access: 'read',
      budget: 'none',
      responses: { 200: { description: 'The process answers.', schema: Live } },
      handle(ctx) {
        ctx.set('Cache-Control', 'no-store');
        ctx.body = { status: 'ok' };
      },
    }),
    route({
      method: 'GET',
      path: '/readyz',
      tag: TAG,
      summary: 'Whether the service should get traffic',
      description:
        '503 while the service stops. A service whose live log takes no entries goes on answering reads and stays ' +
        'ready, with the reasons; with `for=writes` it is then not ready.',
      access: 'read',
      budget: 'none',
      query: Type.Object({
        for: Type.Optional(
          Type.Union([Type.Literal('reads'), Type.Literal('writes')], {
            description: 'What the traffic is; reads unless given.',
          }),
        ),
      }),
      responses: { 200: { description: 'Ready.', schema: Ready } },
      errors: ['not_ready'],
      handle(ctx) {
        const degraded = degradedOf(gateway);
        const members = {
          degraded: degraded.map(({ id }) => id),
          reasons: degraded.map(({ fault }) => fault),
        };
        const why = gateway.stopping()
          ? 'the service stops'
          : ctx.state.query.for === 'writes' && members.degraded.includes('live_log')
            ? 'the live log takes no entries'
            : null;
        if (why !== null) throw new ApiError('not_ready', why, { members });
        ctx.set('Cache-Control', 'no-store');
        ctx.body = { ready: true, ...members };
      },
    }),
  ];
}

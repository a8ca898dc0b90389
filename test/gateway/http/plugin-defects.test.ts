// Defects of a handler: the client always gets the 500 envelope, and the log of the service says what the author must fix. gateway/API.md §4.1.

import assert from 'node:assert/strict';
import { ApiError, definePlugin, route } from '../../../plugins/contract/index.ts';
import type { Route } from '../../../plugins/contract/index.ts';
import { run } from '../running.ts';
import type { Running } from '../running.ts';
import { codeOf } from './envelope.ts';

const at = (path: string, handle: Route['handle'], more: Partial<Route> = {}): Route =>
  route({
    method: 'GET',
    path,
    tag: 'faulty',
    summary: 'Fails',
    access: 'read',
    responses: { 200: { description: 'ok', type: 'text/plain' } },
    handle,
    ...more,
  });

const failing =
  (code: string, headers = {}) =>
  (): never => {
    throw new ApiError(code as never, 'a message', { headers });
  };

const ROUTES: readonly Route[] = [
  at('/faulty/unknown-code', failing('nope')),
  at('/faulty/inherited-code', failing('constructor')),
  at('/faulty/header', failing('resource_missing', { Allow: 'line\nbreak' })),
  at('/faulty/form', failing('resource_missing'), {
    problem: () => {
      throw new Error('no form');
    },
  }),
  at('/faulty/nothing', () => ({ returned: 'not set' })),
  at('/faulty/null-is-204', (ctx) => (ctx.body = null)),
  at('/faulty/204', (ctx) => (ctx.status = 204)),
  at('/faulty/304', (ctx) => (ctx.status = 304)),
  at('/faulty/redirect', (ctx) => {
    ctx.redirect('/health');
  }),
  at('/faulty/empty', (ctx) => (ctx.body = '')),
  at('/faulty/by-itself', (ctx) => {
    ctx.respond = false;
    ctx.res.writeHead(200).end('sent');
  }),
];

describe('a defect of a plugin', () => {
  let running: Running;
  const lines: string[] = [];
  before(async () => {
    const plugin = definePlugin({
      contract: 1,
      name: 'faulty',
      title: 'Faulty',
      types: [],
      routes: () => ROUTES,
    });
    running = await run({}, { plugins: [plugin], lines: (line) => lines.push(line) });
  });
  after(() => running.close());

  const defect = async (path: string, told: RegExp): Promise<void> => {
    const answer = await running.get(path);
    assert.equal(codeOf(answer, 500), 'internal_error');
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    const id = String(answer.headers.get('x-request-id'));
    const line = lines.find((one) => one.includes(id) && one.includes('internal_error'));
    assert.match(line ?? '', told);
    assert.ok(line?.includes(path), line);
  };

  it('is answered with the envelope if an ApiError has an undeclared code, and the log names it', async () => {
    await defect(
      '/faulty/unknown-code',
      /the code nope, which the plugin does not declare: a message/,
    );
    await defect(
      '/faulty/inherited-code',
      /the code constructor, which the plugin does not declare/,
    );
  });

  it('is answered with the envelope if the error itself cannot be serialised', async () => {
    await defect('/faulty/header', /could not be answered.*invalid character/i);
    await defect('/faulty/form', /could not be answered.*no form/);
  });

  it('is answered with the envelope if the handler returns nothing', async () => {
    await defect('/faulty/nothing', /the handler set no answer/);
    assert.equal((await running.ask('HEAD', '/faulty/nothing')).status, 500);
  });

  it('is not an answer that has no body by its declaration, or that the handler sends itself', async () => {
    const status = async (path: string): Promise<number> =>
      (await fetch(running.url + path, { redirect: 'manual' })).status;
    assert.equal(await status('/faulty/null-is-204'), 204);
    assert.equal(await status('/faulty/204'), 204);
    assert.equal(await status('/faulty/304'), 304);
    assert.equal(await status('/faulty/redirect'), 302);
    assert.equal(await status('/faulty/empty'), 200);
    assert.equal((await running.get('/faulty/by-itself')).text, 'sent');
  });
});

// Pages of a plugin: a folder of views, files under /static/, items of the menu, and routes for visitors.

import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Type } from 'typebox';
import { definePlugin, pageRoute, route } from '../../../plugins/contract/index.ts';
import type { Plugin, Setup } from '../../../plugins/contract/index.ts';
import { run } from '../running.ts';
import type { Running } from '../running.ts';

const folder = mkdtempSync(join(tmpdir(), 'actlog-pages-'));
writeFileSync(
  join(folder, 'board.eta'),
  "<% layout('@layout') %><h1><%= it.text %></h1><p id=asset><%= it.asset('board.css') %></p>",
);
writeFileSync(join(folder, 'board.css'), 'h1 { color: red }');
const pageFolder = pathToFileURL(`${folder}/`);

const plugin = (setup: Partial<Setup> = {}): Plugin =>
  definePlugin({
    contract: 2,
    name: 'board',
    title: 'Board',
    types: [],
    setup: (host) => ({
      routes: [
        route({
          method: 'POST',
          path: '/board/say',
          tag: 'board',
          summary: 'Says it',
          access: 'key',
          appends: false,
          body: Type.Object({ text: Type.String(), loud: Type.Boolean() }),
          example: { text: 'Hello', loud: true },
          responses: { 200: { description: 'Said.', schema: Type.Unknown() } },
          handle(ctx) {
            ctx.body = { said: ctx.state.body.text, tenant: ctx.state.caller.tenant };
          },
        }),
      ],
      pages: [
        pageRoute({ path: '/board', summary: 'The board' }, () =>
          host.page('board', { title: 'Board', here: '/board', text: '<b>&' }),
        ),
      ],
      pageFolder,
      menu: [{ path: '/board', name: 'The board' }],
      visitorRoutes: [
        {
          path: '/demo/calls/board',
          tag: 'Demonstrations',
          target: 'POST /board/say',
          members: ['text'],
        },
      ],
      ...setup,
    }),
  });

describe('the pages of a plugin', () => {
  let running: Running;
  before(async () => (running = await run({}, { plugins: [plugin()] })));
  after(() => running.close());

  it('are rendered from its folder, in the frame of all pages, with values escaped', async () => {
    const { status, text } = await running.get('/board');
    assert.equal(status, 200);
    assert.match(text, /<title>Board · actlog<\/title>/);
    assert.match(text, /<h1>&lt;b&gt;&amp;<\/h1>/);
    assert.match(text, /<a href="\/board" aria-current="page">The board<\/a>/);
  });

  it('have files that are immutable at the address with their hash', async () => {
    const { text } = await running.get('/board');
    const address = /id=asset>([^<]+)</.exec(text)?.[1] ?? '';
    assert.match(address, /^\/static\/board\.css\?v=[0-9a-f]{16}$/);
    const file = await running.get(address);
    assert.equal(file.text, 'h1 { color: red }');
    assert.match(file.headers.get('cache-control') ?? '', /immutable/);
  });

  it('open a route to visitors, with fewer members', async () => {
    const said = await running.post('/demo/calls/board', { text: 'Hi' }, {});
    assert.deepEqual([said.status, said.json], [200, { said: 'Hi', tenant: 'public.demo' }]);
    const refused = await running.post('/demo/calls/board', { text: 'Hi', loud: true }, {});
    assert.equal(refused.status, 400);
  });

  it('cannot use the name of a file that is already served', async () => {
    writeFileSync(join(folder, 'style.css'), 'p {}');
    await assert.rejects(
      run({}, { plugins: [plugin()] }),
      /plugin board: serves \/static\/style\.css, which is there already/,
    );
  });

  it('need a folder, and a route that exists', async () => {
    const nowhere = new URL('file:///nowhere');
    await assert.rejects(run({}, { plugins: [plugin({ pageFolder: nowhere })] }), /pageFolder/);
    const visitorRoutes = [{ path: '/v', tag: 'Demonstrations', target: 'GET /nothing' }];
    await assert.rejects(
      run({}, { plugins: [plugin({ pageFolder: undefined as never, visitorRoutes })] }),
      /GET \/nothing/,
    );
  });
});

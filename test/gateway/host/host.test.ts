// The plugin host: what it refuses at the start, and what a plugin can access.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { orderPlugins, PluginError } from '../../../gateway/host/host.ts';
import { definePlugin, route } from '../../../plugins/contract/index.ts';
import type { AnyPlugin, EarlierPlugin, PluginHost } from '../../../plugins/contract/index.ts';
import { notes } from '../notes.ts';
import { run } from '../running.ts';

const plain = (name: string, more: Partial<EarlierPlugin> = {}): EarlierPlugin =>
  definePlugin({ contract: 1, name, title: name, types: [], routes: () => [], ...more });

const refused = (plugins: readonly AnyPlugin[], reason: RegExp): void => {
  assert.throws(
    () => orderPlugins(plugins),
    (error: unknown) => error instanceof PluginError && reason.test(error.message),
  );
};

const type = (name: string) => ({ name, schema: { type: 'object' }, keys: [] });

describe('the plugin host', () => {
  it('sets plugins up after those they require', () => {
    const order = orderPlugins([
      plain('c', { requires: ['a', 'b'] }),
      plain('b', { requires: ['a'] }),
      plain('a'),
    ]);
    assert.deepEqual(
      order.map(({ name }) => name),
      ['a', 'b', 'c'],
    );
  });

  it('refuses other contracts, invalid names, duplicates, missing plugins and circles, by name', () => {
    refused(
      [plain('x', { contract: 3 as never })],
      /plugin x: is written for contract 3, this host has 1 and 2/,
    );
    for (const name of ['', 'X', 'a_b', 'a.b', '1a']) refused([plain(name)], /must have a name/);
    refused([plain('a'), plain('a')], /plugin a: is there twice/);
    refused([plain('a', { requires: ['b'] })], /plugin a: requires b, which is not there/);
    refused([plain('a', { requires: ['b'] }), plain('b', { requires: ['a'] })], /requires itself/);
  });

  it('refuses types of another name, and types of the core', () => {
    refused(
      [plain('a', { types: [type('b.word.v1')] })],
      /declares the type b\.word\.v1, which is not its own/,
    );
    refused([plain('a', { types: [type('ab.word.v1')] })], /not its own/);
    refused([plain('log', { types: [type('log.word.v1')] })], /not its own/);
    refused([plain('astl', { types: [type('astl.word.v1')] })], /not its own/);
    assert.doesNotThrow(() => orderPlugins([plain('astl')]));
  });

  it('does not start with a route that is declared twice, or cannot be replayed', async () => {
    const get = (path: string) =>
      route({
        method: 'GET',
        path,
        tag: 'a',
        summary: 's',
        access: 'read',
        responses: { 200: { description: 'ok', type: 'text/plain' } },
        handle: () => undefined,
      });
    await assert.rejects(
      run({}, { plugins: [plain('a', { routes: () => [get('/health')] })] }),
      /GET \/health is declared twice/,
    );
    const idempotent = { ...get('/a'), method: 'POST' as const, idempotent: true };
    await assert.rejects(
      run({}, { plugins: [plain('a', { routes: () => [idempotent] })] }),
      /needs either respond or flat/,
    );
    await assert.rejects(
      run({}, { plugins: [plain('a', { routes: () => [get('a')] })] }),
      /must start with a slash/,
    );
  });

  it('gives a plugin what it requires, and nothing else', async () => {
    let reached: unknown;
    const base = plain('base', { api: () => ({ answer: 42 }) }) as EarlierPlugin<{
      answer: number;
    }>;
    const user = (requires: string[]) =>
      plain('user', {
        requires,
        routes: (host) => {
          reached = host.use(base).answer;
          return [];
        },
      });
    const running = await run({}, { plugins: [user(['base']), base] });
    assert.equal(reached, 42);
    await running.close();
    await assert.rejects(
      run({}, { plugins: [base, user([])] }),
      /plugin user: uses base without requiring it/,
    );
  });

  it('shows a plugin its own rows only', async () => {
    let host: PluginHost | undefined;
    const peeping = plain('peep', {
      routes: (given) => {
        host = given;
        return [];
      },
    });
    const running = await run({}, { plugins: [notes(), peeping] });
    await running.post('/notes/a', { text: 'x' }, { key: running.live });
    const log = host?.log('live');
    for (const name of ['total', 'notes/total', '../notes/total', '/notes/total'])
      assert.equal(log?.row(name), undefined);
    assert.deepEqual(await log?.rows(''), []);
    assert.equal(running.gateway.logs.live.row('notes/total'), 1);
    assert.equal('append' in (log ?? {}), false);
    assert.equal('putAttached' in (log ?? {}), false);
    await running.close();
  });

  it('reads catalogs and tolls, and no other files', async () => {
    let host: PluginHost | undefined;
    const running = await run(
      {},
      { plugins: [plain('a', { routes: (given) => ((host = given), []) })] },
    );
    assert.deepEqual(host?.toll('classify'), { id: 'classify', micro_usd: 50_000 });
    assert.throws(() => host?.toll('none'), /no toll none/);
    assert.throws(() => host?.catalog('../package.json'));
    assert.equal((host as PluginHost | undefined)?.url('/verify'), 'http://test.example/verify');
    await running.close();
  });

  it('loads plugins by path, and names one that cannot be loaded', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'actlog-plugin-'));
    const path = join(folder, 'hello.mjs');
    await writeFile(
      path,
      `export default { contract: 1, name: 'hello', title: 'Hello', types: [], routes: () => [{
         method: 'GET', path: '/hello', tag: 'hello', summary: 'Greets', access: 'read',
         responses: { 200: { description: 'ok', type: 'text/plain' } }, handle: (ctx) => { ctx.body = 'hello'; } }] };`,
    );
    const running = await run({ PLUGINS: ` ${path} ,` });
    assert.equal((await running.get('/hello')).text, 'hello');
    await running.close();
    await assert.rejects(
      run({ PLUGINS: join(folder, 'none.mjs') }),
      /PLUGINS: .*none\.mjs cannot be loaded/,
    );
    await writeFile(path, 'export default 1;');
    await writeFile(join(folder, 'other.mjs'), 'export default { name: "x" };');
    await assert.rejects(run({ PLUGINS: join(folder, 'other.mjs') }), /is not a plugin/);
    await rm(folder, { recursive: true });
  });
});

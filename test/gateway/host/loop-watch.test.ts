// The loop watch names what blocks the event loop. Parts of a plugin that fail are left out of answers, and the log names
// the plugin.

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import Type from 'typebox';
import { LoopWatch, partOf } from '../../../gateway/host/loop-watch.ts';
import type { Blocked } from '../../../gateway/host/loop-watch.ts';
import { definePlugin, route } from '../../../plugins/contract/index.ts';
import type { Plugin } from '../../../plugins/contract/index.ts';
import { skipInCluster } from '../../cluster/suite-cluster.ts';
import { codeOf } from '../http/envelope.ts';
import { ok, run } from '../running.ts';
import type { Running } from '../running.ts';

/** A watch with a clock that the test sets, and its reports. */
function watched() {
  let now = 0;
  const reported: [string[], number][] = [];
  const watch = new LoopWatch(
    ({ parts, blocked_ms }: Blocked) => {
      reported.push([parts.map(({ plugin, name }) => `${plugin} ${name}`), blocked_ms]);
    },
    () => now,
  );
  const pass = (ms: number): void => {
    now += ms;
  };
  const ticked = (): void => {
    pass(100);
    watch.tick();
  };
  return { watch, reported, pass, ticked };
}

describe('gateway/host/loop-watch', () => {
  let [one, other] = [partOf('', ''), partOf('', '')];
  beforeEach(() => {
    [one, other] = [partOf('notes', 'route GET /a'), partOf('gate', 'route POST /b')];
  });

  it('names the part that blocked the loop, once', () => {
    const { watch, reported, pass, ticked } = watched();
    const from = watch.enter(one);
    pass(899);
    watch.ran(one, from);
    ticked();
    assert.deepEqual(reported, []);
    watch.timed(other, () => pass(1000));
    ticked();
    watch.leave(one);
    assert.deepEqual(reported, [[['gate route POST /b'], 1000]]);
  });

  it('names the parts that were running when a later turn of one of them blocked', () => {
    const { watch, reported, pass, ticked } = watched();
    watch.ran(one, watch.enter(one));
    watch.ran(other, watch.enter(other));
    ticked();
    watch.leave(other);
    pass(1200);
    watch.leave(one);
    ticked();
    pass(1200);
    ticked();
    assert.deepEqual(reported, [
      [['notes route GET /a'], 1300],
      [[], 1300],
    ]);
  });

  it('lists several parts if each of them may have blocked', () => {
    const { watch, reported, pass, ticked } = watched();
    for (const part of [one, other]) watch.ran(part, watch.enter(part));
    pass(3000);
    ticked();
    assert.deepEqual(reported, [[['notes route GET /a', 'gate route POST /b'], 3100]]);
  });
});

/** Blocks the event loop for longer than allowed. */
function block(): void {
  const end = performance.now() + 1050;
  while (performance.now() < end);
}

const schema = { type: 'object', properties: {}, additionalProperties: false };

/** A plugin that blocks, and whose parts fail. */
function heavy(): Plugin {
  const fails = (): never => {
    throw new Error('not today');
  };
  return definePlugin({
    contract: 2,
    name: 'heavy',
    title: 'Heavy',
    types: [
      {
        name: 'heavy.mark.v1',
        schema,
        keys: [],
        project: () => {
          block();
        },
      },
      { name: 'heavy.sent.v1', schema, keys: [] },
    ],
    events: [{ entry: 'heavy.sent.v1', events: ['heavy.sent'], eventOf: fails }],
    setup: () => ({
      status: fails,
      metrics: { members: { heavy_weight: Type.Integer() }, read: fails },
      partner: fails,
      kitVectors: fails,
      routes: [
        route({
          method: 'GET',
          path: '/heavy/later',
          tag: 'heavy',
          summary: 'Blocks after it awaited something',
          access: 'read',
          responses: { 200: { description: 'Done.', type: 'text/plain' } },
          async handle(ctx) {
            await turn();
            block();
            ctx.body = 'done';
          },
        }),
        ...['mark', 'sent'].map((word) =>
          route({
            method: 'POST',
            path: `/heavy/${word}`,
            tag: 'heavy',
            summary: 'Appends an entry',
            access: 'key',
            idempotent: true,
            flat: true,
            body: Type.Object({}),
            responses: { 200: { description: 'The receipt.', schema: Type.Object({}) } },
            handle: (ctx) => ctx.state.append([{ type: `heavy.${word}.v1`, members: {} }]),
          }),
        ),
      ],
    }),
  });
}

describe('a plugin that misbehaves', () => {
  let running: Running;
  const lines: string[] = [];
  const logged = new EventEmitter();
  before(async () => {
    const write = (text: string): void => {
      lines.push(text);
      logged.emit('line');
    };
    running = await run({}, { plugins: [heavy()], lines: write });
  });
  after(() => running.close());

  /** The first line of the log that matches; fails after 5 s without one. */
  async function line(text: string): Promise<Readonly<Record<string, unknown>>> {
    const signal = AbortSignal.timeout(5000);
    for (;;) {
      const found = lines.find((one) => one.includes(text));
      if (found !== undefined) return JSON.parse(found) as Readonly<Record<string, unknown>>;
      await once(logged, 'line', { signal }).catch(() => assert.fail(`${text}\n${lines.join('')}`));
    }
  }

  it('is named if its projection or a later turn of its handler blocks', async function () {
    skipInCluster(this, 'both nodes count what blocks the event loop that they share here');
    ok(await running.post('/heavy/mark', {}, { key: running.live }));
    const projected = await line('"part":"projection of heavy.mark.v1"');
    assert.equal(projected['plugin'], 'heavy');
    assert.ok((projected['blocked_ms'] as number) >= 1000);
    assert.equal((await running.get('/heavy/later')).text, 'done');
    assert.equal((await line('"part":"route GET /heavy/later"'))['plugin'], 'heavy');
    const { text } = await running.get('/metrics', { key: running.live });
    assert.match(
      text,
      /actlog_event_loop_blocked_total\{plugin="heavy",part="projection of .*\} 1/,
    );
    assert.match(text, /actlog_event_loop_blocked_total\{plugin="heavy",part="route GET .*\} 1/);
  });

  it('has its failing parts left out of answers about the service', async () => {
    ok(await running.get('/health'));
    assert.equal('heavy_weight' in ok(await running.get('/metrics/public')), false);
    ok(await running.get('/export/offline-verify-kit.json'));
    for (const part of ['status', 'metrics', 'kitVectors']) {
      const { plugin, err } = await line(`"part":"${part}"`);
      assert.equal(plugin, 'heavy');
      assert.match(JSON.stringify(err), /not today/);
    }
  });

  it('cannot append an entry if its event fails, and the log names the plugin', async () => {
    const sent = await running.post('/heavy/sent', {}, { key: running.live });
    assert.equal(codeOf(sent, 503), 'plugin_failed');
    const { plugin, err } = await line('plugin heavy: eventOf of heavy.sent.v1 throws: not today');
    assert.equal(plugin, 'heavy');
    assert.ok(err);
  });
});

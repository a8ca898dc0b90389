// If a rule of a plugin fails on an entry, the entry is refused with 503, no acknowledged entry is lost, and /health names
// the plugin. gateway/API.md §4.1, §13.

import assert from 'node:assert/strict';
import type { RowWriter } from '../../../log/index.ts';
import { definePlugin } from '../../../plugins/contract/index.ts';
import { codeOf } from '../http/envelope.ts';
import { IN_CLUSTER } from '../../cluster/suite-cluster.ts';
import { ok, run } from '../running.ts';
import type { Answer, Running } from '../running.ts';

/** How the rules of the plugin treat the next entries. */
type Mood = 'well' | 'admit' | 'project' | 'promise' | 'nothing' | 'bigint' | 'circular' | 'nan';

const circular: Record<string, unknown> = {};
circular['self'] = circular;

const BAD_VALUES: Partial<Record<Mood, unknown>> = {
  nothing: undefined,
  bigint: { deep: [1n] },
  circular,
  nan: NaN,
};

describe('a rule of a plugin that fails', () => {
  let running: Running;
  let mood: Mood = 'well';
  const lines: string[] = [];

  before(async () => {
    const project = (_: unknown, rows: RowWriter): unknown => {
      if (mood === 'project') return (undefined as unknown as { deep: number }).deep;
      if (mood === 'promise') return Promise.reject(new Error('later'));
      const value = mood in BAD_VALUES ? BAD_VALUES[mood] : { mood };
      rows.put('moody/last', value as string);
      return undefined;
    };
    const moody = definePlugin({
      contract: 1,
      name: 'moody',
      title: 'Moody',
      types: [
        {
          name: 'moody.mark.v1',
          schema: { type: 'object', properties: {}, additionalProperties: false },
          keys: [],
          watch: {
            project,
            admit() {
              if (mood === 'admit') throw new TypeError('the meter is not there');
            },
          },
        },
      ],
      routes: () => [],
    });
    running = await run({}, { plugins: [moody], lines: (line) => lines.push(line) });
  });
  after(() => running.close());

  const classify = (message: string, name: string): Promise<Answer> =>
    running.post(
      '/api/v1/classify',
      { message },
      { key: running.live, headers: { 'Idempotency-Key': `moody-${name}` } },
    );
  const health = async () => (await running.get('/health')).json;

  it('is healthy before the failure', async () => {
    ok(await classify('Hello', 'first'));
    assert.equal((await health()).status, 'ok');
  });

  for (const failing of [
    'admit',
    'project',
    'promise',
    'nothing',
    'bigint',
    'circular',
    'nan',
  ] as const) {
    it(`answers 503 with a code and appends nothing (${failing})`, async () => {
      const { live } = running.gateway.logs;
      mood = 'well';
      const before = ok(await classify(`before ${failing}`, `before-${failing}`));
      mood = failing;
      lines.length = 0;
      const count = (): number =>
        Array.from({ length: live.size() }, (_, i) => live.entry(i) ?? '').filter((text) =>
          text.includes('"type":"classify.'),
        ).length;
      const counted = count();
      const refused = await Promise.all(
        Array.from({ length: 4 }, (_, i) => classify('refused', `${failing}-${String(i)}`)),
      );
      for (const answer of refused) {
        assert.equal(codeOf(answer, 503), 'plugin_failed');
        assert.doesNotMatch(
          answer.text,
          /moody|meter|undefined/,
          'the client does not see the cause',
        );
      }
      assert.equal(count(), counted);
      const line = lines.find((one) => one.includes('plugin moody: '));
      assert.match(line ?? '', /(admit|project) of moody\.mark\.v1 throws: /);
      // Each node reports its own failures, and in a cluster these requests go to the node that follows.
      if (!IN_CLUSTER) {
        const { status, degraded, reasons } = await health();
        assert.equal(status, 'degraded');
        assert.match(reasons[degraded.indexOf('plugin_moody')], /the plugin moody failed/);
        const { status: page } = (await running.get('/status.json')).json;
        assert.equal(page.indicator, 'minor');
      }
      assert.equal(
        live.health().writable,
        true,
        'a fault of a plugin does not make the store unwritable',
      );
      assert.deepEqual(ok(await classify(`before ${failing}`, `before-${failing}`)), before);
      const act = { action_type: 'send', agent_id: 'agent:a' };
      const gate = await running.post('/api/v1/execute-gate', act, { key: running.live });
      assert.equal(codeOf(gate, 503), 'plugin_failed');
      assert.match(gate.json.error.message, /nothing is permitted/);

      mood = 'well';
      ok(await classify('refused', `${failing}-0`));
      assert.equal(count(), counted + 1);
    });
  }

  it('is no longer reported an hour after the last failure', async () => {
    running.clock.pass(3_600_000);
    assert.equal((await health()).degraded.includes('plugin_moody'), false);
  });
});

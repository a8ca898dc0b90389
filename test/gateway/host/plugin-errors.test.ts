// Error codes of plugins: declared ones are answered with their status and documented, undeclared ones are a defect.

import assert from 'node:assert/strict';
import { PluginError, orderPlugins } from '../../../gateway/host/host.ts';
import { ApiError, definePlugin, errorsOf, route } from '../../../plugins/contract/index.ts';
import type { Plugin } from '../../../plugins/contract/index.ts';
import { run } from '../running.ts';

const errors = errorsOf({
  topic_closed: { status: 410, sentence: 'The topic takes no notes any more.' },
});
const undeclared = errorsOf({
  topic_lost: { status: 410, sentence: 'The topic is lost.' },
});

const plugin = (name: string, declared: NonNullable<Plugin['errors']>): Plugin =>
  definePlugin({
    contract: 2,
    name,
    title: name,
    types: [],
    errors: declared,
    setup: () => ({
      routes: (['closed', 'lost'] as const).map((word) =>
        route({
          method: 'GET',
          path: `/${name}/${word}`,
          tag: name,
          summary: `Fails as ${word}`,
          access: 'read',
          errors: word === 'closed' ? [errors.topic_closed] : [],
          responses: { 200: { description: 'Never.' } },
          handle() {
            const error = word === 'closed' ? errors.topic_closed : undeclared.topic_lost;
            throw new ApiError(error, `the topic is ${word}`, { param: 'topic' });
          },
        }),
      ),
    }),
  });

describe('the error codes of a plugin', () => {
  it('are answered with their status, and documented; an undeclared one is a logged 500', async () => {
    const lines: string[] = [];
    const running = await run(
      {},
      { plugins: [plugin('topics', errors)], lines: (l) => lines.push(l) },
    );
    try {
      const closed = await running.get('/topics/closed');
      assert.equal(closed.status, 410);
      const { request_id, ...said } = closed.json.error;
      assert.match(request_id, /^req_/);
      assert.deepEqual(said, {
        type: 'invalid_request_error',
        code: 'topic_closed',
        message: 'the topic is closed',
        param: 'topic',
      });
      const { paths, components } = (await running.get('/openapi.json')).json;
      assert.match(paths['/topics/closed'].get.responses['410'].description, /`topic_closed`/);
      const known = components.schemas.ErrorEnvelope.properties.error.properties.code.enum;
      assert.ok(known.includes('topic_closed'));

      const lost = await running.get('/topics/lost');
      assert.equal(lost.status, 500);
      assert.equal(lost.json.error.code, 'internal_error');
      assert.doesNotMatch(lost.text, /topic_lost|is lost/);
      const logged = lines.map((line) => JSON.parse(line)).find(({ level }) => level === 50);
      assert.equal(logged.plugin, 'topics');
      assert.match(logged.err.message, /the code topic_lost, which the plugin does not declare/);
    } finally {
      await running.close();
    }
  });

  it('cannot be declared by two plugins', () => {
    assert.throws(
      () => orderPlugins([plugin('a', errors), plugin('b', errors)]),
      (error) =>
        error instanceof PluginError &&
        /^plugin b: declares the error topic_closed, which a declares$/.test(error.message),
    );
  });
});

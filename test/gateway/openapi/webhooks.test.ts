// Tests of gateway/openapi/webhooks.ts: messages match the OpenAPI document.

import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { startReceiver } from '../egress/receiver.ts';
import { ok } from '../running.ts';
import { runSending } from '../webhooks/receiving.ts';
import { referred } from './referred.ts';

interface Message {
  readonly parameters: readonly {
    readonly name: string;
    readonly schema: { readonly pattern?: string };
  }[];
  readonly requestBody: { readonly content: Record<string, { readonly schema: object }> };
}

describe('the webhooks of the OpenAPI document', () => {
  it('are all event types, and messages fit their schema and headers', async () => {
    const running = await runSending();
    const receiver = await startReceiver();
    try {
      const { webhooks, components } = (await running.get('/openapi.json')).json as {
        readonly webhooks: Record<string, { readonly post: Message }>;
        readonly components: object;
      };
      assert.deepEqual(Object.keys(webhooks), running.gateway.webhooks.types);
      const types = ['trigger.armed', 'trigger.fired', 'checkpoint.published'];
      const key = running.sandbox;
      await running.post('/signal/trigger/subscriptions', { url: receiver.url(), types }, { key });
      const post = async (path: string, body: object) =>
        ok(await running.post(path, body, { key }));
      const armed = await post('/signal/trigger/publish', { template_id: 'incident_sealed' });
      const reading = { metric: 'incident', value: 1 };
      const { trigger_id } = armed;
      await post('/api/v1/foundry/trigger/fire', { trigger_id, reading });
      const ajv = new Ajv2020({ strict: false });
      formats.default(ajv);
      const seen = new Set<string>();
      let read = 0;
      while (seen.size < types.length) {
        const received = (await receiver.whenReceived(read + 1))[read];
        read += 1;
        assert.ok(received);
        const body = JSON.parse(received.body) as { readonly type: string };
        seen.add(body.type);
        const { parameters, requestBody } = webhooks[body.type]?.post ?? assert.fail(body.type);
        const [schema] = Object.values(requestBody.content).map((media) => media.schema);
        const fits = ajv.compile({ ...schema, components });
        assert.ok(fits(body), `${received.body}: ${JSON.stringify(fits.errors)}`);
        assert.equal(fits({ ...body, type: 'other' }), false);
        assert.equal(fits({ ...body, data: {} }), false);
        for (const one of parameters) {
          const { name, schema: form } = referred({ components }, one);
          const header = received.headers[name];
          assert.ok(typeof header === 'string', name);
          assert.match(header, new RegExp(form.pattern ?? '^[0-9]+$'), name);
        }
      }
    } finally {
      await receiver.close();
      await running.close();
    }
  });
});

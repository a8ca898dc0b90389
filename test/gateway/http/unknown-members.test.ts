// Unknown members of a body or query: 400 `parameter_unknown` with the nearest known name, unless the request says
// `Prefer: handling=lenient`.

import assert from 'node:assert/strict';
import { Type } from 'typebox';
import { compileUnknown } from '../../../gateway/http/unknown-members.ts';
import { trustFromKit } from '../../../log/verify.ts';
import { checkDocument } from '../../../plugins/verifiers.ts';
import { recognised } from '../../support/recognised.ts';
import { run } from '../running.ts';
import type { Running } from '../running.ts';

describe('unknown members of a request', () => {
  let running: Running;
  before(async () => (running = await run()));
  after(() => running.close());

  const message = 'Schedule the interview for Monday';
  const refused = async (path: string, body?: object): Promise<[string, string, string]> => {
    const before = running.gateway.logs.sandbox.size();
    const answer =
      body === undefined
        ? await running.get(path)
        : await running.post(path, body, { key: running.sandbox });
    assert.equal(answer.status, 400, answer.text);
    assert.equal(running.gateway.logs.sandbox.size(), before);
    const { code, param, message: text } = answer.json.error;
    return [code, param, text];
  };

  it('are refused with the nearest known name, and nothing is appended', async () => {
    assert.deepEqual(await refused('/api/v1/classify', { message, session: 's' }), [
      'parameter_unknown',
      'session',
      'session is no member of body; did you mean session_id?',
    ]);
    assert.deepEqual(await refused('/health?verbose=1'), [
      'parameter_unknown',
      'verbose',
      'verbose is no member of query',
    ]);
    assert.deepEqual((await refused('/receipt/lookup?entry=x')).slice(0, 2), [
      'parameter_unknown',
      'entry',
    ]);
  });

  it('are named before a member that is missing, by their place in the body', async () => {
    const [code, , text] = await refused('/api/v1/classify', { messagge: message });
    assert.equal(code, 'parameter_unknown');
    assert.match(text, /did you mean message\?$/);
    const readings = [{ source_id: 'a', value: '1', observed: 1 }];
    const [, param] = await refused('/api/v1/oracle/aggregate', { feed_id: 'f', readings });
    assert.equal(param, 'readings.0.observed');
  });

  it('are ignored and listed if the request prefers lenient handling', async () => {
    const headers = { prefer: 'wait=1, handling=lenient' };
    const body = { message, session: 's', colour: 'red' };
    const answer = await running.post('/api/v1/classify', body, { headers, key: running.sandbox });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json.ignored, ['session', 'colour']);
    assert.match(answer.headers.get('preference-applied') ?? '', /handling=lenient/);
    const read = await running.get('/health?verbose=1', { headers });
    assert.deepEqual([read.status, read.json.ignored], [200, ['verbose']]);
    const plain = await running.post(
      '/api/v1/classify',
      { message },
      { headers, key: running.sandbox },
    );
    assert.ok(!('ignored' in plain.json));
  });

  it('do not make a receipt unverifiable if one is ignored', async () => {
    const headers = { prefer: 'wait=10, handling=lenient' };
    const body = { message, session: 's' };
    const answer = await running.post('/api/v1/classify', body, { headers, key: running.live });
    assert.deepEqual(answer.json.ignored, ['session']);
    const kit = (await running.get('/export/offline-verify-kit.json')).json;
    const trust = trustFromKit(kit, answer.json.origin as string);
    const verified = async (text: string): Promise<boolean> =>
      (await checkDocument(recognised(text), trust)).valid;
    assert.equal(await verified(answer.text), true);
    assert.equal(await verified(JSON.stringify({ ...answer.json, others: ['session'] })), false);
  });

  it('do not make the receipt of a permit unusable', async () => {
    const [key, headers] = [running.live, { prefer: 'handling=lenient' }];
    const rules = [{ id: 'all', effect: 'allow' }];
    await running.post('/api/v1/execute-gate/policy', { rules }, { key });
    const act = { action_type: 'payment.release', agent_id: 'agent:a' };
    const { permit, preimage, receipt } = (await running.post('/api/v1/execute-gate', act, { key }))
      .json;
    const { use_secret } = permit;
    const shown = { ...preimage, use_secret, receipt: { ...receipt, ignored: ['colour'] } };
    const used = await running.post('/api/v1/execute-gate/permits/use', shown, { key, headers });
    assert.equal(used.status, 200, used.text);
  });

  it('are not checked on pages, log reads, free-form objects and relayed bodies', async () => {
    for (const path of ['/log?utm_source=x', '/guides?x=1', '/log/sandbox/1/checkpoint?x=1']) {
      assert.equal((await running.get(path)).status, 200, path);
    }
    const free = Type.Object({ meta: Type.Object({}), any: Type.Unknown(), n: Type.Number() });
    const find = compileUnknown(free);
    assert.deepEqual(find?.({ meta: { a: 1 }, any: { b: { c: 1 } }, n: 1 }), []);
    assert.equal(
      compileUnknown(Type.Object({ a: Type.Number() }, { additionalProperties: true })),
      null,
    );
    const inference = running.gateway.routes().find(({ path }) => path.includes('/inference/'));
    assert.equal(compileUnknown(inference?.body ?? Type.Unknown()), null);
  });

  it('are members that no branch of a union names', () => {
    const either = Type.Union([
      Type.Object({ kind: Type.Literal('a'), left: Type.Object({ x: Type.Number() }) }),
      Type.Object({
        kind: Type.Literal('b'),
        right: Type.Array(Type.Object({ y: Type.Number() })),
      }),
      Type.Null(),
    ]);
    const find = compileUnknown(either);
    const paths = (value: unknown): string[] => (find?.(value) ?? []).map(({ path }) => path);
    assert.deepEqual(paths({ kind: 'a', left: { x: 1 }, right: [] }), []);
    assert.deepEqual(paths({ left: { y: 1 }, right: [{ y: 1, z: 1 }], up: 1 }), [
      'left.y',
      'right.0.z',
      'up',
    ]);
    assert.deepEqual(paths(null), []);
    assert.deepEqual(paths('text'), []);
  });
});

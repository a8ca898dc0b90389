// The gate on failures of its classifier and its log: it permits nothing. Policy, holds and permits survive a
// restart.
// gateway/API.md §8.1, "Fail closed, also on time-out".

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { LogError } from '../../../log/index.ts';
import type { Log } from '../../../log/index.ts';
import { run } from '../../gateway/running.ts';
import { listening } from '../../support/listening.ts';
import type { Listening } from '../../support/listening.ts';
import { GATE, PAY, POLICY, serveGate } from './asking.ts';
import type { Asking } from './asking.ts';

describe('a gate whose classifier fails', () => {
  let endpoint: Listening;
  let served: Asking;
  let reply: (response: ServerResponse) => void;
  before(async () => {
    endpoint = await listening((request, response) => {
      request.resume().on('end', () => reply(response));
    });
    served = await serveGate({
      CLASSIFIER_URL: `${endpoint.url}/v1/moderations`,
      CLASSIFIER_TIMEOUT_MS: '60000',
      GATE_TIMEOUT_MS: '1000',
    });
  });
  after(async () => {
    await served.close();
    await endpoint.close();
  });

  const bind = async () =>
    (await served.post(`${GATE}/bind`, { ...PAY, message: 'Pay it' }, served.agent)).json;

  it('answers SILENCE if the classifier times out', async () => {
    reply = () => undefined;
    const json = await bind();
    assert.deepEqual(
      [json.decision, json.outcome, json.reasons, json.receipt.classification],
      ['BLOCK', 'SILENCE', ['message_timeout'], 'ERROR'],
    );
    assert.equal(json.receipt.classifier, undefined, 'no classifier answered');
    assert.equal(json.restraint.reason_code, 'missing_decision_binding_ref');
  });

  it('answers SILENCE if the classifier answers with an error or an invalid body', async () => {
    const replies: ((response: ServerResponse) => void)[] = [
      (response) => response.end('{'),
      (response) => response.writeHead(500).end('{}'),
      (response) => response.end('{"results":[]}'),
      (response) => response.destroy(),
    ];
    for (const each of replies) {
      reply = each;
      const json = await bind();
      assert.deepEqual([json.decision, json.outcome], ['BLOCK', 'SILENCE']);
      // On a slow machine the reply may arrive after the timeout.
      assert.match(json.reasons[0], /^message_(error|timeout)$/);
    }
  });

  it('decides without a classification if there is no text', async () => {
    reply = () => undefined;
    assert.equal((await served.ask(PAY)).json.outcome, 'PERMIT');
  });
});

describe('a gate whose log refuses appends', () => {
  let served: Asking;
  before(async () => {
    served = await serveGate();
  });
  after(() => served.close());

  it('blocks with 503 and hides the cause', async () => {
    const log = served.log() as Log & { append: Log['append'] };
    const { append } = log;
    for (const [code, answered] of [
      ['log_unavailable', 'log_unavailable'],
      ['log_busy', 'log_busy'],
      ['clock_untrusted', 'log_unavailable'],
    ] as const) {
      log.append = () => Promise.reject(new LogError(code, 'the disk says zebra'));
      try {
        const bound = await served.post(`${GATE}/bind`, PAY, served.agent);
        assert.deepEqual(
          [bound.status, bound.json.error.code, bound.json.decision, bound.json.outcome],
          [503, answered, 'BLOCK', 'SILENCE'],
        );
        assert.ok(Number(bound.headers.get('retry-after')) > 0);
        const asked = await served.ask(PAY);
        assert.deepEqual(
          [asked.status, asked.json.outcome, asked.json.permit],
          [...[503, 'SILENCE', undefined]],
        );
        assert.equal(asked.text.includes('zebra'), false, 'a 5xx shows no cause');
      } finally {
        log.append = append;
      }
    }
    assert.equal((await served.ask(PAY)).json.outcome, 'PERMIT');
  });
});

describe('a gate after a restart', () => {
  it('keeps its policy, its holds and its unused permits', async () => {
    const first = await run();
    const { sandbox: key, data } = first;
    const ask = (body: object) => first.post(GATE, body, { key });
    await first.post(`${GATE}/policy`, POLICY, { key });
    const { json: used } = await ask(PAY);
    const { json: unused } = await ask(PAY);
    const { json: held } = await ask({ ...PAY, amount_atomic: 500 });
    const use = ({ preimage, receipt }: typeof used): object => ({ ...preimage, receipt });
    await first.post(`${GATE}/permits/use`, use(used), { key });
    await first.close(true);

    const again = await run({ DATA_DIR: data });
    try {
      const post = (path: string, body: object) => again.post(`${GATE}${path}`, body, { key });
      assert.equal((await post('', PAY)).json.policy_version, 1);
      assert.equal((await post('/permits/use', use(used))).status, 409);
      assert.equal((await post('/permits/use', use(unused))).status, 200);
      const released = await post(`/holds/${String(held.hold_id)}`, {
        ...{ action: 'release', reason: 'after a restart' },
      });
      assert.equal(released.json.outcome, 'PERMIT');
    } finally {
      await again.close();
    }
  });
});

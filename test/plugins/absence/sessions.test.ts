// Tests of plugins/absence/sessions.ts.

import assert from 'node:assert/strict';
import { native } from '../../../log/crypto/native.ts';
import { verifyAbsence } from '../../../log/verify.ts';
import { problem, serveSurfaces } from '../astl/surfaces.ts';
import type { Body, Surfaces } from '../astl/surfaces.ts';

describe('GET /api/v1/sessions/{session_id}/proof', () => {
  let served: Surfaces;
  const ids: string[] = [];
  const proof = (session: string, query = '', key = served.gateway.sandbox) =>
    served.gateway.get(`/api/v1/sessions/${encodeURIComponent(session)}/proof${query}`, { key });
  const verified = (document: Body, page: { readonly after?: number } = {}) =>
    verifyAbsence(document, { ...document.question, ...page }, served.trust(), {
      suite: native,
      now_ms: served.gateway.clock.wall(),
    });

  before(async () => {
    served = await serveSurfaces();
    for (let n = 0; n < 3; n++) {
      const body = { message: `note ${String(n)}`, session_id: 'interview/42' };
      const { json } = await served.gateway.post('/api/v1/classify', body, {
        key: served.gateway.sandbox,
      });
      ids.push(json.entry_id);
    }
  });
  after(() => served.close());

  it('proves every entry of the session, including those acknowledged just before', async () => {
    const { status, json } = await proof('interview/42');
    assert.equal(status, 200);
    const result = verified(json);
    assert.deepEqual([result.verdict, result.entries], ['PRESENT', 3]);
    const shown = json.entries.map(({ entry }: { entry: string }) => JSON.parse(entry).entry_id);
    assert.deepEqual(shown, ids);
    assert.equal(json.proof.head.count, 3);
  });

  it('returns pages, and counts by the seq that closes a page', async () => {
    const { json: first } = await proof('interview/42', '?limit=2');
    assert.equal(verified(first).entries, 2);
    assert.equal(first.more, true);
    const after = Number(first.entries[1].index);
    const { json: rest } = await proof('interview/42', `?after=${String(after)}`);
    assert.equal(verified(rest, { after }).entries, 1);
    assert.deepEqual(problem(await proof('interview/42', '?after=1000000')), [
      ...[400, 'parameter_invalid', 'after'],
    ]);
    assert.deepEqual(problem(await proof('interview/42', '?limit=101')), [
      ...[400, 'parameter_invalid', 'limit'],
    ]);
  });

  it("proves that a session is empty, and is each tenant's own", async () => {
    const { json } = await proof('never');
    assert.equal(verified(json).verdict, 'ABSENT');
    const { json: other } = await proof('interview/42', '', served.other);
    assert.equal(verified(other).verdict, 'ABSENT');
    assert.equal((await served.gateway.get('/api/v1/sessions/x/proof')).status, 401);
  });
});

// Secrets that the database loses while a node leads. PostgreSQL with an asynchronous standby loses its latest commits in
// a failover: here secrets, and the mark that was put together with them.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Running } from '../../tools/plugin-test/running.ts';
import { postgresSuite } from '../support/postgres.ts';
import { suiteNodes } from './here.ts';

postgresSuite('the secrets of a cluster', function (postgres) {
  const nodes = suiteNodes(postgres, 'secrets');
  const sql = (text: string): Promise<string> => postgres().query(nodes.database(), text);
  const files = (): Promise<string> =>
    sql("SELECT string_agg(name, ' ' ORDER BY name) FROM actlog_secret WHERE name LIKE 'file/%'");

  /** Classifies a message, again while the node does not lead; returns the id of its entry. */
  async function classify(node: Running, message: string): Promise<string> {
    const headers = { 'Idempotency-Key': message.replaceAll(' ', '-') };
    for (;;) {
      const { status, json, text } = await node.post(
        '/api/v1/classify',
        { message },
        { key: node.live, headers },
      );
      if (status === 200) return json.entry_id as string;
      assert.equal(status, 503, text);
      await sleep(100);
    }
  }

  it('that were lost are used in no receipt, and key files are given back', async function () {
    this.timeout(60_000);
    const node = await nodes.start('a');
    await classify(node, 'the message before');
    const before = await files();
    assert.match(before, /live-1-checkpoint\.pem.* file\/live-1-receipt-/);
    const rounds = await sql("SELECT max(seq) FROM actlog_round WHERE stream = 'live-1'");

    await sql(`BEGIN;
      DELETE FROM actlog_secret WHERE name LIKE 'disclosure/%' OR name LIKE 'file/live-1-receipt-%';
      UPDATE actlog_secret SET sealed = sha256('an earlier mark') WHERE name = 'mark';
      COMMIT`);

    const entry = await classify(node, 'the message after');
    const { json, text } = await node.get(`/r/${entry}`, { key: node.live });
    assert.match(JSON.stringify(json.disclosures), /the message after/, text);
    assert.equal(await files(), before);
    const later = await sql("SELECT max(seq) FROM actlog_round WHERE stream = 'live-1'");
    assert.ok(Number(later) > Number(rounds), 'the rounds of the log were kept');
  });
});

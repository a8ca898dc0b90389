// `actlog hammer` against an honest server, and through a proxy that falsifies answers.

import assert from 'node:assert/strict';
import { CommandError } from '../../tools/command-line.ts';
import { hammer } from '../../tools/commands/hammer.ts';
import { run } from '../gateway/running.ts';
import type { Running } from '../gateway/running.ts';
import { listening } from '../support/listening.ts';
import type { Listening } from '../support/listening.ts';

const OPTIONS = { rate: '200', connections: '8', seconds: '1', json: true };

/** Changes an answer in transit; null leaves it unchanged. */
type Lie = (path: string, text: string, replayed: boolean) => string | null;

describe('actlog hammer', function () {
  this.timeout(240_000);
  let server: Running;
  let proxy: Listening;
  let lie: Lie = () => null;
  let printed: string[] = [];
  const { log } = console;
  const write = process.stderr.write.bind(process.stderr);

  before(async () => {
    server = await run();
    proxy = await listening((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = 'GET', url = '/' } = request;
        const headers: Record<string, string> = { 'content-type': 'application/json' };
        for (const name of ['x-api-key', 'idempotency-key']) {
          const value = request.headers[name];
          if (typeof value === 'string') headers[name] = value;
        }
        const body = method === 'POST' ? { body: Buffer.concat(chunks) } : {};
        void fetch(server.url + url, { method, headers, ...body }).then(async (answer) => {
          const text = await answer.text();
          const replayed = answer.headers.get('idempotent-replayed');
          response.writeHead(
            answer.status,
            replayed === null ? {} : { 'idempotent-replayed': replayed },
          );
          response.end(lie(url, text, replayed !== null) ?? text);
        });
      });
    });
  });

  after(async () => {
    await proxy.close();
    await server.close();
  });

  beforeEach(() => {
    printed = [];
    lie = () => null;
    console.log = (text: string) => printed.push(text);
    process.stderr.write = (text: string) => printed.push(text) > 0;
  });

  afterEach(() => {
    console.log = log;
    process.stderr.write = write;
  });

  it('reports no error for an honest server, in both logs', async () => {
    for (const key of [server.live, server.sandbox]) {
      // A second may be too short on a slow machine, so the run is repeated until every check was made.
      for (let all = false; !all;) {
        printed = [];
        assert.equal(await hammer(server.url, { ...OPTIONS, key }), 0, printed.join('\n'));
        const counted = JSON.parse(printed.at(-1) ?? '') as Record<string, number>;
        all = ['appends', 'replays', 'receipts', 'checkpoints'].every((name) => counted[name]! > 0);
      }
    }
  });

  const flip = (text: string, member: string): string | null => {
    const at = text.indexOf(`"${member}":"`) + member.length + 4;
    const other = text[at] === 'A' ? 'B' : 'A';
    return text.includes(`"${member}":"`) ? text.slice(0, at) + other + text.slice(at + 1) : null;
  };
  const lies: readonly (readonly [string, Lie, RegExp])[] = [
    [
      'a receipt that changed',
      (path, text) => (path.startsWith('/r/') ? flip(text, 'signature') : null),
      /a receipt changed/,
    ],
    [
      'an inclusion proof that proves nothing',
      (path, text) =>
        path.startsWith('/r/')
          ? text.replace(
              /"inclusion_proof":\["(.)/,
              (_, first) => `"inclusion_proof":["${first === 'A' ? 'B' : 'A'}`,
            )
          : null,
      /does not verify/,
    ],
    [
      'a replay that is another answer',
      (_path, text, replayed) => (replayed ? flip(text, 'classification') : null),
      /answered before/,
    ],
    [
      'a consistency proof that proves nothing',
      (path, text) =>
        path.includes('/proof/consistency') ? text.replace(/"path":\[.*?\]/, '"path":[]') : null,
      /no consistency/,
    ],
    [
      'an answer that is no receipt',
      (path) => (path.includes('classify') ? '{"ok":true}' : null),
      /an answer is no receipt/,
    ],
  ];
  for (const [what, told, words] of lies) {
    it(`exits 1 for ${what}`, async () => {
      let lies = 0;
      lie = (path, text, replayed) => {
        const lied = told(path, text, replayed);
        if (lied !== null && lied !== text) lies += 1;
        return lied;
      };
      let code = 0;
      // On a slow machine a second may pass without an answer to falsify.
      while (lies === 0) code = await hammer(proxy.url, { ...OPTIONS, key: server.live });
      assert.equal(code, 1, printed.join('\n'));
      assert.match(printed.join('\n'), words);
    });
  }

  it('reports a wrong key, a wrong number, and a service that does not answer', async () => {
    const expected =
      (exit: number, words: RegExp) =>
      (error: unknown): boolean => {
        assert.ok(error instanceof CommandError, String(error));
        assert.equal(error.exit, exit);
        assert.match(error.message, words);
        return true;
      };
    await assert.rejects(
      hammer(server.url, { ...OPTIONS, key: 'svc_live_no' }),
      expected(2, /refused the key: 401/),
    );
    const none = { ...OPTIONS, key: server.live, connections: '0' };
    await assert.rejects(
      hammer(server.url, none),
      expected(2, /--connections is 0, the limits are 1/),
    );
    const away = 'http://127.0.0.1:9';
    await assert.rejects(
      hammer(away, { ...OPTIONS, key: server.live }),
      expected(4, /does not answer/),
    );
  });
});

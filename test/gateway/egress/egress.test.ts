// The egress guard against real receivers on loopback: 127.0.0.2 is allowed, and 127.0.0.1
// represents the private network.

import assert from 'node:assert/strict';
import { openEgress } from '../../../gateway/egress/egress.ts';
import type { EgressOptions, OpenEgress } from '../../../gateway/egress/egress.ts';
import type { Answered, Posted } from '../../../gateway/egress/posting.ts';
import { startReceiver, startTwins } from './receiver.ts';
import type { Receiver } from './receiver.ts';

const OUTSIDE = '127.0.0.2';
const INSIDE = '127.0.0.1';
const v4 = (address: string) => ({ address, family: 4 });
const LATE = 'did not answer in time';
const bare = (url: string) => ({ url, headers: {}, body: 'x' });

describe('the egress guard', () => {
  let outside: Receiver;
  let inside: Receiver;
  let open: OpenEgress[] = [];

  const egress = (options: Partial<EgressOptions> = {}): OpenEgress => {
    const one = openEgress({
      allow_http: true,
      thread: true,
      networks: [`${OUTSIDE}/32`],
      timeout_ms: 5000,
      connections: 4,
      ...options,
    });
    open.push(one);
    return one;
  };
  const resolving = (...addresses: readonly string[]): OpenEgress =>
    egress({ resolve: () => Promise.resolve(addresses.map(v4)) });
  const answered = async (sending: Promise<Posted>): Promise<Answered> => {
    const posted = await sending;
    if ('failed' in posted) throw new Error(posted.failed);
    return posted;
  };
  const failed = async (sending: Promise<Posted>): Promise<string> => {
    const posted = await sending;
    return 'failed' in posted ? posted.failed : assert.fail(`answered ${String(posted.status)}`);
  };
  const refused = async (sending: Promise<Posted>): Promise<void> => {
    assert.match(await failed(sending), /^refused: the address .* not public$/);
  };

  before(async () => {
    outside = await startReceiver(OUTSIDE);
    inside = await startReceiver(INSIDE);
  });
  afterEach(async () => {
    for (const one of open) await one.close();
    open = [];
    outside.answer((_, res) => res.writeHead(204).end());
  });
  after(async () => {
    assert.equal(inside.received.length, 0, 'no request reached the private network');
    await outside.close();
    await inside.close();
  });

  it('posts to allowed addresses, and returns the answer', async () => {
    outside.answer((_, res) => res.writeHead(503, { 'retry-after': '7' }).end('busy'));
    const answer = await egress().post({
      url: outside.url('/a?b=c'),
      headers: { 'x-test': '1' },
      body: 'hello',
    });
    assert.deepEqual(answer, { status: 503, retry_after: '7' });
    const last = outside.received.at(-1);
    assert.equal(last?.path, '/a?b=c');
    assert.equal(last.body, 'hello');
    assert.equal(last.headers['x-test'], '1');
  });

  it('checks the parts of a URL: scheme, credentials, port, literal address', () => {
    const strict = egress({ allow_http: false });
    const loose = egress();
    for (const url of [
      'https://example.com/hook',
      'https://example.com:8443/',
      'https://8.8.8.8/',
    ]) {
      assert.equal(strict.refusal(url), null, url);
    }
    assert.match(strict.refusal('http://example.com/') ?? '', /https/);
    assert.equal(loose.refusal('http://example.com:8080/'), null);
    for (const url of [
      ...['', 'example.com', '/hook', 'ftp://example.com/', 'file:///etc/passwd', 'data:,x'],
      ...['https://a:b@example.com/', 'https://a@example.com/', 'https://example.com:25/'],
      ...['https://127.0.0.1/', 'https://127.1/', 'https://2130706433/', 'https://0x7f.1/'],
      ...['https://0177.0.0.1/', 'https://①②⑦.0.0.1/', 'https://[::1]/', 'https://[::]/'],
      ...['https://[::ffff:10.0.0.1]/', 'https://169.254.169.254/latest/meta-data', 'https://0/'],
    ]) {
      assert.notEqual(strict.refusal(url), null, url);
      assert.notEqual(loose.refusal(url), null, url);
    }
  });

  it('does not connect to a private literal address for any caller', async () => {
    await refused(egress().post(bare(inside.url())));
    await refused(egress().post(bare(`http://[::1]:${String(inside.port)}/`)));
  });

  it('checks every address of a name, and connects only to an address that it checked', async () => {
    const url = outside.url('/named', 'receiver.test');
    assert.equal((await answered(resolving(OUTSIDE).post(bare(url)))).status, 204);
    assert.equal(outside.received.at(-1)?.headers.host, `receiver.test:${String(outside.port)}`);
    const inward = inside.url('/', 'receiver.test');
    await refused(resolving(INSIDE).post(bare(inward)));
    await refused(resolving(OUTSIDE, INSIDE).post(bare(inward)));
    await refused(resolving(INSIDE, OUTSIDE).post(bare(url)));
    await refused(resolving().post(bare(url)));
  });

  it('refuses a name that resolves to a private address after its first answer', async () => {
    const answers = [OUTSIDE, INSIDE, INSIDE, INSIDE];
    const asked: string[] = [];
    const rebinding = egress({
      resolve: (name) => {
        asked.push(name);
        return Promise.resolve([v4(answers.shift() ?? INSIDE)]);
      },
    });
    // Both listen on the same port, so that only the address tells them apart.
    const [named, twin] = await startTwins(OUTSIDE, INSIDE);
    try {
      named.answer((_, res) => res.writeHead(204, { connection: 'close' }).end());
      const url = named.url('/', 'rebinding.test');
      assert.equal((await answered(rebinding.post(bare(url)))).status, 204);
      await refused(rebinding.post(bare(url)));
      assert.deepEqual(asked, ['rebinding.test', 'rebinding.test']);
      assert.equal(twin.received.length, 0);
    } finally {
      await named.close();
      await twin.close();
    }
  });

  it('follows no redirect', async () => {
    for (const status of [301, 302, 307, 308]) {
      outside.answer((_, res) => res.writeHead(status, { location: inside.url() }).end());
      assert.equal((await answered(egress().post(bare(outside.url())))).status, status);
    }
  });

  it('reads at most 64 KiB of an endless answer', async () => {
    let sent = 0;
    outside.answer((_, res) => {
      const chunk = Buffer.alloc(65_536);
      res.writeHead(200);
      const more = (): void => {
        while (sent < 1_000_000_000 && !res.destroyed) {
          sent += chunk.length;
          if (!res.write(chunk)) break;
        }
      };
      res.on('drain', more);
      more();
    });
    assert.equal((await answered(egress().post(bare(outside.url())))).status, 200);
    assert.ok(sent < 100_000_000, `${String(sent)} bytes had been sent`);
  });

  it('ends connections to receivers that do not answer, or answer too slowly', async () => {
    outside.answer(() => undefined);
    assert.equal(await failed(egress({ timeout_ms: 100 }).post(bare(outside.url()))), LATE);
    outside.answer((_, res) => {
      res.writeHead(200);
      const trickle = setInterval(() => res.write('.'), 10);
      res.on('close', () => {
        clearInterval(trickle);
      });
    });
    assert.equal(await failed(egress({ timeout_ms: 200 }).post(bare(outside.url()))), LATE);
  });

  it('aborts the requests in flight when it is closed', async () => {
    for (const resolve of [undefined, () => Promise.resolve([v4(OUTSIDE)])]) {
      const one = egress(resolve === undefined ? {} : { resolve });
      const arrived = new Promise((begun) => {
        outside.answer(begun);
      });
      const sending = one.post(bare(outside.url('/', resolve && 'receiver.test')));
      await arrived;
      await one.close();
      assert.match(await failed(sending), /^failed: UND_ERR_/);
    }
  });

  it('lets requests of the operator reach private addresses, without redirects', async () => {
    const { configured } = egress({ allow_http: false, networks: [] });
    outside.answer((_, res) => res.writeHead(200).end('{"ok":true}'));
    const response = await configured(outside.url(), { method: 'POST', body: '{}' });
    assert.deepEqual(await response.json(), { ok: true });
    outside.answer((_, res) => res.writeHead(302, { location: inside.url() }).end());
    await assert.rejects(configured(outside.url()));
  });
});

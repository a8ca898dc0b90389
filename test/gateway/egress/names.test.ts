// Host names from requests, resolved by a real DNS server on this machine.

import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import type { Socket } from 'node:dgram';
import { once } from 'node:events';
import { openNames } from '../../../gateway/egress/names.ts';
import type { Names } from '../../../gateway/egress/names.ts';

const A = 1;
const HEADER = 12;
const NOT_FOUND = 3;

/** Answers `both…` with two addresses, `four…` with one, `none…` as missing, and `slow…` never. */
function answer(question: Buffer): Buffer | null {
  const first = question.toString('latin1', HEADER + 1, HEADER + 5);
  if (first === 'slow') return null;
  const end = question.indexOf(0, HEADER) + 5;
  const type = question.readUInt16BE(end - 4);
  const data =
    type === A
      ? Buffer.from([192, 0, 2, 7])
      : Buffer.from('20010db8' + '0'.repeat(23) + '7', 'hex');
  const found = first === 'both' || (first === 'four' && type === A);
  const head = Buffer.from(question.subarray(0, HEADER));
  head.writeUInt16BE(0x8180 + (first === 'none' ? NOT_FOUND : 0), 2);
  [1, found ? 1 : 0, 0, 0].forEach((count, i) => head.writeUInt16BE(count, 4 + 2 * i));
  const record = Buffer.from([0xc0, HEADER, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length]);
  const answers = found ? [record, data] : [];
  return Buffer.concat([head, question.subarray(HEADER, end), ...answers]);
}

describe('host names from requests', () => {
  let socket: Socket;
  let servers: readonly string[];
  let names: Names;
  before(async () => {
    socket = createSocket('udp4');
    socket.on('message', (question, { port, address }) => {
      const answered = answer(question);
      if (answered !== null) socket.send(answered, port, address);
    });
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    servers = [`127.0.0.1:${String(socket.address().port)}`];
    names = openNames({ local: false, servers });
  });
  after(() => socket.close());

  it('resolve to all their addresses, IPv4 and IPv6', async () => {
    const four = { address: '192.0.2.7', family: 4 };
    const six = { address: '2001:db8::7', family: 6 };
    assert.deepEqual(await names.resolve('both.example'), [four, six]);
    assert.deepEqual(await names.resolve('four.example'), [four]);
  });

  it('give an error if they do not exist or have no address', async () => {
    await assert.rejects(names.resolve('none.example'), { code: 'ENOTFOUND' });
    await assert.rejects(names.resolve('bare.example'), { code: 'ENODATA' });
  });

  it('do not delay other lookups, however many get no answer', async () => {
    const slow = Array.from({ length: 100 }, (_, i) => names.resolve(`slow${String(i)}.example`));
    let ended = 0;
    const ends = slow.map((one) => one.catch(() => (ended += 1)));
    assert.equal((await names.resolve('both.example')).length, 2);
    names.close();
    await Promise.all(ends);
    assert.equal(ended, slow.length);
  });

  it('may be names of this machine if private networks are allowed', async () => {
    const local = openNames({ local: true, servers });
    for (const { address } of await local.resolve('localhost')) {
      assert.match(address, /^(127\.0\.0\.1|::1)$/);
    }
    assert.equal((await local.resolve('four.example')).length, 1);
    await assert.rejects(names.resolve('localhost'), /ENODATA|ENOTFOUND/);
  });
});

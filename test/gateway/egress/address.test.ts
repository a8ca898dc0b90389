// Which addresses are public (RFC 6890 and later registrations), in every spelling that a resolver may return.

import assert from 'node:assert/strict';
import { mayConnect, parseNetwork } from '../../../gateway/egress/address.ts';

const PRIVATE = [
  ...['0.0.0.0', '10.0.0.1', '100.64.0.1', '127.0.0.1', '127.255.255.254', '169.254.169.254'],
  ...['172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.2.1', '192.168.1.1', '198.18.0.1'],
  ...['198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
  ...['::', '::1', 'fe80::1', 'fe80::1%eth0', 'fec0::1', 'fc00::1', 'fd12:3456::1', 'ff02::1'],
  ...['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:7f00:1', '::127.0.0.1', '64:ff9b::a00:1'],
  ...['64:ff9b:1::1', '2002:7f00:1::1', '2001::1', '2001:db8::1', '3fff::1', '100::1', '4000::1'],
];
const PUBLIC = ['8.8.8.8', '1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00::1'];
const NEITHER = [
  '',
  'localhost',
  '127.1',
  '2130706433',
  '0x7f000001',
  '017700000001',
  '1.2.3',
  '[::1]',
];

describe('public addresses', () => {
  it('are recognised in every spelling', () => {
    for (const address of PUBLIC) assert.equal(mayConnect(address, []), true, address);
    for (const address of PRIVATE) assert.equal(mayConnect(address, []), false, address);
    assert.equal(mayConnect('::ffff:8.8.8.8', []), true);
  });

  it('are accepted as four decimals or RFC 4291 text only, since parsers disagree about other spellings', () => {
    const all = [parseNetwork('0.0.0.0/0'), parseNetwork('::/0')];
    for (const address of NEITHER) assert.equal(mayConnect(address, all), false, address);
  });

  it('include the networks that the operator allows, and no others', () => {
    const networks = [parseNetwork('127.0.0.2/32'), parseNetwork('fd00:1::/32')];
    for (const address of ['127.0.0.2', '::ffff:127.0.0.2', 'fd00:1::5']) {
      assert.equal(mayConnect(address, networks), true, address);
    }
    for (const address of ['127.0.0.1', '127.0.0.3', 'fd00:2::5', '::1']) {
      assert.equal(mayConnect(address, networks), false, address);
    }
  });

  it('are not configured by networks in another than the canonical spelling', () => {
    for (const text of ['10.0.0.0', '10.0.0.0/33', 'fd00::/129', 'here/8', '']) {
      assert.throws(() => parseNetwork(text), text);
    }
    assert.throws(() => parseNetwork('10.0.0.1/8'), /the network is 10\.0\.0\.0/);
  });
});

// A self-signed certificate for an address, made at run time so that no stored one can expire. It has only the
// members that a TLS client reads, in DER. RFC 5280 §4.1; RFC 8410.

import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

/** Options of a TLS server, in PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

const DAY_MS = 86_400_000;
/** Object identifiers: id-Ed25519, id-at-commonName, id-ce-subjectAltName. */
const [ED25519, COMMON_NAME, ALT_NAME] = ['2b6570', '550403', '551d11'];

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const { length } = body;
  const size =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}

const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const bits = (bytes: Uint8Array): Buffer => der(0x03, Buffer.of(0), bytes);

/** RFC 5280 §4.1.2.5.1, with a two-digit year. */
const utcTime = (ms: number): Buffer => {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return der(0x17, Buffer.from(digits.slice(2)));
};

/** A self-signed certificate for an IPv4 address, valid from yesterday to tomorrow. */
export function selfSigned(address: string): Certificate {
  if (!isIPv4(address)) throw new Error(`${address} is no IPv4 address`);
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const algorithm = sequence(oid(ED25519));
  const name = sequence(
    der(0x31, sequence(oid(COMMON_NAME), der(0x0c, Buffer.from('actlog test')))),
  );
  // Positive and without a leading zero, for any bytes.
  const serial = Buffer.concat([Buffer.of(0x40), randomBytes(8)]);
  const ip = der(0x87, Buffer.from(address.split('.').map(Number)));
  const extension = sequence(oid(ALT_NAME), der(0x04, sequence(ip)));
  const signed = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, serial),
    algorithm,
    name,
    sequence(utcTime(Date.now() - DAY_MS), utcTime(Date.now() + DAY_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extension)),
  );
  const whole = sequence(signed, algorithm, bits(sign(null, signed, privateKey)));
  const lines = whole.toString('base64').replaceAll(/.{64}/g, '$&\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${lines.trimEnd()}\n-----END CERTIFICATE-----\n`,
  };
}

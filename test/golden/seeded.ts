// Preloaded: replaces every source of randomness of node:crypto by a sequence from a fixed seed, so that each run
// creates the same keys, ids and salts. ECDSA signatures, which OpenSSL randomises, become a fixed function of key
// and message. Timers of ten seconds and more never fire, and page scripts count as not built. For test/golden only.

import crypto from 'node:crypto';
import { createRequire, syncBuiltinESMExports } from 'node:module';

/** The CommonJS object of the module; after the sync below, its members are what all imports see. */
const patched = createRequire(import.meta.url)('node:crypto') as Record<string, unknown>;

/** The number of draws of each kind. */
const drawn = new Map<string, number>();

/**
 * The next bytes of the sequence of one kind of draw, which SHAKE256 derives from a name and a counter. Each kind has
 * its own sequence, so that a timer that draws the name of a temporary file does not change the ids of entries.
 */
function bytes(count: number, kind: string): Buffer {
  const name = `${kind} ${String(count)}`;
  const n = (drawn.get(name) ?? 0) + 1;
  drawn.set(name, n);
  const shake = crypto.createHash('shake256', { outputLength: Math.max(count, 1) });
  return shake
    .update(`actlog golden ${name} ${String(n)}`)
    .digest()
    .subarray(0, count);
}

function fill<T extends NodeJS.ArrayBufferView>(target: T, offset = 0, size?: number): T {
  const view = new Uint8Array(target.buffer, target.byteOffset, target.byteLength);
  const end = size === undefined ? view.length : offset + size;
  view.set(bytes(end - offset, 'fill'), offset);
  return target;
}

const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');

function ed25519Pair(): crypto.KeyPairKeyObjectResult {
  const der = Buffer.concat([PKCS8_ED25519, bytes(32, 'ed25519')]);
  const privateKey = crypto.createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  return { privateKey, publicKey: crypto.createPublicKey(privateKey) };
}

function p256Pair(): crypto.KeyPairKeyObjectResult {
  const ecdh = crypto.createECDH('prime256v1');
  const secret = bytes(32, 'p256');
  ecdh.setPrivateKey(secret);
  const point = ecdh.getPublicKey();
  const jwk = {
    kty: 'EC',
    crv: 'P-256',
    d: secret.toString('base64url'),
    x: point.subarray(1, 33).toString('base64url'),
    y: point.subarray(33).toString('base64url'),
  };
  const privateKey = crypto.createPrivateKey({ key: jwk, format: 'jwk' });
  return { privateKey, publicKey: crypto.createPublicKey(privateKey) };
}

const systemSign = crypto.sign.bind(crypto);
type Key = { readonly key?: crypto.KeyObject } & Partial<crypto.KeyObject>;
type Signed = (error: Error | null, signature: Buffer) => void;

/** Ed25519 signs as usual; P-256 returns 64 bytes that no verifier accepts, which the golden run does not need. */
function sign(algorithm: string | null, message: Uint8Array, key: Key, done?: Signed): unknown {
  const inner = (key.key ?? key) as crypto.KeyObject;
  if (inner.asymmetricKeyType !== 'ec') {
    const given = [algorithm, message, key, ...(done === undefined ? [] : [done])];
    return Reflect.apply(systemSign, crypto, given) as unknown;
  }
  const { d = '' } = inner.export({ format: 'jwk' });
  const signature = crypto.createHash('sha512').update(d).update(message).digest();
  if (done === undefined) return signature;
  queueMicrotask(() => done(null, signature));
  return undefined;
}

Object.assign(patched, {
  sign,
  randomFillSync: fill,
  randomBytes: (count: number) => bytes(count, 'bytes'),
  randomInt: (from: number, to?: number) => {
    const [low, high] = to === undefined ? [0, from] : [from, to];
    return low + Number(bytes(8, 'int').readBigUInt64BE() % BigInt(high - low));
  },
  randomUUID: () => {
    const id = bytes(16, 'uuid');
    id.writeUInt8(((id[6] ?? 0) & 0x0f) | 0x40, 6);
    id.writeUInt8(((id[8] ?? 0) & 0x3f) | 0x80, 8);
    return id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  },
  generateKeyPairSync: (type: string) => (type === 'ed25519' ? ed25519Pair() : p256Pair()),
});

/** Page scripts may be built or not, and the kit has the hash of one of them: in this run none is built. */
const files = createRequire(import.meta.url)('node:fs') as {
  existsSync: (path: unknown) => boolean;
};
const isThere = files.existsSync;
files.existsSync = (path) => !String(path).includes('/dist/') && isThere(path);
syncBuiltinESMExports();
const web = (values: NodeJS.ArrayBufferView): unknown => fill(values);
Object.defineProperty(crypto.webcrypto, 'getRandomValues', { value: web });

/** Jobs and idle checkpoints would run only if a slow machine took this long, so they never run. */
const NEVER_MS = 10_000;
const FOREVER_MS = 2 ** 31 - 1;
for (const name of ['setTimeout', 'setInterval'] as const) {
  const system = globalThis[name] as (run: () => void, ms?: number, ...rest: unknown[]) => unknown;
  const patient = (run: () => void, ms = 0, ...rest: unknown[]): unknown =>
    system(run, ms >= NEVER_MS ? FOREVER_MS : ms, ...rest);
  Object.defineProperty(globalThis, name, { value: patient });
}

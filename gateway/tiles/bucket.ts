// An S3-compatible bucket as a store of published logs. The AWS SDK is loaded here, and only when TILES_URL is set. Its
// requests go to the address that the operator configured, with time limits and without following redirects.

import { randomUUID } from 'node:crypto';
import type * as Sdk from '@aws-sdk/client-s3';
import { forked, parseTilePath, TILE_WIDTH } from '../../log/index.ts';
import type { StoredPartial, TileStore } from '../../log/index.ts';

/** Where the bucket is. Credentials and region come from the AWS_* variables and files that the SDK reads. */
export interface BucketPlace {
  /** `s3://bucket/prefix`, or `s3://bucket`. */
  readonly url: string;
  /** Address of the service; empty for AWS. */
  readonly endpoint: string;
}

/** What conditional writes the bucket honours; the probe finds out. */
export interface Conditions {
  /** `If-None-Match: *` refuses to replace an object. */
  readonly create: boolean;
  /** `If-Match` refuses to replace an object that changed. */
  readonly replace: boolean;
}

/** How an object is cached by what serves the bucket. */
const IMMUTABLE = 'public, max-age=31536000, immutable';
const SHORT = 'public, max-age=60';

const CONNECT_TIMEOUT_MS = 5000;
const REQUEST_TIMEOUT_MS = 30_000;
const SOCKETS = 32;

/** A write that lost to another one; the object must be read again. */
class Lost extends Error {
  override readonly name = 'Lost';
}

interface Put {
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly type: string;
  readonly cache: string;
  /** `new`: only where there is no object; a tag: only in place of this object. */
  readonly only?: { readonly absent: true } | { readonly etag: string };
}

/** A bucket, or the part of it below a prefix. */
export class Bucket {
  readonly name: string;
  readonly #sdk: typeof Sdk;
  readonly #client: Sdk.S3Client;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #signal: AbortSignal;
  #conditions: Promise<Conditions> | null = null;

  private constructor(sdk: typeof Sdk, { url, endpoint }: BucketPlace, signal: AbortSignal) {
    const { hostname, pathname } = new URL(url);
    this.name = url.replace(/\/+$/, '');
    this.#sdk = sdk;
    this.#bucket = hostname;
    this.#prefix = pathname.replace(/^\/+|\/+$/g, '');
    this.#signal = signal;
    this.#client = new sdk.S3Client({
      // Stores other than AWS may know no region and no virtual host for each bucket.
      ...(endpoint === '' ? {} : { endpoint, forcePathStyle: true, region: regionOr('us-east-1') }),
      // Checksums that other stores refuse are not sent unless an operation demands them.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        connectionTimeout: CONNECT_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        throwOnRequestTimeout: true,
        httpAgent: { maxSockets: SOCKETS },
        httpsAgent: { maxSockets: SOCKETS },
      },
    });
  }

  /** Loads the SDK. Nothing is sent before the first operation. The signal ends requests in flight. */
  static async open(place: BucketPlace, signal: AbortSignal): Promise<Bucket> {
    return new Bucket(await import('@aws-sdk/client-s3'), place, signal);
  }

  /** What the bucket honours. Probed with an object of its own on the first call, and again after a failed probe. */
  conditions(): Promise<Conditions> {
    this.#conditions ??= this.#probe().catch((error: unknown) => {
      this.#conditions = null;
      throw error;
    });
    return this.#conditions;
  }

  /** The store of a log; `place` is its prefix in the bucket, such as `log/live/1`. */
  store(place: string): TileStore {
    return new BucketStore(this, place);
  }

  /** Writes an object, whatever is there. */
  async write(path: string, bytes: Uint8Array, type: string, cache: string): Promise<void> {
    await this.put({ key: this.key(path), bytes, type, cache });
  }

  key(path: string): string {
    return this.#prefix === '' ? path : `${this.#prefix}/${path}`;
  }

  /** Rejects with `Lost` if the condition does not hold. Returns the ETag, opaque and quoted as it came. */
  async put({ key, bytes, type, cache, only }: Put): Promise<string | null> {
    const condition =
      only === undefined ? {} : 'etag' in only ? { IfMatch: only.etag } : { IfNoneMatch: '*' };
    const command = new this.#sdk.PutObjectCommand({
      Bucket: this.#bucket,
      Key: key,
      Body: bytes,
      ContentType: type,
      CacheControl: cache,
      ...condition,
    });
    try {
      const { ETag } = await this.#client.send(command, { abortSignal: this.#signal });
      return ETag ?? null;
    } catch (error) {
      const status = statusOf(error);
      // 409: another write of the object is in progress. 404: If-Match without an object.
      if (only !== undefined && [404, 409, 412].includes(status) && !isNoBucket(error)) {
        throw new Lost(`another process wrote ${key}`, { cause: error });
      }
      throw error;
    }
  }

  async get(key: string): Promise<{ bytes: Uint8Array; etag: string | null } | null> {
    const command = new this.#sdk.GetObjectCommand({ Bucket: this.#bucket, Key: key });
    try {
      const { Body, ETag } = await this.#client.send(command, { abortSignal: this.#signal });
      if (Body === undefined) throw new Error(`${key} came without a body`);
      return { bytes: await Body.transformToByteArray(), etag: ETag ?? null };
    } catch (error) {
      if (statusOf(error) === 404 && !isNoBucket(error)) return null;
      throw error;
    }
  }

  async remove(key: string): Promise<void> {
    const command = new this.#sdk.DeleteObjectCommand({ Bucket: this.#bucket, Key: key });
    await this.#client.send(command, { abortSignal: this.#signal });
  }

  /** All objects below a key, in the order of their keys. */
  async *list(below: string): AsyncGenerator<{ key: string; modified_at_ms: number }> {
    const pages = this.#sdk.paginateListObjectsV2(
      { client: this.#client },
      { Bucket: this.#bucket, Prefix: below },
      { abortSignal: this.#signal },
    );
    for await (const { Contents = [] } of pages) {
      for (const { Key, LastModified } of Contents) {
        if (Key === undefined) continue;
        yield { key: Key, modified_at_ms: LastModified?.getTime() ?? Date.now() };
      }
    }
  }

  close(): void {
    this.#client.destroy();
  }

  async #probe(): Promise<Conditions> {
    const key = this.key(`.probe-${randomUUID()}`);
    const put = (text: string, only?: Put['only']) => {
      const bytes = Buffer.from(text);
      const base = { key, bytes, type: 'text/plain', cache: 'no-store' };
      return this.put(only === undefined ? base : { ...base, only });
    };
    const refused = async (text: string, only: Put['only']): Promise<boolean> => {
      try {
        await put(text, only);
        return false;
      } catch (error) {
        if (error instanceof Lost) return true;
        // The store says that it does not implement the header.
        if (statusOf(error) === 501) return false;
        throw error;
      }
    };
    try {
      await put('1');
      const create = await refused('2', { absent: true });
      const etag = await put('3');
      const wrong = await refused('4', { etag: '"00000000000000000000000000000000"' });
      const right = etag !== null && !(await refused('5', { etag }));
      const there = await this.get(key);
      const written = there !== null && Buffer.from(there.bytes).toString() === '5';
      return { create, replace: wrong && right && written };
    } finally {
      await this.remove(key).catch(() => undefined);
    }
  }
}

/** One log in a bucket. */
class BucketStore implements TileStore {
  readonly name: string;
  readonly #bucket: Bucket;
  readonly #place: string;
  /** The ETag of the checkpoint that was read or written last; null for none. */
  #etag: string | null = null;

  constructor(bucket: Bucket, place: string) {
    this.name = `${bucket.name}/${place}`;
    this.#bucket = bucket;
    this.#place = place;
  }

  async read(path: string): Promise<Uint8Array | null> {
    return (await this.#bucket.get(this.#key(path)))?.bytes ?? null;
  }

  /** Never replaces an object. Where the bucket does not check that, the object is read first. */
  async put(path: string, bytes: Uint8Array): Promise<void> {
    const { create } = await this.#bucket.conditions();
    const cache = path.includes('.p/') ? SHORT : IMMUTABLE;
    const object = { key: this.#key(path), bytes, type: 'application/octet-stream', cache };
    if (create) {
      try {
        await this.#bucket.put({ ...object, only: { absent: true } });
        return;
      } catch (error) {
        if (!(error instanceof Lost)) throw error;
      }
    }
    const there = await this.read(path);
    if (there === null) await this.#bucket.put(object);
    else if (Buffer.compare(there, bytes) !== 0) throw forked(this.#bucket.name, this.#key(path));
  }

  async checkpoint(): Promise<string | null> {
    const found = await this.#bucket.get(this.#key('checkpoint'));
    this.#etag = found?.etag ?? null;
    return found === null ? null : Buffer.from(found.bytes).toString('utf8');
  }

  async putCheckpoint(note: string): Promise<void> {
    const { create, replace } = await this.#bucket.conditions();
    const etag = this.#etag;
    const only = etag === null ? { absent: true as const } : { etag };
    const written = await this.#bucket.put({
      key: this.#key('checkpoint'),
      bytes: Buffer.from(note),
      type: 'text/plain; charset=utf-8',
      cache: 'no-cache',
      ...((etag === null ? create : replace) ? { only } : {}),
    });
    this.#etag = written;
  }

  async *partials(): AsyncGenerator<StoredPartial> {
    const base = this.#key('');
    // The key of a full tile sorts directly before those of its partial ones.
    let full = { path: '', modified_at_ms: 0 };
    for await (const { key, modified_at_ms } of this.#bucket.list(this.#key('tile/'))) {
      const path = key.slice(base.length);
      const tile = parseTilePath(path);
      if (tile === null) continue;
      if (tile.width === TILE_WIDTH) full = { path, modified_at_ms };
      else {
        const superseded = path.startsWith(`${full.path}.p/`);
        yield { path, full_at_ms: superseded ? full.modified_at_ms : null };
      }
    }
  }

  remove(path: string): Promise<void> {
    return this.#bucket.remove(this.#key(path));
  }

  #key(path: string): string {
    return this.#bucket.key(`${this.#place}/${path}`);
  }
}

/** For AWS itself, the SDK finds the region, in its files too. */
const regionOr = (fallback: string): string =>
  process.env['AWS_REGION'] ?? process.env['AWS_DEFAULT_REGION'] ?? fallback;

const statusOf = (error: unknown): number =>
  (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode ?? 0;

const isNoBucket = (error: unknown): boolean => (error as Error).name === 'NoSuchBucket';

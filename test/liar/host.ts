// Serves stories over HTTP as C2SP tlog-tiles, honestly or not, with the kit of their keys.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Story } from './story.ts';
import { tileHashes } from './tree.ts';

/** A served log; a lie changes it. */
export interface Served {
  story: Story;
  note: string;
  entries: readonly Buffer[];
  leaves: readonly Buffer[];
}

/** An answer: bytes, a status, or null for the honest one. `count` counts the requests for this path from 1. */
export type Interfere = (path: string, count: number) => Buffer | number | null;

export class Host {
  /** Replaces answers; `path` is within a log, such as `live/1/tile/0/000.p/8`. */
  interfere: Interfere = () => null;
  readonly asked: string[] = [];
  readonly #logs = new Map<string, Served>();
  readonly #server = createServer((request, response) => {
    const path = (request.url ?? '').replace(/^\/log\//, '');
    this.asked.push(path);
    const count = this.asked.filter((other) => other === path).length;
    const own = this.interfere(path, count);
    const body = own ?? this.#answer(path);
    const status = typeof body === 'number' ? body : body === null ? 404 : 200;
    response.writeHead(status).end(status === 200 ? body : '');
  });
  #url = '';

  get url(): string {
    return this.#url;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    this.#url = `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
    return this;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Removes all logs. */
  clear(): void {
    this.#logs.clear();
    this.asked.length = 0;
    this.interfere = () => null;
  }

  /** All served logs. */
  logs(): readonly Served[] {
    return [...this.#logs.values()];
  }

  /** Serves the present state of a story. */
  put(story: Story, note = story.note()): Served {
    const entries = [...story.entries];
    const served = { story, note, entries, leaves: [...story.leaves] };
    this.#logs.set(`${story.kind}/${String(story.number)}`, served);
    return served;
  }

  #answer(path: string): Buffer | null {
    if (path === '/export/offline-verify-kit.json') return this.#kit();
    const [, place = '', rest = ''] = /^((?:live|sandbox)\/\d+)\/(.*)$/.exec(path) ?? [];
    const log = this.#logs.get(place);
    if (log === undefined) return null;
    if (rest === 'checkpoint') return Buffer.from(log.note);
    const [, level = '', digits = '', partial] =
      /^tile\/(entries|\d+)\/((?:x\d{3}\/)*\d{3})(?:\.p\/(\d+))?$/.exec(rest) ?? [];
    if (level === '') return null;
    const n = Number(digits.replaceAll(/[x/]/g, ''));
    const width = partial === undefined ? 256 : Number(partial);
    if (level !== 'entries') return tileHashes(log.leaves, Number(level), n, width);
    const entries = log.entries.slice(n * 256, n * 256 + width);
    return entries.length < width ? null : bundleOf(entries);
  }

  #kit(): Buffer {
    const logs = [...this.#logs.values()].map(({ story: { origin, vkey } }) => ({ origin, vkey }));
    return Buffer.from(JSON.stringify({ schema: 'svc-offline-verify-kit-v1', logs }));
  }
}

/** For each entry its u16 length and its bytes. */
export function bundleOf(entries: readonly Buffer[]): Buffer {
  return Buffer.concat(
    entries.flatMap((entry) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(entry.length);
      return [length, entry];
    }),
  );
}

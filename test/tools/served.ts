// Starts a server as a separate process, as `npm start` does, for tests of commands that are run beside it.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { start } from '../support/actlog.ts';

/** A server on its own folder. */
export class Served {
  readonly folder: string;
  readonly data: string;
  /** Its output so far. */
  printed = '';
  readonly #server: ChildProcessWithoutNullStreams;

  private constructor(folder: string) {
    this.folder = folder;
    this.data = join(folder, 'data');
    const env = {
      PORT: '0',
      LOG_LEVEL: 'silent',
      RATE_LIMITS: 'off',
      ANONYMOUS_WRITES: 'allow',
      CHECKPOINT_INTERVAL_MS: '100',
    };
    this.#server = start(['serve', '--data', this.data], { env });
    this.#server.stdout.setEncoding('utf8');
    this.#server.stderr.setEncoding('utf8').on('data', (text: string) => (this.printed += text));
  }

  static async start(): Promise<Served> {
    const served = new Served(await mkdtemp(join(tmpdir(), 'actlog-serve-')));
    const server = served.#server;
    while (!/actlog serves (\S+)/.test(served.printed)) {
      const [text] = await Promise.race([once(server.stdout, 'data'), once(server, 'exit')]);
      if (typeof text !== 'string') throw new Error(`the server did not start: ${served.printed}`);
      served.printed += text;
    }
    return served;
  }

  async stop(): Promise<void> {
    this.#server.kill('SIGTERM');
    if (this.#server.exitCode === null) await once(this.#server, 'exit');
    await rm(this.folder, { recursive: true, force: true });
  }

  get url(): string {
    return /actlog serves (\S+)/.exec(this.printed)?.[1] ?? '';
  }

  get key(): string {
    return /live key: (\S+)/.exec(this.printed)?.[1] ?? '';
  }

  async answer(path: string, body?: object): Promise<string> {
    const response = await fetch(this.url + path, {
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      headers: { 'content-type': 'application/json', 'x-api-key': this.key, prefer: 'wait=10' },
    });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return text;
  }

  /** Saves an answer to a file. */
  async keep(name: string, path: string, body?: object): Promise<string> {
    const file = join(this.folder, name);
    await writeFile(file, await this.answer(path, body));
    return file;
  }

  /** Saves the silence receipt of a session to a file. */
  silence(session_id: string): Promise<string> {
    return this.keep(`${session_id}.json`, '/silence-receipt', { session_id, context: 'waited' });
  }
}

// A disk that fills up under a server: 503 and nothing acknowledged that is not there, reads go on, and
// with space it takes entries again by itself. gateway/API.md §13. A small tmpfs, so it runs as root only.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../gateway/running.ts';
import type { Answer, Running } from '../gateway/running.ts';

const MEBIBYTE = Buffer.alloc(1024 * 1024, 7);

/** Mounts a tmpfs of 24 MiB; null where that is not allowed. */
async function mountSmall(): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), 'actlog-small-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', folder], { stdio: 'pipe' });
    return folder;
  } catch {
    await rm(folder, { recursive: true });
    return null;
  }
}

/** Takes all space that is left, to the last byte. */
async function fill(path: string): Promise<void> {
  for (const bytes of [MEBIBYTE, MEBIBYTE.subarray(0, 1024), MEBIBYTE.subarray(0, 1)]) {
    for (;;) {
      try {
        await appendFile(path, bytes);
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'ENOSPC');
        break;
      }
    }
  }
}

const classify = (server: Running, message: string): Promise<Answer> =>
  server.post('/api/v1/classify', { message }, { key: server.live });

/** Asks until the status comes; every other answer on the way must be `meanwhile`. */
async function until(
  server: Running,
  status: number,
  meanwhile: number,
  seen: Answer[] = [],
): Promise<Answer> {
  for (let i = 0; ; i += 1) {
    const answer = await classify(server, `Message ${String(i)}`);
    seen.push(answer);
    if (answer.status === status) return answer;
    assert.equal(answer.status, meanwhile, answer.text);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe('a full disk (needs root, to mount a tmpfs)', function () {
  this.timeout(240_000);
  let folder: string | null = null;

  before(async function () {
    folder = await mountSmall();
    if (folder === null) this.skip();
  });

  after(async () => {
    if (folder === null) return;
    execFileSync('umount', ['--lazy', folder]);
    await rm(folder, { recursive: true, force: true });
  });

  it('answers 503, keeps what it acknowledged, and recovers by itself', async () => {
    const data = join(folder ?? '', 'data');
    const ballast = join(folder ?? '', 'ballast');
    const server = await run({ DATA_DIR: data });
    try {
      const told: Answer[] = [await classify(server, 'Before')];
      await fill(ballast);
      let refused = await until(server, 503, 200, told);
      told.pop();
      // A database that tidies up may find room once more, and loses it again.
      while ((await server.get('/health')).json.status !== 'degraded') {
        await fill(ballast);
        refused = await until(server, 503, 200, told);
        told.pop();
      }
      assert.equal(refused.json.error.code, 'log_unavailable');
      assert.ok(Number(refused.headers.get('retry-after')) >= 1, 'says when to come back');
      assert.doesNotMatch(refused.text, /ENOSPC|No space|\.log|leveldb/i, 'no cause in a 5xx');
      for (const { json } of told) {
        assert.equal((await server.get(`/r/${json.entry_id}`)).status, 200, 'reads go on');
      }

      await rm(ballast);
      const after = await until(server, 200, 503);
      const { index } = after.json.log;
      for (const { json } of told) {
        const again = await server.get(`/r/${json.entry_id}`);
        assert.equal(again.json.entry_hash, json.entry_hash);
        assert.ok(json.log.index < index);
      }
      await server.gateway.logs.live.whenPublished(Number(index) + 1);
      // The other log comes back in its own time.
      while ((await server.get('/health')).json.status !== 'ok') {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    } finally {
      await rm(ballast, { force: true });
      await server.close(true);
    }
  });
});

// A disk that becomes full: the server answers 503, acknowledges nothing that is not stored, still serves reads, and
// accepts entries again once there is space. gateway/API.md §13. Uses a small tmpfs, so it needs root.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../gateway/running.ts';
import type { Answer, Running } from '../gateway/running.ts';

const MEBIBYTE = Buffer.alloc(1024 * 1024, 7);

/** Mounts a tmpfs of 24 MiB; null if that is not allowed. */
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

/** Fills the remaining space completely. */
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

/** Repeats the request until it has the status; other answers must be `meanwhile`. */
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

describe('a full disk (needs root to mount a tmpfs)', function () {
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

  it('causes 503, loses nothing acknowledged, and the server recovers', async () => {
    const data = join(folder ?? '', 'data');
    const ballast = join(folder ?? '', 'ballast');
    const server = await run({ DATA_DIR: data });
    try {
      const told: Answer[] = [await classify(server, 'Before')];
      await fill(ballast);
      let refused = await until(server, 503, 200, told);
      told.pop();
      // A compaction of the database may free space once more, which is then filled again.
      while ((await server.get('/health')).json.status !== 'degraded') {
        await fill(ballast);
        refused = await until(server, 503, 200, told);
        told.pop();
      }
      assert.equal(refused.json.error.code, 'log_unavailable');
      assert.ok(Number(refused.headers.get('retry-after')) >= 1, 'the answer has Retry-After');
      assert.doesNotMatch(
        refused.text,
        /ENOSPC|No space|\.log|leveldb/i,
        'a 5xx does not show its cause',
      );
      for (const { json } of told) {
        assert.equal((await server.get(`/r/${json.entry_id}`)).status, 200, 'reads still work');
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
      // The other log recovers later.
      while ((await server.get('/health')).json.status !== 'ok') {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    } finally {
      await rm(ballast, { force: true });
      await server.close(true);
    }
  });
});

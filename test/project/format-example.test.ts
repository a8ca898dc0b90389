// The example entry in log/FORMAT.md §2 has the hash given there.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { canonical, type Json } from '../../log/index.ts';

describe('log/FORMAT.md', () => {
  it('has an example entry with its entry_hash', () => {
    const text = readFileSync(new URL('../../log/FORMAT.md', import.meta.url), 'utf8');
    const [, json, hash] =
      /```json\n(\{.*?\})\n```\n\nIts `entry_hash` is `([0-9a-f]{64})`/s.exec(text) ?? [];
    assert.ok(json !== undefined && hash !== undefined);
    const entry = canonical(JSON.parse(json) as Json);
    const leaf = Buffer.concat([Buffer.of(0), Buffer.from(entry)]);
    assert.equal(createHash('sha256').update(leaf).digest('hex'), hash);
  });
});

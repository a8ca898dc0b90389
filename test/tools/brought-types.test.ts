// The declarations of entry types of this and earlier builds. A log that declared a type refuses another declaration of
// the same name, so that a changed description or order of members would keep data folders from opening.
// log/FORMAT.md §2.4.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { canonical } from '../../log/index.ts';
import { broughtTypes } from '../../tools/brought-types.ts';

/** Hex of SHA-256 of the canonical `{schema, keys}` of each type, by name. Types are added here, and never changed. */
const DECLARED = JSON.parse(
  readFileSync(new URL('../data/declared-types.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, string>>;

describe('the entry types that plugins bring', () => {
  it('have not changed: a change needs a new version', async () => {
    const types = new Map(
      (await broughtTypes({ PLUGINS: [] })).map(({ name, schema, keys }) => {
        const declared = canonical({ schema, keys: keys.map((key) => [...key]) });
        return [name, createHash('sha256').update(declared).digest('hex')];
      }),
    );
    const changed = Object.entries(DECLARED).filter(([name, digest]) => types.get(name) !== digest);
    assert.deepEqual(
      changed.map(([name]) => name),
      [],
    );
  });
});

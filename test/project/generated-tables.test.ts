// tools/OPERATING.md and gateway/API.md have the tables that are generated from the code.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { generatedDocuments } from '../../tools/readme.ts';

describe('the generated tables of the guides', () => {
  it('are up to date (npm run readme writes them)', async () => {
    for (const [path, text] of Object.entries(await generatedDocuments())) {
      assert.equal(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'), text, path);
    }
  });
});

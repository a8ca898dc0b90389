// tools/OPERATING.md shows the settings that the code has.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { operatingText } from '../../tools/readme.ts';

describe('tools/OPERATING.md', () => {
  it('has the table of settings as declared (npm run readme writes it)', async () => {
    const shown = readFileSync(new URL('../../tools/OPERATING.md', import.meta.url), 'utf8');
    assert.equal(shown, await operatingText());
  });
});

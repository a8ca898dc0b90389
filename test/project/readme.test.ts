// README.md shows the settings that the code has.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readmeText } from '../../tools/readme.ts';

describe('README.md', () => {
  it('has the table of settings as declared (npm run readme writes it)', async () => {
    const shown = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    assert.equal(shown, await readmeText());
  });
});

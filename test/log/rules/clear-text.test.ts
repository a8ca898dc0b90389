// subject_key, the key of the chain that an entry is about, is clear text by its own grammar. log/FORMAT.md §2, §3.

import assert from 'node:assert/strict';
import { checkClearText, clearTextOf } from '../../../log/rules/clear-text.ts';

const rules = clearTextOf({ properties: { subject_key: {} } });
const accepted = (subject_key: string[]): boolean => {
  try {
    checkClearText({ subject_key }, rules);
    return true;
  } catch {
    return false;
  }
};

describe('subject_key in clear', () => {
  it('may be the key of any chain of the core, even if a member is not an identifier', () => {
    assert.ok(accepted(['session', `-${'a'.repeat(41)}A`]));
    assert.ok(accepted(['session', `_${'a'.repeat(41)}A`]));
    assert.ok(accepted(['payment', '+/=+/=+/=+/=+/=+/=']));
    assert.ok(accepted(['surface', 'acme', 'tool_invoke']));
  });

  it('must be the key of a chain, and no other member may be one', () => {
    assert.equal(accepted(['session', '-free text']), false);
    assert.equal(accepted(['session', `-${'a'.repeat(41)}A`, 'free text']), false);
    assert.equal(accepted(['free text']), false);
    assert.throws(() => checkClearText({ other: ['session', `-${'a'.repeat(41)}A`] }, rules));
  });
});

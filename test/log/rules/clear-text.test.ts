// The key of the chain that an entry speaks about stands in clear by its own grammar. log/FORMAT.md §2, §3.

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
  it('may name any chain of the core, also one that no identifier spells', () => {
    assert.ok(accepted(['session', `-${'a'.repeat(41)}A`]));
    assert.ok(accepted(['session', `_${'a'.repeat(41)}A`]));
    assert.ok(accepted(['payment', '+/=+/=+/=+/=+/=+/=']));
    assert.ok(accepted(['surface', 'acme', 'tool_invoke']));
  });

  it('may hold nothing else', () => {
    assert.equal(accepted(['session', '-free text']), false);
    assert.equal(accepted(['session', `-${'a'.repeat(41)}A`, 'free text']), false);
    assert.equal(accepted(['free text']), false);
    assert.throws(() => checkClearText({ other: ['session', `-${'a'.repeat(41)}A`] }, rules));
  });
});

// Tests of tools/command-line.ts.

import assert from 'node:assert/strict';
import { withKeyIds } from '../../tools/command-line.ts';

describe('command line', () => {
  const KID = '-eXf-4LOSQODQ7hVQGt21xt32qIbIcDFTuFcguKFYeQ';

  it('takes a key id that begins like an option for what it is', () => {
    assert.equal(KID.length, 43);
    assert.deepEqual(withKeyIds(['keys', 'revoke-receipt', KID, '--log', 'live']), [
      ...['keys', 'revoke-receipt', '--log', 'live', '--', KID],
    ]);
    assert.deepEqual(withKeyIds(['keys', 'revoke-receipt', '--log', 'live', '--', KID]), [
      ...['keys', 'revoke-receipt', '--log', 'live', '--', KID],
    ]);
  });

  it('leaves all others where they are', () => {
    for (const args of [
      [],
      ['serve', '--data', '-'],
      ['verify', '-', '--key', KID],
      ['keys', 'list', '-h'],
    ])
      assert.deepEqual(withKeyIds(args), args);
  });
});

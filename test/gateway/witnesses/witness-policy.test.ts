// The policy file that names the witnesses of this service. C2SP tlog-policy.

import assert from 'node:assert/strict';
import { ConfigError } from '../../../gateway/config.ts';
import { witnessPolicyOf } from '../../../gateway/witnesses/witness-policy.ts';
import { GrowingTree } from '../../support/growing-tree.ts';
import { cosignerKey } from './answering.ts';

describe('a policy file for this service', () => {
  const key = cosignerKey('a.example', 70);
  const refuses = (text: string, reason: RegExp): void => {
    assert.throws(
      () => witnessPolicyOf(text),
      (error: unknown) => error instanceof ConfigError && reason.test(error.message),
    );
  };

  it('must be a valid policy', () => {
    refuses('witness a', /^WITNESS_POLICY is not a tlog-policy: line 1: /);
    refuses('', /no quorum line/);
  });

  it('must have a quorum that can be met', () => {
    refuses(`witness a ${key}\nquorum a\n`, /that the witnesses with an address cannot meet/);
    refuses(`witness a ${key} ftp://a.example\nquorum a\n`, /no http or https address for .* a$/);
    refuses(`witness a ${key} a.example/w\nquorum a\n`, /no http or https address/);
  });

  it('is published without comments, and with addresses without user and password', () => {
    const text = `# ours\nlog ${new GrowingTree('l.example', 1).vkey}\nwitness  a\t${key} https://u:p@a.example/w \n group g 1 a\nquorum g`;
    assert.deepEqual(witnessPolicyOf(text).shown, [
      `witness a ${key} https://a.example/w`,
      'group g 1 a',
      'quorum g',
    ]);
    assert.deepEqual(witnessPolicyOf(text).vkeys, [key]);
  });
});

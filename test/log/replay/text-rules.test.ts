// Each rule about the text of an entry, broken once. log/FORMAT.md §2.

import type { Json } from '../../../log/encoding/json.ts';
import { act, breaksRules, garbled } from '../../support/break-rule.ts';
import type { Case } from '../../support/break-rule.ts';
import { ACT, seedKey } from '../../support/forge.ts';

const cases: readonly Case[] = [
  ['entry_size', 'over 65,535 bytes', act({ amount: Array.from({ length: 40_000 }, () => 1) })],
  ['entry_json', 'a duplicate member', garbled((text) => text.replace('{', '{"entity":"x",'))],
  ['entry_json', 'no object', garbled(() => '[]')],
  ['entry_json', 'a fraction', garbled((text) => text.replace('"index":6', '"index":6.0'))],
  [
    'entry_json',
    'nesting of 17',
    act({ amount: JSON.parse(`${'['.repeat(16)}${']'.repeat(16)}`) as Json }),
  ],
  ['entry_canonical', 'a space', garbled((text) => text.replace(':', ': '))],
  [
    'entry_canonical',
    'an escape that JCS does not write',
    garbled((text) => text.replace('PERMIT', '\\u0050ERMIT')),
  ],
  ['signature_form', 'no signature', garbled((text) => text.replace(/"signature":"[^"]*",/, ''))],
  ['signature_form', 'spare bits', garbled((text) => text.replace(/.==",/, 'B==",'))],
  [
    'signature',
    'of another key',
    (log) =>
      log.add('gate.decision.v1', ACT, { key: seedKey(0x44), statement: { kid: log.key.kid } }),
  ],
  ['signature', 'of another statement', garbled((text) => text.replace('PERMIT', 'DENY'))],
];

describe('text rules', () => {
  breaksRules('text-rules', cases);
});

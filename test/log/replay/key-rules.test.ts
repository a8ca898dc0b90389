// Each rule about receipt keys, broken once. log/FORMAT.md §2.

import { bent, breaksRules, keyEntry, refuses, rotate } from '../../support/break-rule.ts';
import type { Case } from '../../support/break-rule.ts';
import { ACT, Forge, seedKey } from '../../support/forge.ts';

const cases: readonly Case[] = [
  [
    'kid',
    'of a key that was never declared',
    (log) => log.add('gate.decision.v1', ACT, { key: seedKey(0x44) }),
  ],
  ['kid', 'malformed', bent({ kid: 'x' })],
  [
    'kid',
    'of a retired key',
    (log) => {
      const old = log.key;
      rotate(log, 0x44);
      log.add('gate.decision.v1', ACT, { key: old });
    },
  ],
  [
    'kid',
    'none in force',
    (log) => {
      keyEntry(log, 0x42, 'revoked');
      log.add('gate.decision.v1', ACT);
    },
  ],
  ['key_status', 'retired and unknown', (log) => keyEntry(log, 0x44, 'retired')],
  ['key_status', 'active again', (log) => keyEntry(log, 0x42, 'active')],
  [
    'key_status',
    'back from retirement',
    (log) => {
      rotate(log, 0x44);
      keyEntry(log, 0x42, 'active');
    },
  ],
  [
    'key_status',
    'retired after revoked',
    (log) => {
      rotate(log, 0x44);
      keyEntry(log, 0x42, 'revoked');
      keyEntry(log, 0x42, 'retired');
    },
  ],
  [
    'key_rotation',
    'the old key stays',
    (log) => {
      keyEntry(log, 0x44, 'active');
      log.key = seedKey(0x44);
      log.mapHead();
    },
  ],
  [
    'key_rotation',
    'another key leaves',
    (log) => {
      rotate(log, 0x44);
      keyEntry(log, 0x45, 'active');
      log.key = seedKey(0x45);
      keyEntry(log, 0x42, 'revoked');
    },
  ],
];

describe('key rules', () => {
  breaksRules('key-rules', cases);

  it('kid: entry 0 has a kid that is not of its jwk', () => {
    refuses(new Forge().open({}, { key: seedKey(0x44) }), 'kid');
  });
});

// Each rule about the members of every entry and about time, broken once. log/FORMAT.md §2.

import { native } from '../../../log/crypto/native.ts';
import { Replay } from '../../../log/replay/replay.ts';
import { act, bent, breaksRules, refuses } from '../../support/break-rule.ts';
import type { Case } from '../../support/break-rule.ts';
import { ACT, Forge, hex64, name43, uuid } from '../../support/forge.ts';

const cases: readonly Case[] = [
  ...(['entry_hash', 'permalink', 'verify_url', 'disclosures', 'log', 'ignored'] as const).map(
    (name): Case => ['member_forbidden', name, bent({ [name]: 'x' })],
  ),
  ['type_form', 'no version', bent({ type: 'gate.decision' })],
  ['type_form', 'upper case', bent({ type: 'Gate.decision.v1' })],
  ['type_form', 'version 0', bent({ type: 'gate.decision.v0' })],
  ['origin', 'of another log', bent({ origin: 'log.example/log/live/2' })],
  ['sandbox', 'true in a live log', bent({ sandbox: true })],
  ['sandbox', 'no boolean', bent({ sandbox: 0 })],
  ['index', 'skipped', bent({ index: 7 })],
  ['index', 'missing', bent({ index: undefined })],
  ['issued_at_ms', 'negative', bent({ issued_at_ms: -1 })],
  ['issued_at_ms', 'no number', bent({ issued_at_ms: '1790000006000' })],
  ['entry_id', 'of another time', (log) => bent({ entry_id: uuid(log.ms, 6) })(log)],
  [
    'entry_id',
    'version 4',
    (log) => bent({ entry_id: uuid(log.ms + 1000, 6).replace('-7000', '-4000') })(log),
  ],
  [
    'entry_id',
    'upper case',
    (log) => bent({ entry_id: uuid(log.ms + 1000, 6).toUpperCase() })(log),
  ],
  [
    'entry_id_order',
    'the same',
    (log) => {
      log.add('gate.decision.v1', ACT);
      log.add('gate.decision.v1', ACT, { after_ms: 0, statement: { entry_id: uuid(log.ms, 6) } });
    },
  ],
  [
    'time_order',
    'backwards',
    (log) => {
      log.add('gate.decision.v1', ACT);
      log.add('gate.decision.v1', ACT, { after_ms: -1 });
    },
  ],
  [
    'time_after_map_head',
    'the time of the map head',
    (log) => log.add('gate.decision.v1', ACT, { after_ms: 0 }),
  ],
  ['time_after_map_head', 'of a map head after a map head', (log) => log.mapHead({ after_ms: 0 })],
  ['tenant_ref', 'malformed', bent({ tenant_ref: 'short' })],
  [
    'tenant_unknown',
    'never registered',
    act({ tenant_ref: name43(1).slice(0, 22), entity: 'e', surface: 's' }),
  ],
  ['tenant_declared_twice', 'a tenant', (log) => log.tenant()],
  ['commitments', 'empty', act({ commitments: {} })],
  ['commitments', 'no hash', act({ commitments: { message: 'x' } })],
  ['commitments', 'upper case', act({ commitments: { message: hex64(1).toUpperCase() } })],
  ['commitments', 'named by free text', act({ commitments: { 'a message': hex64(1) } })],
  ['event_at_ms', 'too old', (log) => act({ event_at_ms: log.ms + 1000 - 86_400_001 })(log)],
  ['event_at_ms', 'in the future', (log) => act({ event_at_ms: log.ms + 1000 + 60_001 })(log)],
  ['event_at_ms', 'no number', act({ event_at_ms: 'now' })],
  ['toll', 'without an amount', act({ toll: 'hold' })],
  ['toll', 'an amount without a toll', act({ toll_micro_usd: 1 })],
  ['toll', 'cleared as a string', act({ toll: 'hold', toll_micro_usd: 1, cleared_micro_usd: '1' })],
  ['toll', 'free text', act({ toll: 'on hold', toll_micro_usd: 1 })],
  [
    'submitter',
    'another member',
    act({ submitter: { alg: 'EdDSA', key: 'a', sig: 'b', name: 'c' } }),
  ],
  ['submitter', 'free text', act({ submitter: { alg: 'EdDSA', key: 'my key', sig: 'b' } })],
];

describe('member rules', () => {
  breaksRules('member-rules', cases);

  it('origin: not the one that the caller expects', () => {
    const replay = new Replay({ suite: native, origin: 'log.example/log/live/2' });
    refuses(new Forge().open(), 'origin', replay);
  });

  it('origin: malformed', () => {
    refuses(new Forge('log.example').open(), 'origin');
  });

  it('sandbox: false in a sandbox log', () => {
    refuses(
      new Forge('log.example/log/sandbox/1').open({}, { statement: { sandbox: false } }),
      'sandbox',
    );
  });
});

// Each rule about the beginning and the end of a log, broken once. log/FORMAT.md §1.

import { native } from '../../../log/crypto/native.ts';
import type { JsonObject } from '../../../log/encoding/json.ts';
import { Replay } from '../../../log/replay/replay.ts';
import { breaksRules, refuses } from '../../support/break-rule.ts';
import type { Case } from '../../support/break-rule.ts';
import { ACT, Forge, hex64 } from '../../support/forge.ts';

const cases: readonly Case[] = [
  ['log_open', 'twice', (log) => log.open()],
  [
    'successor',
    'of the other kind',
    (log) => log.add('log.closed.v1', { successor: 'log.example/log/sandbox/2' }),
  ],
  [
    'successor',
    'one too far',
    (log) => log.add('log.closed.v1', { successor: 'log.example/log/live/3' }),
  ],
  [
    'log_closed',
    'an act after the end',
    (log) => {
      log.add('log.closed.v1', { successor: null });
      log.add('gate.decision.v1', ACT);
    },
  ],
  [
    'log_closed',
    'a second map head after the end',
    (log) => {
      log.add('log.closed.v1', { successor: null });
      log.mapHead().mapHead();
    },
  ],
];

describe('life rules', () => {
  breaksRules('life-rules', cases, ['predecessor']);

  it('log_open: entry 0 is an act', () => {
    const log = new Forge();
    log.add('gate.decision.v1', ACT);
    refuses(log, 'log_open');
  });

  const predecessor = { origin: 'log.example/log/live/1', size: 6, root: hex64(1) };
  const second = (change: JsonObject): Forge =>
    new Forge('log.example/log/live/2').open({ predecessor: { ...predecessor, ...change } });
  const known = { ...predecessor, last_ms: 1 };

  it('predecessor: the first log has one', () => {
    refuses(new Forge().open({ predecessor }), 'predecessor');
  });

  it('predecessor: the second log has none', () => {
    refuses(new Forge('log.example/log/live/2').open(), 'predecessor');
  });

  it('predecessor: a log of the other kind', () => {
    refuses(second({ origin: 'log.example/log/sandbox/1' }), 'predecessor');
  });

  it('predecessor: the root differs from the log that was replayed', () => {
    const replay = new Replay({ suite: native, predecessor: known });
    refuses(second({ root: hex64(2) }), 'predecessor', replay);
  });

  it('predecessor: its last entry is later than the start of the log', () => {
    const replay = new Replay({ suite: native, predecessor: { ...known, last_ms: 2 ** 47 } });
    refuses(second({}), 'predecessor', replay);
  });

  it('predecessor: accepted if it agrees', () => {
    new Replay({ suite: native, predecessor: known }).add(second({}).texts[0]!);
  });
});

// Logs that break no rule, at the limits of the rules: the monitor must not accuse them.

import { keyOf } from './bytes.ts';
import type { Host } from './host.ts';
import { manyLinks } from './lies/chains.ts';
import { carrying } from './lies/lines.ts';
import { ENTITY, hex, name43, OTHER, START_MS, Story, TENANT, uuid } from './story.ts';

export interface Honest {
  readonly name: string;
  readonly steps: readonly ((host: Host) => void)[];
}

const usual = (): Story => new Story().usual();
const told = (name: string, ...tell: readonly (() => Story)[]): Honest => ({
  name,
  steps: tell.map((one) => (host: Host) => void host.put(one())),
});
const NEXT = 'liar.example/log/live/2';
const after = (before: Story, place: object = {}): Story =>
  new Story({ number: 2, start_ms: before.ms + 1, ...place })
    .open({ predecessor: before.end })
    .mapHead();

export const HONEST: readonly Honest[] = [
  told('the smallest log', () => new Story().open().mapHead()),
  told(
    'the usual log, as it grows',
    usual,
    () => usual().acts(3),
    () => usual().acts(3).acts(250),
  ),
  told('a sandbox beside a live log', usual, () => new Story({ kind: 'sandbox' }).usual()),
  told('a log of three bundles', () => usual().acts(600)),
  told(
    'a log whose last bundle is full',
    () => usual().acts(247),
    () => usual().acts(247),
  ),
  told('map heads that no checkpoint ends with', () => usual().mapHead().mapHead().act().mapHead()),
  told('keys that are rotated and revoked', () => {
    const story = usual();
    const old = story.key;
    return story.rotate(keyOf(0x31)).keyEntry(old, 'revoked').act().rotate(keyOf(0x32)).mapHead();
  }),
  told('a new key that revokes the old one at once', () => {
    const story = usual();
    const old = story.key;
    story.keyEntry(keyOf(0x31), 'active');
    story.key = keyOf(0x31);
    return story.keyEntry(old, 'revoked').act().mapHead();
  }),
  told('entities that change hands', () => {
    const story = usual().tenant(OTHER).entity({ action: 'transfer', to_tenant_ref: OTHER });
    story.act({ tenant_ref: OTHER }).entity({ tenant_ref: OTHER, action: 'release' });
    return story.claim().act().mapHead();
  }),
  // log/FORMAT.md §7: the tenant that receives an entity may be registered later.
  told('a transfer to a tenant that is not registered yet', () => {
    const story = usual().entity({ action: 'transfer', to_tenant_ref: OTHER });
    return story.tenant(OTHER).act({ tenant_ref: OTHER }).mapHead();
  }),
  // log/FORMAT.md §7: a gap requires an interval, but an interval requires no gap.
  told('a heartbeat interval without a gap', () =>
    usual().manifest({ heartbeat_interval_ms: 60_000 }).mapHead(),
  ),
  told('a heartbeat interval of half the gap', () => {
    const members = { heartbeat_interval_ms: 60_000, min_detectable_gap_ms: 120_000 };
    return usual()
      .manifest({ ...members, valid_until_ms: START_MS + 9e9 })
      .mapHead();
  }),
  told('runs of heartbeats', () => {
    const since = START_MS + 5000;
    const story = usual().beat({ run_since_ms: since, acts_total: 0 });
    story.beat({ run_since_ms: since }, { after_ms: 60_000 }).beat({}, { after_ms: 60_001 });
    return story.beat({ interval_ms: 30_000 }).beat({ surface: 'offer_extend' }).mapHead();
  }),
  told('every member of the table', () => {
    const story = usual();
    story.act({
      ...{ toll: 'gate', toll_micro_usd: 250_000, cleared_micro_usd: 0 },
      ...{ submitter: { alg: 'EdDSA', key: 'key', sig: 'c2ln' }, commitments: { note: hex('x') } },
      ...{ amount: -9_007_199_254_740_991, detail: { code: '-12.50' }, event_at_ms: START_MS },
    });
    const lag = story.ms + 1000 - 86_400_000;
    return story
      .act({ event_at_ms: lag })
      .act({ event_at_ms: story.ms + 61_000 })
      .mapHead();
  }),
  told('every reserved member, and a separate chain', () => {
    const members = {
      session_ref: name43('s'),
      payment_hash: hex('p'),
      action_ref: hex('a'),
      trigger_id: uuid(START_MS, 1),
      case_id: 'case-1',
    };
    return usual().act(members).act(members).mapHead();
  }),
  told('eight links', () => manyLinks(usual(), 8).mapHead()),
  told('an act without an entity', () =>
    usual().add('demo.act.v1', { tenant_ref: TENANT, outcome: 'DENY' }).mapHead(),
  ),
  told('names of every grammar', () => {
    const entity = `sha256:${hex(ENTITY)}`;
    const story = usual().claim(entity).claim('a._-:9');
    return story.act({ entity, surface: 'a_9' }).mapHead();
  }),
  {
    name: 'an orderly succession, over three looks',
    steps: [
      (host) => void host.put(usual()),
      (host) => {
        const story = usual().close(NEXT);
        host.put(story);
        host.put(after(story));
      },
      () => undefined,
    ],
  },
  {
    name: 'a log that is closed, and not followed yet',
    steps: [(host) => void host.put(usual().close(NEXT)), () => undefined],
  },
  {
    name: 'a log that was closed for good',
    steps: [(host) => void host.put(usual().close(null)), () => undefined],
  },
  {
    name: 'a log that was lost with its last entries',
    steps: [
      (host) => void host.put(usual()),
      (host) => void host.put(after(usual().act().mapHead())),
      () => undefined,
    ],
  },
  {
    name: 'a log that was lost and is no longer served',
    steps: [
      (host) => void host.put(usual()),
      (host) => {
        host.put(after(usual()));
        host.interfere = (path) => (path.startsWith('live/1/') ? 404 : null);
      },
      () => undefined,
    ],
  },
  {
    name: 'a successor that carries an entry of the closed log, over two looks',
    steps: [
      (host) => {
        const story = usual().close(NEXT);
        host.put(story);
        host.put(carrying(story));
      },
      () => undefined,
    ],
  },
  // log/FORMAT.md §7: each signature names its log, so a note of one log is not a note of the other.
  {
    name: 'a successor with the keys of the log before',
    steps: [
      (host) => {
        const story = usual().close(NEXT);
        host.put(story);
        host.put(after(story, { receipt: 0x11, checkpoint: 0x12 }));
      },
    ],
  },
  {
    name: 'a stale copy',
    steps: [
      (host) => void host.put(usual().acts(3)),
      (host) => void host.put(usual()),
      (host) => void host.put(usual().acts(3)),
    ],
  },
  {
    name: 'signatures of unknown keys',
    steps: [
      (host) => {
        const story = usual();
        const line = `\u2014 somebody ${Buffer.alloc(76, 5).toString('base64')}\n`;
        host.put(story, story.note() + line);
      },
    ],
  },
  {
    name: 'a server that removes partial tiles once the full one exists',
    steps: [
      (host) => void host.put(usual()),
      (host) => {
        host.put(usual().acts(400));
        host.interfere = (path) =>
          path.includes('000.p/') && !path.includes('tile/1') ? 404 : null;
      },
    ],
  },
];

// Lies that show between two looks or two logs: forks, rollbacks, successors, keys. log/FORMAT.md §1, §2, §5, §7

import { keyOf } from '../bytes.ts';
import type { Host } from '../host.ts';
import type { Members, Value } from '../bytes.ts';
import { hex, START_MS, Story, TENANT, uuid } from '../story.ts';
import type { Lie } from './lie.ts';

const put =
  (tell: () => Story): ((host: Host) => void) =>
  (host) =>
    void host.put(tell());

/** A history, and one that differs from its first act on. */
const one = (acts: number): Story => new Story().usual().acts(acts);
const two = (acts: number): Story => {
  const story = new Story().usual();
  for (let i = 0; i < acts; i += 1) story.act({ outcome: 'DENY' });
  return story.mapHead();
};

const FORKS: readonly Lie[] = [
  {
    ...{ name: 'two roots of one size', rule: 'two_roots', proof: 'signed' },
    steps: [put(() => one(2)), put(() => two(2))],
  },
  {
    ...{ name: 'a longer fork', rule: 'inconsistent', proof: 'signed' },
    steps: [put(() => one(2)), put(() => two(5))],
  },
  {
    ...{ name: 'a shorter fork', rule: 'inconsistent', proof: 'signed' },
    steps: [put(() => one(5)), put(() => two(2))],
  },
  {
    ...{ name: 'a fork after a full bundle', rule: 'inconsistent', proof: 'signed' },
    steps: [put(() => one(300)), put(() => two(400))],
  },
  {
    ...{ name: 'a fork whose tiles are withheld', rule: 'inconsistent', proof: 'signed' },
    steps: [
      put(() => one(2)),
      (host) => {
        host.put(two(5));
        host.interfere = (path) => (/tile\/\d/.test(path) ? 404 : null);
      },
    ],
  },
  {
    ...{ name: 'a fork whose bundles are served once', rule: 'inconsistent', proof: 'signed' },
    steps: [
      put(() => one(2)),
      (host) => {
        host.put(two(5));
        host.interfere = (path, count) => (path.includes('entries') && count > 1 ? 404 : null);
      },
    ],
  },
  {
    ...{ name: 'a shorter fork with nothing else served', rule: 'inconsistent', proof: 'signed' },
    steps: [
      put(() => one(5)),
      (host) => {
        host.put(two(2));
        host.interfere = (path) => (path.endsWith('checkpoint') ? null : 404);
      },
    ],
  },
  {
    ...{ name: 'a fork of which only the new bundle is served', withheld: true, proof: 'observed' },
    rule: ['checkpoint_root', 'inconsistent', 'links'],
    steps: [
      put(() => one(300)),
      (host) => {
        host.put(two(400));
        host.interfere = (path) => (/checkpoint|entries\/001/.test(path) ? null : 404);
      },
    ],
  },
  {
    ...{
      name: 'a log that was rolled back and continued with other entries',
      rule: 'two_roots',
      proof: 'signed',
    },
    steps: [put(() => one(3)), put(() => new Story().usual()), put(() => two(3))],
  },
];

const first = (): Story => new Story().usual();
const after = (
  before: Story,
  place: { receipt?: number; checkpoint?: number; start_ms?: number } = {},
  predecessor: object = {},
): Story => {
  const story = new Story({ number: 2, start_ms: before.ms + 10_000, ...place });
  return story.open({ predecessor: { ...before.end, ...predecessor } }).mapHead();
};
const NEXT = 'liar.example/log/live/2';

const SUCCESSION: readonly Lie[] = [
  {
    name: 'a log that continues after its successor has begun',
    ...{ rule: 'two_logs', proof: 'signed' },
    steps: [
      (host) => {
        const story = first();
        host.put(story);
        host.put(after(story));
      },
      put(() => first().act().mapHead()),
    ],
  },
  {
    name: 'a log that continues after its successor has begun, at a first look',
    ...{ rule: ['two_logs', 'predecessor'] },
    steps: [
      (host) => {
        const story = first();
        host.put(after(story));
        host.put(story.act().mapHead());
      },
    ],
  },
  {
    name: 'a log that continues while the monitor runs',
    ...{ rule: 'two_logs', proof: 'signed', polls: true },
    steps: [
      (host) => {
        const story = new Story({ start_ms: Date.now() - 60_000 }).usual();
        host.put(story);
        host.put(after(story));
        host.interfere = (path, count) => {
          if (path === 'live/1/checkpoint' && count === 5) host.put(story.act().mapHead());
          return null;
        };
      },
    ],
  },
  {
    name: 'a log that has a successor and continues, with saved state',
    ...{ rule: ['two_logs', 'predecessor'], proof: 'signed' },
    steps: [
      put(first),
      (host) => {
        const story = first();
        host.put(after(story));
        host.put(story.act().mapHead());
      },
    ],
  },
  {
    name: 'a closed log that grows',
    ...{ rule: 'log_closed', proof: 'signed', entries: [8, 10] },
    steps: [
      (host) => {
        const story = first().close(NEXT);
        host.put(story);
        host.put(after(story));
      },
      put(() => first().close(NEXT).act().mapHead()),
    ],
  },
  {
    name: 'a closed log that grows while the monitor runs',
    ...{ rule: 'log_closed', proof: 'signed', polls: true, entries: [8, 10] },
    steps: [
      (host) => {
        const story = new Story({ start_ms: Date.now() - 60_000 }).usual().close(NEXT);
        host.put(story);
        host.put(after(story));
        host.interfere = (path, count) => {
          if (path === 'live/1/checkpoint' && count === 5) host.put(story.act().mapHead());
          return null;
        };
      },
    ],
  },
  {
    name: 'a closed log that is rewritten',
    ...{ rule: 'two_roots', proof: 'signed' },
    steps: [
      (host) => {
        const story = first().close(NEXT);
        host.put(story);
        host.put(after(story));
      },
      put(() => first().close(null)),
    ],
  },
  {
    name: 'a closed log without a successor, and one that follows',
    ...{ rule: 'successor', proof: 'signed', entries: [8, 0] },
    steps: [
      (host) => {
        const story = first().close(null);
        host.put(story);
        host.put(after(story));
      },
    ],
  },
  {
    name: 'a closed log that names a successor of another host',
    ...{ rule: 'successor', proof: 'signed', entries: [8, 0] },
    steps: [
      (host) => {
        const story = first().close('other.example/log/live/2');
        host.put(story);
        host.put(after(story));
      },
    ],
  },
  ...(
    [
      ['another root', { root: hex('x') }],
      ['a smaller size', { size: 7 }],
      ['a larger size', { size: 11 }, [8, 0]],
      ['a log of another host', { origin: 'other.example/log/live/1' }],
    ] as const
  ).map(([what, predecessor, entries = [0]]): Lie => ({
    name: `a successor that names ${what}`,
    ...{ rule: 'predecessor', proof: 'signed', entries },
    steps: [
      (host) => {
        const story = first().close(NEXT);
        host.put(story);
        host.put(after(story, {}, predecessor));
      },
    ],
  })),
  {
    name: 'a successor that names another root of a log that was lost',
    ...{ rule: 'predecessor', proof: 'signed' },
    steps: [
      (host) => {
        const story = first();
        host.put(story);
        host.put(after(story, {}, { root: hex('x') }));
      },
    ],
  },
  {
    name: 'a successor that begins before the end',
    ...{ rule: 'predecessor', proof: 'signed' },
    steps: [
      (host) => {
        const story = first().close(NEXT);
        host.put(story);
        host.put(after(story, { start_ms: story.ms - 500 }));
      },
    ],
  },
  {
    name: 'a second log without a predecessor',
    ...{ rule: 'predecessor', proof: 'signed' },
    steps: [
      (host) => {
        const story = first().close(NEXT);
        host.put(story);
        host.put(new Story({ number: 2, start_ms: story.ms + 10_000 }).open().mapHead());
      },
    ],
  },
];

const CARRIED = 'demo.carried.v1';

const CARRIED_SCHEMA: Value = {
  type: 'object',
  properties: {
    what: { enum: ['demo'] },
    rests_on: {
      type: 'object',
      properties: {
        ...{ log_number: { type: 'integer' }, index: { type: 'integer' } },
        ...{ entry_id: { type: 'string' }, leaf_hash: { type: 'string' } },
      },
    },
  },
};

/** A successor that carries one thing based on entry 6 of the log before, unless changed; null: based on nothing. */
export function carrying(before: Story, rests_on: Members | null = {}): Story {
  const own = {
    ...{ log_number: 1, index: 6, entry_id: before.entryId(6) },
    leaf_hash: before.leaves[6]?.toString('hex'),
  };
  const story = new Story({ number: 2, start_ms: before.ms + 10_000 });
  story.open({ predecessor: before.end }).tenant().declare(CARRIED, CARRIED_SCHEMA, []);
  const rests = rests_on === null ? undefined : { ...own, ...rests_on };
  return story.add(CARRIED, { tenant_ref: TENANT, what: 'demo', rests_on: rests }).mapHead();
}

const CARRY: readonly Lie[] = (
  [
    ['an entry behind the end', { index: 10 }, [8, 3]],
    ['another leaf hash', { leaf_hash: hex('x') }, [6, 3]],
    ['another entry id', { entry_id: uuid(START_MS, 99) }, [6, 3]],
    ['no leaf hash', { leaf_hash: undefined }, [6, 3]],
    ['no entry id', { entry_id: undefined }, [6, 3]],
    ['its own log', { log_number: 2 }, [3]],
    ['no index', { index: undefined }, [3]],
    ['nothing', null, [3]],
  ] as const
).flatMap(([what, rests_on, entries]): Lie[] => {
  const close = (): Story => first().close(NEXT);
  const name = `a carried entry that names ${what}`;
  const lie = { rule: 'carried', proof: 'signed', entries } as const;
  const both = (host: Host): void => {
    host.put(close());
    host.put(carrying(close(), rests_on));
  };
  return [
    { ...lie, name, steps: [both] },
    { ...lie, name: `${name}, at kept state`, steps: [put(close), both] },
  ];
});

const sandbox = (place: object = {}): Story => new Story({ kind: 'sandbox', ...place }).usual();
const shared = (name: string, tell: () => readonly Story[], more: Partial<Lie> = {}): Lie => ({
  ...{ name, rule: 'key_shared', proof: 'signed', both: true },
  steps: [
    (host) => {
      for (const story of tell()) host.put(story);
    },
  ],
  ...more,
});

const KEYS: readonly Lie[] = [
  shared(
    'one key for receipts and checkpoints',
    () => [new Story({ receipt: 0x11, checkpoint: 0x11 }).usual()],
    { entries: [0] },
  ),
  shared(
    'a checkpoint key that becomes a receipt key',
    () => [first().rotate(keyOf(0x12)).mapHead()],
    { entries: [8] },
  ),
  shared('a receipt key of live and sandbox', () => [first(), sandbox({ receipt: 0x11 })], {
    entries: [0, 0],
  }),
  shared('a checkpoint key of live and sandbox', () => [first(), sandbox({ checkpoint: 0x12 })], {
    entries: [],
  }),
  shared('a checkpoint key of live that signs receipts of the sandbox', () => [
    first(),
    sandbox({ receipt: 0x12 }),
  ]),
  shared('a retired key of live that the sandbox takes', () => [
    first().rotate(keyOf(0x31)).mapHead(),
    sandbox({ receipt: 0x31 }),
  ]),
  shared(
    'a successor whose receipt key is the old checkpoint key',
    () => {
      const story = first().close(NEXT);
      return [story, after(story, { receipt: 0x12 })];
    },
    { both: false },
  ),
];

const CLOCK: readonly Lie[] = [
  {
    ...{ name: 'a map head from the future', rule: 'map_head_future', polls: true },
    steps: [put(() => new Story({ start_ms: Date.now() + 300_000 }).usual())],
  },
  {
    ...{ name: 'a log that stopped publishing', rule: 'checkpoint_late', polls: true },
    steps: [put(() => new Story({ start_ms: Date.now() - 3_600_000 }).usual())],
  },
  {
    ...{ name: 'an entry that was withheld', rule: 'merge_delay', polls: true },
    steps: [
      (host) => {
        const story = new Story({ start_ms: Date.now() - 400_000 }).usual();
        host.put(story);
        host.interfere = (path, count) => {
          if (path === 'live/1/checkpoint' && count === 4) host.put(story.act().mapHead());
          return null;
        };
      },
    ],
  },
  {
    ...{ name: 'an old checkpoint served permanently', rule: 'checkpoint_late', polls: true },
    steps: [
      put(() => new Story({ start_ms: 1_780_000_000_000 }).usual().acts(3)),
      put(() => new Story({ start_ms: 1_780_000_000_000 }).usual()),
    ],
  },
];

export const LINE_LIES: readonly Lie[] = [...FORKS, ...SUCCESSION, ...CARRY, ...KEYS, ...CLOCK];

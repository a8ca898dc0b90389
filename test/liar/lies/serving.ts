// Lies of the server: wrong or missing tiles, entries that the log does not commit to, and evidence that is withheld
// after a rule was broken. C2SP tlog-tiles; log/FORMAT.md §1, §7

import type { Host, Interfere } from '../host.ts';
import { hex, OTHER, Story } from '../story.ts';
import type { Lie } from './lie.ts';

const flip = (bytes: Buffer, at = 0): Buffer =>
  Buffer.from(bytes.map((byte, i) => (i === at ? byte ^ 1 : byte)));

/** An honest log of 600 entries, or the usual one, served with a fault. */
const served = (
  rule: string | readonly string[],
  name: string,
  interfere: (story: Story) => Interfere,
  tell: () => Story = () => new Story().usual().acts(590),
  more: Partial<Lie> = {},
): Lie => ({
  ...{ name, rule, proof: 'observed' },
  steps: [
    (host) => {
      const story = tell();
      host.put(story);
      host.interfere = interfere(story);
    },
  ],
  ...more,
});
const usual = (): Story => new Story().usual();
const tile = (story: Story, from: number, width: number): Buffer =>
  Buffer.concat(story.leaves.slice(from, from + width));

const TILES: readonly Lie[] = [
  served(
    'tile_wrong',
    'a full tile that is not that of its bundle',
    (story) => (path) => (path.endsWith('tile/0/000') ? flip(tile(story, 0, 256), 700) : null),
  ),
  served(
    'tile_wrong',
    'a full tile that is wrong only at the first read',
    (story) => (path, count) =>
      path.endsWith('tile/0/000') && count === 1 ? flip(tile(story, 0, 256)) : null,
  ),
  served(
    'tile_wrong',
    'a partial tile that is not that of its bundle',
    (story) => (path) => (path.includes('tile/0/000.p/8') ? flip(tile(story, 0, 8)) : null),
    usual,
  ),
  served(
    'tile_wrong',
    'two hashes of a tile in the wrong order',
    (story) => (path) =>
      path.endsWith('tile/0/001')
        ? Buffer.concat([tile(story, 257, 1), tile(story, 256, 1), tile(story, 258, 254)])
        : null,
  ),
  served(
    'tile_wrong',
    'a wrong tile of a higher level',
    () => (path) => (path.includes('tile/1/000.p/2') ? Buffer.alloc(64, 7) : null),
  ),
  served(
    'tile_missing',
    'a partial tile that is missing',
    () => (path) => (path.includes('tile/0/000.p/') ? 404 : null),
    usual,
    { withheld: true },
  ),
  served(
    'tile_missing',
    'a full tile that is missing',
    () => (path) => (path.endsWith('tile/0/000') ? 404 : null),
    undefined,
    { withheld: true },
  ),
  served(
    'tile_missing',
    'a tile of a higher level that is missing',
    () => (path) => (path.includes('tile/1/') ? 404 : null),
    undefined,
    { withheld: true },
  ),
  served(
    'tile_missing',
    'a bundle that is missing',
    () => (path) => (path.includes('entries/001') ? 404 : null),
    undefined,
    { withheld: true },
  ),
  {
    ...{ name: 'a wrong tile at a second run', rule: 'tile_wrong', proof: 'observed' },
    steps: [
      (host) => void host.put(usual().acts(300)),
      (host) => {
        host.interfere = (path) => (path.endsWith('tile/0/000') ? Buffer.alloc(8192, 1) : null);
      },
    ],
  },
];

const otherEntry = (): Story => new Story().usual().act({ outcome: 'DENY' }).mapHead();
const ownEntry = (): Story => new Story().usual().act().mapHead();

/** The usual log with an entry 8 whose signature is invalid. */
const garbled = (): readonly Buffer[] =>
  ownEntry().entries.with(
    8,
    Buffer.from(ownEntry().entries[8]?.toString().replace('PERMIT', 'DENY') ?? ''),
  );

const ENTRIES: readonly Lie[] = [
  {
    ...{
      name: 'a signed entry instead of the one that the checkpoint commits to',
      rule: 'two_entries',
    },
    ...{ proof: 'signed', entries: [0, 8, 8] },
    steps: [
      (host) => {
        host.put(ownEntry()).entries = otherEntry().entries;
      },
    ],
  },
  {
    ...{
      name: 'a signed entry at a first look, and a different one at a second',
      rule: 'two_entries',
    },
    ...{ proof: 'signed', entries: [0, 8, 8] },
    steps: [
      (host) => {
        const log = host.put(ownEntry());
        host.interfere = (path, count) => {
          log.entries =
            path.includes('entries') && count === 1 ? otherEntry().entries : ownEntry().entries;
          return null;
        };
      },
    ],
  },
  {
    ...{ name: 'an entry without a valid signature that the checkpoint does not commit to' },
    ...{ rule: 'entry_not_included', proof: 'observed' },
    steps: [
      (host) => {
        host.put(ownEntry()).entries = garbled();
      },
    ],
  },
  {
    name: 'entries that match neither the tiles nor the checkpoint',
    rule: ['entry_not_included', 'checkpoint_root'],
    steps: [
      (host) => {
        const log = host.put(ownEntry());
        log.entries = otherEntry().entries;
        log.leaves = new Story().usual().tenant(OTHER).mapHead().leaves;
      },
    ],
  },
  {
    ...{ name: 'other entries, without tiles', rule: 'checkpoint_root', withheld: true },
    steps: [
      (host) => {
        host.put(ownEntry()).entries = otherEntry().entries;
        host.interfere = (path) => (/tile\/\d/.test(path) ? 404 : null);
      },
    ],
  },
  {
    ...{
      name: 'other entries, served only once',
      rule: 'two_entries',
      proof: 'signed',
      withheld: true,
    },
    steps: [
      (host) => {
        host.put(ownEntry()).entries = otherEntry().entries;
        host.interfere = (path, count) => (path.includes('entries') && count > 1 ? 404 : null);
      },
    ],
  },
  {
    name: 'a bad entry while each first answer is inconsistent',
    rule: ['entry_not_included', 'links'],
    steps: [
      (host) => {
        const story = new Story()
          .usual()
          .act()
          .act({}, { links: () => [] })
          .mapHead();
        const log = host.put(story);
        const torn = story.entries.with(8, garbled()[8] ?? Buffer.alloc(0));
        host.interfere = (path, count) => {
          if (path.includes('entries')) log.entries = count % 2 === 1 ? torn : story.entries;
          return null;
        };
      },
    ],
  },
];

/** Ways to withhold the evidence for a finding. */
const WITHHELD: readonly (readonly [string, Interfere])[] = [
  ['no hash tile at all', (path) => (/tile\/\d/.test(path) ? 404 : null)],
  ['hash tiles that fail', (path) => (/tile\/\d/.test(path) ? 503 : null)],
  ['bundles only once', (path, count) => (path.includes('entries') && count > 1 ? 404 : null)],
  [
    'nothing a second time',
    (path, count) => (path !== 'live/1/checkpoint' && count > 1 ? 404 : null),
  ],
  [
    'bundles only once, and no tile',
    (path, count) =>
      /tile\/\d/.test(path) || (path.includes('entries') && count > 1) ? 404 : null,
  ],
  ['wrong hash tiles', (path) => (/tile\/\d/.test(path) ? Buffer.alloc(8192, 3) : null)],
];

/** Lies whose evidence needs an earlier entry, a signature, or bytes that are not text. */
const HIDDEN: readonly (readonly [string, string, (story: Story) => void])[] = [
  ['links', 'a broken link', (story) => story.act({}, { links: () => [] })],
  ['map_root', 'a wrong map root', (story) => story.mapHead({ map_root: hex('x') })],
  [
    'signature',
    'a bad signature',
    (story) => story.act({}, { text: (t) => t.replace('PERMIT', 'DENY') }),
  ],
  ['entity_claim', 'an entity claimed twice', (story) => story.claim()],
  ['log_closed', 'an act after the end', (story) => story.close(null).act()],
  [
    'time_after_map_head',
    'an act at the time of the map head',
    (story) => story.act({}, { after_ms: 0 }),
  ],
  [
    'entry_json',
    'bytes that are not text',
    (story) => story.act({}, { bytes: (bytes) => Buffer.concat([Buffer.of(0xff), bytes]) }),
  ],
];

const hidden = (story: Story, interfere: Interfere) => (host: Host) => {
  host.put(story.mapHead());
  host.interfere = interfere;
};

const WITHHOLDING: readonly Lie[] = WITHHELD.flatMap(([how, interfere]) => [
  ...HIDDEN.map(([rule, what, tell]): Lie => ({
    name: `${what}, with ${how}`,
    ...{ rule, proof: 'signed' },
    steps: [
      (host) => {
        const story = usual();
        tell(story);
        hidden(story, interfere)(host);
      },
    ],
  })),
]);

/**
 * The bad entry is in the second bundle; the entry that it contradicts is in the first, which an earlier run has
 * read.
 */
const LATE: readonly Lie[] = [
  {
    name: 'a second claim, with the first bundle withheld since',
    ...{ rule: 'entity_claim', proof: 'signed', withheld: true, entries: [3, 301] },
    steps: [
      (host) => void host.put(usual().acts(292)),
      (host) => {
        host.put(usual().acts(292).claim().mapHead());
        host.interfere = (path) => (/entries\/000|tile\/\d/.test(path) ? 404 : null);
      },
    ],
  },
  {
    name: 'a bad entry, with everything after it withheld',
    ...{ rule: 'links', proof: 'observed', withheld: true },
    steps: [
      (host) => {
        host.put(
          usual()
            .act({}, { links: () => [] })
            .acts(300),
        );
        host.interfere = (path) => (/entries\/001|tile\/\d/.test(path) ? 404 : null);
      },
    ],
  },
  {
    name: 'a bad entry, with tiles in place of the entries after it',
    ...{ rule: 'links', proof: 'signed', entries: [8] },
    steps: [
      (host) => {
        host.put(
          usual()
            .act({}, { links: () => [] })
            .acts(300),
        );
        host.interfere = (path) => (path.includes('entries/001') ? 404 : null);
      },
    ],
  },
];

export const SERVING_LIES: readonly Lie[] = [...TILES, ...ENTRIES, ...WITHHOLDING, ...LATE];

// Lies about chains, the head map and checkpoints. log/FORMAT.md §3 to §5

import type { Members } from '../bytes.ts';
import { ENTITY, hex, name43, Story, uuid, START_MS } from '../story.ts';
import type { Link } from '../story.ts';
import { act, bad, bent, whole } from './lie.ts';
import type { Lie } from './lie.ts';

const RESERVED: readonly Lie[] = [
  ...(
    [
      ['an entity in upper case', { entity: 'Acme' }],
      ['an entity that is a number', { entity: 7 }],
      ['a surface without an entity', { entity: undefined }],
      ['a surface in upper case', { surface: 'Policy' }],
      ['a surface that is null', { surface: null }],
      ['a session_ref of 42 characters', { session_ref: name43('s').slice(1) }],
      ['a session_ref with spare bits', { session_ref: `${'A'.repeat(42)}B` }],
      ['a payment_hash with a prefix', { payment_hash: `sha256:${hex('p')}` }],
      ['a payment_hash in upper case', { payment_hash: hex('p').toUpperCase() }],
      ['a short payment_hash', { payment_hash: 'a'.repeat(15) }],
      ['an action_ref in upper case', { action_ref: hex('a').toUpperCase() }],
      ['an action_ref of 63 digits', { action_ref: hex('a').slice(1) }],
      ['a trigger_id of version 4', { trigger_id: uuid(START_MS, 1, '4') }],
    ] as readonly [string, Members][]
  ).map(([name, members]) => act('reserved_members', name, members)),
];

const linked = (name: string, links: (links: readonly Link[]) => readonly Link[]): Lie =>
  bent('links', name, { links });
const first = (name: string, change: object): Lie =>
  linked(name, ([link, ...rest]) => [{ ...link!, ...change }, ...rest]);

const MANY: readonly string[] = 'a b c d e f g h i'.split(' ');
const many = {
  type: 'object',
  properties: Object.fromEntries(MANY.map((name) => [name, { type: 'string' }])),
};
/** A type with nine templates, and an entry that uses this many of them. */
export const manyLinks = (story: Story, count: number): Story =>
  story
    .declare(
      'demo.many.v1',
      many,
      MANY.map((name) => [`demo.${name}`, name]),
    )
    .add('demo.many.v1', Object.fromEntries(MANY.slice(0, count).map((name) => [name, 'x'])));

const LINKS: readonly Lie[] = [
  bent('links', 'no links', { links: () => undefined }),
  linked('an empty list of links', () => []),
  linked('a link that is missing', ([link]) => [link!]),
  linked('links in another order', (links) => links.toReversed()),
  linked('a link twice', (links) => [...links, links[0]!]),
  linked('a link on a chain of its own choice', (links) => [
    ...links,
    { key: ['session', name43('s')], seq: 0, prev_index: null, prev_ms: null },
  ]),
  first('a seq that was taken', { seq: 0, prev_index: null, prev_ms: null }),
  first('a seq that leaves one out', { seq: 2 }),
  first('another prev_index', { prev_index: 5 }),
  first('a prev_index in the future', { prev_index: 9 }),
  first('another prev_ms', { prev_ms: START_MS }),
  first('a prev_ms that is missing', { prev_ms: undefined }),
  first('a member more', { note: 'x' }),
  first('the chain of another entity', { key: ['entity', 'other'] }),
  first('a key as text', { key: 'entity' }),
  bad('links', 'a first link that is not null', (story) => {
    story.act(
      { case_id: 'new' },
      {
        links: (links) =>
          links.map((link) =>
            link.seq === 0 ? { ...link, prev_index: 3, prev_ms: START_MS } : link,
          ),
      },
    );
  }),
  bad('links', 'a declared chain that is left out', (story) => {
    story.act({ case_id: 'new' }, { links: (links) => links.slice(0, -1) });
  }),
  bad('links', 'links of a map head', (story) => {
    story.mapHead({}, { set: { links: [] } });
  }),
  bad('links', 'nine links', (story) => manyLinks(story, 9)),
];

const MAP: readonly Lie[] = [
  bad(
    'prev_map_head',
    'a map head that denies the one before',
    (story) => {
      story.mapHead({ prev_map_head: null });
    },
    { entries: [7, 8] },
  ),
  bad(
    'prev_map_head',
    'a map head that names another one',
    (story) => {
      story.mapHead({ prev_map_head: 6 });
    },
    { entries: [7, 8] },
  ),
  whole('prev_map_head', 'a first map head that names one', () => {
    return new Story().open().mapHead({ prev_map_head: 0 });
  }),
  bad('map_root', 'a map root of zeros', (story) => story.mapHead({ map_root: '0'.repeat(64) })),
  bad('map_root', 'the map root before the last act', (story) => {
    const map_root = story.mapRoot().toString('hex');
    story.act().mapHead({ map_root });
  }),
  bad('map_root', 'the map root of another log', (story) => {
    const other = new Story({ kind: 'sandbox' }).usual();
    story.mapHead({ map_root: other.mapRoot().toString('hex') });
  }),
  whole('map_root', 'a first map root that is not empty', () => {
    return new Story().open().mapHead({ map_root: hex('x') });
  }),
  bad(
    'map_root',
    'a wrong map head that no checkpoint ends with',
    (story) => {
      story.mapHead({ map_root: hex('x') }).act();
    },
    { entries: [8] },
  ),
];

/** A signed note of the usual log with changed text. */
const noted = (
  rule: string | readonly string[],
  name: string,
  change: (text: string) => string,
  proof: Lie['proof'] = 'signed',
): Lie => ({
  ...{ name, rule, proof },
  steps: [
    (host) => {
      const story = new Story().usual();
      host.put(story, story.note(story.size, change));
    },
  ],
});

const CHECKPOINTS: readonly Lie[] = [
  noted('checkpoint_form', 'a checkpoint with an extension line', (text) => `${text}extension\n`),
  noted('checkpoint_form', 'a checkpoint of two lines', (text) => text.replace(/[^\n]+\n$/, '')),
  noted('checkpoint_form', 'a size with a leading zero', (text) => text.replace('\n8\n', '\n08\n')),
  noted('checkpoint_form', 'a size below 0', (text) => text.replace('\n8\n', '\n-8\n')),
  noted('checkpoint_form', 'a size over 2^53', (text) =>
    text.replace('\n8\n', '\n9007199254740993\n'),
  ),
  noted('checkpoint_form', 'a root of 31 bytes', (text) =>
    text.replace(/[^\n]+\n$/, `${Buffer.alloc(31).toString('base64')}\n`),
  ),
  noted('checkpoint_form', 'a root in base64url', (text) => text.replace(/[^\n]{3}=\n$/, '-_8=\n')),
  // A successor with the same key could have signed it.
  noted(
    'checkpoint_origin',
    'the checkpoint of another log',
    (text) => text.replace('/log/live/1', '/log/live/2'),
    'observed',
  ),
  noted('checkpoint_size', 'a checkpoint of size 0', (text) => text.replace('\n8\n', '\n0\n')),
  whole('checkpoint_size', 'a checkpoint of no entries at all', () => new Story()),
  {
    name: 'a checkpoint of another root',
    ...{ rule: 'checkpoint_root', proof: 'observed' },
    steps: [
      (host) => {
        const story = new Story().usual();
        const root = new Story().usual().act().mapHead().root().toString('base64');
        host.put(
          story,
          story.note(8, (text) => text.replace(/[^\n]+\n$/, `${root}\n`)),
        );
      },
    ],
  },
  whole(
    'checkpoint_map_head',
    'a checkpoint that ends with an act',
    () => new Story().usual().act(),
    {
      ...{ entries: [8], proof: 'signed' },
    },
  ),
  whole(
    'checkpoint_map_head',
    'a checkpoint that ends with a claim',
    () => {
      return new Story().open().tenant().claim(ENTITY);
    },
    { entries: [2], proof: 'signed' },
  ),
];

export const CHAIN_LIES: readonly Lie[] = [...RESERVED, ...LINKS, ...MAP, ...CHECKPOINTS];

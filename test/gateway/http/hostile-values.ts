// Hostile input for tests: values of members, whole bodies, texts of paths and queries, and the requests that send them to
// a declared route. gateway/API.md §1.2.

import type { Json, Route } from '../../../plugins/contract/index.ts';

/** Text that only tenant `first` may see, and text that a caller sends in every free text. */
export const SECRET = 'Only The First Tenant Knows';
export const WORDS = 'Words Of A Caller In Clear';

/** JSON values for any member, as sent over the network. */
const VALUES: readonly string[] = [
  'null',
  'true',
  '0',
  '-0',
  '-1',
  '1.5',
  '1e308',
  '1e-400',
  '1e400',
  '9007199254740991',
  '9007199254740992',
  '9007199254740993.0',
  '9'.repeat(400),
  'NaN',
  '-Infinity',
  '""',
  '" "',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\u0000"',
  '"\u202e\u2066abc"',
  '"\u{1f600}\u{10ffff}"',
  `"${'a'.repeat(5000)}"`,
  `"${'\u{1f600}'.repeat(300)}"`,
  '"__proto__"',
  '"constructor"',
  '"toString"',
  '"../../../../etc/passwd"',
  '"<script>alert(1)</script>"',
  '"%00%ff"',
  `"${WORDS}"`,
  `["${WORDS}"]`,
  `{"${WORDS}":"${WORDS}"}`,
  '[]',
  '[null]',
  '{}',
  '{"a":1,"a":2}',
  '{"__proto__":{"a":1}}',
  '{"constructor":{"prototype":{"a":1}},"hasOwnProperty":1,"toJSON":1}',
  `${'['.repeat(12)}${']'.repeat(12)}`,
  `${'['.repeat(40)}${']'.repeat(40)}`,
  `[${'0,'.repeat(2000)}0]`,
  `{"length":1e9}`,
];

/** Whole bodies. */
const BODIES: readonly string[] = [
  '',
  ' ',
  'null',
  '[]',
  '"x"',
  '1',
  '{',
  '{}{}',
  '{"a":1,"a":1}',
  '{"__proto__":null}',
  '\ufeff{}',
  "{'a':1}",
  '{"a":1,}',
  '['.repeat(5000),
];

/** Texts in a path or a query. */
const TEXTS: readonly string[] = [
  '',
  ' ',
  '.',
  '..',
  '../../etc/passwd',
  '/',
  '__proto__',
  'constructor',
  '\0',
  '\u202eabc',
  '\u{1f600}',
  "' OR 1=1 --",
  '<script>',
  '-1',
  '1.5',
  '1e3',
  'NaN',
  '9007199254740993',
  '9'.repeat(400),
  'a'.repeat(2000),
  '[]',
  '["surface"]',
  '["surface","a","b","c"]',
  `["${'a'.repeat(3000)}"]`,
  '{"__proto__":1}',
  '0'.repeat(64),
  '00000000-0000-0000-0000-000000000000',
];

/** Parts that are sent unencoded. */
const RAW_TEXTS: readonly string[] = [
  '%',
  '%zz',
  '%ff',
  '%ed%a0%80',
  '%2f',
  '%2e%2e%2f',
  '%00',
  '+',
];

/** Variants of a valid body with one hostile value, for every place in it. */
export function* bodiesOf(route: Route): Generator<string> {
  const example = (route.example ?? {}) as Record<string, Json>;
  const declared = (route.body as { properties?: object } | undefined)?.properties ?? {};
  const places = [
    ...new Set([...pathsOf(example), ...Object.keys(declared).map((name) => [name])]),
  ];
  for (const place of places) {
    const whole = JSON.stringify(set(structuredClone(example), place, '@@'));
    for (const value of VALUES) yield whole.replace('"@@"', () => value);
  }
  for (const name of Object.keys(example)) {
    yield JSON.stringify({ ...example, [name]: undefined });
  }
  yield JSON.stringify({ ...example, unknown: WORDS, [WORDS]: { deep: WORDS } });
  yield* BODIES;
}

function* pathsOf(value: Json, place: readonly string[] = []): Generator<readonly string[]> {
  if (place.length > 0) yield place;
  if (typeof value !== 'object' || value === null || place.length > 3) return;
  for (const [name, member] of Object.entries(value)) yield* pathsOf(member, [...place, name]);
}

function set(target: unknown, place: readonly string[], value: string): unknown {
  const [name = '', ...rest] = place;
  const holder = target as Record<string, unknown>;
  holder[name] = rest.length === 0 ? value : set(holder[name], rest, value);
  return holder;
}

/** Paths with hostile parameters and queries. */
export function* pathsWith(route: Route): Generator<string> {
  const plain = route.path.replace(/\{\w+\*?\}/g, 'live');
  const names = [...route.path.matchAll(/\{\w+\*?\}/g)].map(([name]) => name);
  const texts = [...TEXTS.map(encodeURIComponent), ...RAW_TEXTS];
  for (const name of names) {
    for (const text of texts) {
      yield route.path.replace(name, text).replace(/\{\w+\*?\}/g, 'live');
    }
  }
  const query = Object.keys((route.query as { properties?: object } | undefined)?.properties ?? {});
  for (const name of [...query, '__proto__']) {
    const others = query.filter((other) => other !== name).map((other) => `${other}=1`);
    for (const text of texts) {
      yield `${plain}?${name}=${text}`;
      yield `${plain}?${[...others, `${name}=${text}`].join('&')}`;
    }
    yield `${plain}?${name}=1&${name}=2`;
    yield `${plain}?${name}[]=1&${name}[a]=2`;
  }
}

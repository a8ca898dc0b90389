// Shows a finding: the verdict in words, each check, the pictures, what is not proven, and what the log signed.
// Everything is inserted as text, never as HTML.

import { objectsOf, textOf, timeWords } from '../../../../log/verify.ts';
import type { Finding, Json, JsonObject, Line } from '../../../../log/verify.ts';
import { make } from '../../../../plugins/contract/page.ts';
import { timeline } from './timeline.ts';
import { wayPicture } from './way-picture.ts';

const WORDS = {
  ok: ['Holds', 'good-word'],
  failed: ['Fails', 'bad-word'],
  not_shown: ['Not shown', 'warn-word'],
} as const;

/** What the banner says of a document of a sandbox log. */
const SANDBOX = ' This document is of a test log. It proves nothing about a real decision.';

const wordsOf = (verdict: string): string =>
  verdict.slice(0, 1) + verdict.slice(1).toLowerCase().replaceAll('_', ' ');

/** The whole result, as the page shows it. */
export function resultOf(what: string, finding: Finding): HTMLElement[] {
  const { valid, verdict, summary, checks, not_proven, way, moments, statement } = finding;
  const test = finding.sandbox === true;
  const weak = test || verdict.startsWith('UNDER') || verdict === 'UNDECLARED';
  const tone = valid ? (weak ? 'unknown' : 'good') : 'bad';
  const parts = [
    make(
      'div',
      {
        class: `verdict ${tone}`,
        'data-verdict': verdict,
        ...(test ? { 'data-sandbox': '' } : {}),
      },
      ...(test ? [make('p', { class: 'banner' }, make('strong', {}, 'SANDBOX'), SANDBOX)] : []),
      make('h2', {}, wordsOf(verdict) + (test ? ', in the sandbox' : '')),
      make('p', {}, sentence(summary)),
      make('p', { class: 'hint' }, `Checked in this browser, as ${what}.`),
    ),
    section(
      'What was checked',
      make('ul', { class: 'checks' }, ...checks.filter(isNoEntry).map(lineOf)),
    ),
  ];
  const entries = objectsOf(finding.facts.shown);
  if (valid && entries.length > 0) parts.push(entryList(entries, test));
  if (moments !== undefined) {
    parts.push(section('The window', timeline(moments, verdict !== 'PRESENT')));
  }
  if (way !== undefined) parts.push(section('The way to the root', wayPicture(way)));
  if (valid && not_proven.length > 0) {
    const items = not_proven.map((text) => make('li', {}, text));
    parts.push(section('What this does not prove', make('ul', {}, ...items)));
  }
  if (valid && statement !== undefined) {
    parts.push(section('What the log signed', facts(statement)));
  }
  return parts;
}

/** The entries of a document have a list of their own. */
const isNoEntry = ({ name }: Line): boolean => name !== 'entry';

/** Shown open up to this number of entries. */
const FEW = 10;

/** The entries that a document shows, each with a link to its receipt on this service. */
function entryList(entries: readonly JsonObject[], sandbox: boolean): HTMLElement {
  const items = entries.map(({ index, type, entry_id, issued_at_ms }) => {
    const name = typeof entry_id === 'string' ? entry_id : '';
    const href = `/r/${encodeURIComponent(name)}${sandbox ? '?log=sandbox' : ''}`;
    const link = make('a', { href }, `Entry ${String(Number(index))}`);
    const about = `${textOf(type)}, logged ${timeWords(Number(issued_at_ms))}`;
    return make('li', {}, link, make('span', {}, about));
  });
  const list = make('ol', { class: 'acts' }, ...items);
  const count = `${String(entries.length)} ${entries.length === 1 ? 'entry' : 'entries'}`;
  const open = entries.length > FEW ? {} : { open: '' };
  return make('details', open, make('summary', {}, `${count} of the chain`), list);
}

/** One line more, for a check that came later. */
export function lineOf({ name, outcome, detail }: Line): HTMLElement {
  const [word, tone] = WORDS[outcome];
  return make(
    'li',
    { 'data-check': name, 'data-outcome': outcome },
    make('span', { class: tone }, word),
    make('span', {}, make('strong', {}, name.replaceAll('_', ' ')), ` ${detail}`),
  );
}

/** A verdict when nothing could be checked, or when what was read is no JSON as receipts have it. */
export const undecided = (message: string, verdict = 'UNKNOWN'): HTMLElement =>
  make(
    'div',
    {
      class: `verdict ${verdict === 'UNKNOWN' ? 'unknown' : 'bad'}`,
      'data-verdict': verdict,
    },
    make('h2', {}, verdict === 'UNKNOWN' ? 'Not checked' : 'Invalid'),
    make('p', {}, sentence(message)),
  );

/** A summary or a reason as a sentence. */
const sentence = (text: string): string =>
  text.slice(0, 1).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');

/** The result of one of several things. */
export interface Shape {
  readonly name: string;
  /** Null where it could not be checked. */
  readonly valid: boolean | null;
  readonly parts: readonly HTMLElement[];
}

/** The results of several things under one word about all of them. */
export function severalOf(results: readonly Shape[]): HTMLElement[] {
  const good = results.filter(({ valid }) => valid === true).length;
  const bad = results.some(({ valid }) => valid === false);
  const all = good === results.length;
  const [verdict, tone] = all
    ? ['VALID', 'good']
    : bad
      ? ['INVALID', 'bad']
      : ['UNKNOWN', 'unknown'];
  return [
    make(
      'div',
      { class: `verdict ${tone}`, 'data-verdict': verdict, 'data-of': String(results.length) },
      make('h2', {}, `${String(good)} of ${String(results.length)} hold`),
      make('p', {}, 'Each was checked by itself, in this browser.'),
    ),
    ...results.map(({ name, parts }, i) => {
      const title = name === '' ? String(i + 1) : name;
      return make('section', { class: 'one', 'data-one': title }, make('h2', {}, title), ...parts);
    }),
  ];
}

function section(title: string, ...children: readonly Node[]): HTMLElement {
  return make('section', {}, make('h2', {}, title), ...children);
}

function facts(statement: Readonly<Record<string, Json>>): HTMLElement {
  const rows = Object.entries(statement).flatMap(([name, value]) => [
    make('dt', {}, name),
    make('dd', {}, make('code', {}, typeof value === 'string' ? value : JSON.stringify(value))),
  ]);
  return make('dl', { class: 'facts' }, ...rows);
}

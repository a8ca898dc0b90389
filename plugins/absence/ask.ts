// GET /ask, the question of a person as a page: did this entity do this in that time? And the document behind the answer,
// GET /api/v1/absence/document. Both only read. gateway/API.md §9.6; log/FORMAT.md §6.
//
// The page works without JavaScript. Its script asks for the document and checks it in the browser.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  ApiError,
  EntityName,
  HTML,
  isApiError,
  kindOf,
  logName,
  LogName,
  namedStatement,
  ReadyJson,
  route,
  sendPage,
  SurfaceName,
  windowsOf,
} from '../contract/index.ts';
import type { JsonObject, Kind, LogView, PluginHost, Route } from '../contract/index.ts';
import { instantOf, localOf, momentWords, PRESETS, presetWindow, zoneOf } from './ask-time.ts';
import { answerOf, joined, labelOf, notYet } from './ask-words.ts';
import type { Answer, AskedAbout } from './ask-words.ts';
import type { Wording, Worded } from './document.ts';
import type { Verdict } from './entries.ts';
import { lanesOf } from './lanes.ts';
import { WitnessAnswer } from './witness.ts';

/** How long the page waits for a window that has just ended to be closed. */
const WAIT_MS = 5000;
/** Entities that are suggested, and surfaces of one that are listed. */
const MAX_SUGGESTED = 200;

const Time = Type.String({ pattern: '^[0-9]{1,16}$' });

const DocumentQuery = Type.Object({
  entity: EntityName,
  surface: SurfaceName,
  from_ms: Time,
  to_ms: { ...Time, description: 'The window is of log time, closed at both ends.' },
  log: LogName,
});

const text = (description: string, maxLength = 256) =>
  Type.Optional(Type.String({ maxLength, description }));

const AskQuery = Type.Object({
  log: LogName,
  entity: text('Whose acts.'),
  surface: text('Which kind of act, by the name of its surface.', 64),
  from: text('Local time of `tz`, such as `2026-11-21T15:00`, or a time with its offset.', 64),
  to: text('Likewise; the end of the window.', 64),
  tz: text('Time zone of the IANA database; UTC unless given.', 64),
  when: text(`In place of from and to: ${Object.keys(PRESETS).join(', ')}.`, 32),
});

type Asked = Static<typeof AskQuery>;

/** The page and the document. */
export function askRoutes(host: PluginHost, wording: Wording): readonly Route[] {
  const declared = { live: new Declared(), sandbox: new Declared() };
  return [
    route({
      method: 'GET',
      path: '/api/v1/absence/document',
      tag: 'absence',
      summary: 'The absence document about a surface and a window, without a receipt',
      description:
        'The documents of POST /api/v1/absence/witness. Nothing is appended, so nothing in the log shows that it was ' +
        'asked for. `Prefer: wait=N` waits for the window to close.',
      access: 'read',
      cost: 2,
      query: DocumentQuery,
      responses: { 200: { description: 'The document or documents.', schema: WitnessAnswer } },
      errors: ['window_not_closed'],
      async handle(ctx) {
        const { query, caller, wait_ms } = ctx.state;
        const { entity, surface, log } = query;
        const [from_ms, to_ms] = [millis(query.from_ms, 'from_ms'), millis(query.to_ms, 'to_ms')];
        const asked = { entity, surface, from_ms, to_ms };
        const found = await documentsOf(host, wording, kindOf(log, caller), asked, wait_ms);
        const documents = found.map((one) => new ReadyJson(one.text, {}));
        ctx.set('Cache-Control', 'no-cache');
        ctx.body = {
          ok: true,
          ...(documents.length === 1 ? { witness: documents[0] } : { witnesses: documents }),
        };
      },
    }),
    route({
      method: 'GET',
      path: '/ask',
      tag: 'Pages',
      summary: 'A question to the log: did this happen in that time?',
      access: 'read',
      cost: 2,
      query: AskQuery,
      responses: {
        200: { description: 'The page.', type: HTML },
        302: { description: 'To the page about a window that `when` names.' },
      },
      async handle(ctx) {
        const { query, caller } = ctx.state;
        const kind = kindOf(query.log, caller);
        ctx.set('Cache-Control', 'no-store');
        if (query.when !== undefined && query.when !== '') {
          ctx.redirect(whenAddress(host, kind, query, query.when));
          ctx.body = '';
          return;
        }
        const suggested = await declared[kind].entities(host.log(kind));
        sendPage(ctx, host.page('ask', await pageOf(host, wording, kind, query, suggested)));
      },
    }),
  ];
}

function millis(written: string, param: string): number {
  const ms = Number(written);
  if (Number.isSafeInteger(ms)) return ms;
  throw new ApiError('parameter_invalid', `${param} is beyond 2^53`, { param });
}

/** The address of the page about a named window; it keeps its meaning when it is passed on. */
function whenAddress(host: PluginHost, kind: Kind, query: Asked, when: string): string {
  const tz = zoneOf(query.tz ?? 'UTC');
  const now_ms = host.now();
  const { from_ms, to_ms } = presetWindow(when, tz, { now_ms, closed_ms: now_ms - 1 });
  const { entity = '', surface = '' } = query;
  const window = { from: localOf(from_ms, tz), to: localOf(to_ms, tz), tz };
  return address(kind, { entity, surface, ...window });
}

function address(kind: Kind, members: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(kind === 'sandbox' ? { log: kind } : {});
  for (const [name, value] of Object.entries(members)) query.set(name, value);
  return `/ask?${query.toString()}`;
}

type Question = Omit<AskedAbout, 'tz'>;

/** A document, and the log that it is about. */
interface Found extends Worded {
  readonly log: LogView;
}

/** The documents about a window: one for each log that covers a part of it. */
async function documentsOf(
  host: PluginHost,
  wording: Wording,
  kind: Kind,
  { entity, surface, from_ms, to_ms }: Question,
  wait_ms: number,
): Promise<readonly Found[]> {
  if (from_ms > to_ms) {
    throw new ApiError('parameter_invalid', 'from is after to', { param: 'from_ms' });
  }
  const windows = windowsOf(host, kind, { from_ms, to_ms });
  for (const { log, to_ms: end_ms } of windows) await log.windowClosed(end_ms, wait_ms);
  const found: Found[] = [];
  for (const { log, ...window } of windows) {
    const document = await log.absence({ key: ['surface', entity, surface], ...window });
    found.push({ ...wording.worded(document), log });
  }
  return found;
}

/** The data of the page: the form, what can be chosen next, and the answer or why there is none. */
async function pageOf(
  host: PluginHost,
  wording: Wording,
  kind: Kind,
  query: Asked,
  entities: readonly string[],
) {
  const { entity = '', surface = '', from = '', to = '' } = query;
  const frame = {
    title: 'Ask the log',
    description:
      'Did it happen, or not? The log answers in a sentence, with a proof that anyone can check.',
    here: '/ask',
    scripts: ['ask-page.js'],
    kind,
    form: { entity, surface, from, to, tz: query.tz ?? 'UTC' },
    entities: entities.map((name) => ({ name, href: address(kind, { entity: name }) })),
    surfaces: [] as readonly object[],
    zones: Intl.supportedValuesOf('timeZone'),
    presets: Object.values(PRESETS).map(({ name }) => name),
    fault: null as string | null,
    answer: null as object | null,
  };
  try {
    const tz = zoneOf(query.tz ?? 'UTC');
    const listed = surfacesOf(host.log(kind), entity);
    const surfaces = listed.map((name) => ({
      name,
      label: labelOf(name),
      links: Object.entries(PRESETS).map(([when, preset]) => ({
        ...{ when, name: preset.name },
        href: address(kind, { entity, surface: name, when, tz }),
      })),
    }));
    const form = { ...frame.form, tz };
    const base = { ...frame, form, surfaces };
    if (entity === '' || surface === '' || from === '' || to === '') {
      const begun = surface !== '' || from !== '' || to !== '';
      const missing =
        entity === ''
          ? 'Say whose acts you ask about.'
          : 'Say which act and which time you ask about.';
      return { ...base, fault: begun ? missing : null };
    }
    const asked = {
      ...{
        entity: name('entity', entity, ENTITY),
        surface: name('surface', surface, SURFACE),
      },
      ...{ from_ms: instantOf(from, tz, 'from'), to_ms: instantOf(to, tz, 'to'), tz },
    };
    const answer = await shown(host, wording, kind, asked);
    // A link to an answer is previewed with its sentence.
    const { heading, sentence: description } = answer;
    const title = `${heading}: ${labelOf(surface)}, ${entity}`;
    return { ...base, title, description, kept: true, answer };
  } catch (error) {
    if (!isApiError(error)) throw error;
    const said = error.message;
    return { ...frame, fault: `${said.slice(0, 1).toUpperCase()}${said.slice(1)}.` };
  }
}

const patternOf = (schema: object): RegExp =>
  new RegExp((schema as { readonly pattern: string }).pattern);
const ENTITY = patternOf(EntityName);
const SURFACE = patternOf(SurfaceName);

function name(param: string, written: string, pattern: RegExp): string {
  const lower = written.trim();
  if (pattern.test(lower)) return lower;
  throw new ApiError(
    'parameter_invalid',
    `${param} is not a name of the log: small letters, digits and . _ : -`,
    {
      param,
    },
  );
}

function surfacesOf(log: LogView, entity: string): readonly string[] {
  const manifest = entity === '' ? null : log.surfaces().manifest(entity);
  return (manifest?.surfaces ?? []).slice(0, MAX_SUGGESTED);
}

/** The answer as the view shows it. */
async function shown(host: PluginHost, wording: Wording, kind: Kind, asked: AskedAbout) {
  const { entity, surface, from_ms, to_ms, tz } = asked;
  let found: readonly Found[];
  try {
    found = await documentsOf(host, wording, kind, asked, WAIT_MS);
  } catch (error) {
    if (!isApiError(error) || error.code !== 'window_not_closed') throw error;
    const closed_ms = host.log(kind).published().map_head_ms;
    const until =
      from_ms < closed_ms
        ? {
            until: address(kind, {
              entity,
              surface,
              from: localOf(from_ms, tz),
              to: localOf(closed_ms, tz),
              tz,
            }),
          }
        : {};
    return { ...notYet(asked, closed_ms), ...until, document: null };
  }
  const documents = found.map(({ document }) => document as unknown as Shown);
  const verdict = joined(found.map((one) => one.verdict));
  const entries = found.flatMap(({ log, document }) =>
    ((document as unknown as Shown).entries ?? []).map(({ index }) => ({ log, index })),
  );
  const answer: Answer = answerOf(asked, {
    verdict,
    count: entries.length,
    more: documents.some(({ more }) => more === true),
    watched: documents.every(({ coverage }) => coverage !== undefined),
  });
  const acts = entries.map(({ log, index }) => {
    const statement = namedStatement(log, index);
    const { entry_id, issued_at_ms } = statement as { entry_id: string; issued_at_ms: number };
    const query = kind === 'sandbox' ? '?log=sandbox' : '';
    return {
      ms: issued_at_ms,
      at: momentWords(issued_at_ms, tz),
      utc: new Date(issued_at_ms).toISOString(),
      sentence: host.sentence(statement),
      href: `/r/${entry_id}${query}`,
    };
  });
  const query = new URLSearchParams({ entity, surface });
  query.set('from_ms', String(from_ms));
  query.set('to_ms', String(to_ms));
  query.set('log', kind);
  return {
    ...answer,
    verdict,
    asked,
    acts,
    more: documents.some(({ more }) => more === true)
      ? `/log?${new URLSearchParams({ log: kind, key: JSON.stringify(['surface', entity, surface]) }).toString()}`
      : null,
    lanes: await lanesOf(host.logs(kind), asked, acts),
    document: `/api/v1/absence/document?${query.toString()}`,
    not_said: documents[0]?.does_not_assert ?? [],
    utc: { from: new Date(from_ms).toISOString(), to: new Date(to_ms).toISOString() },
    logs: found.map(({ log }) => ({ origin: log.origin, name: logName(log) })),
    key: `/log?${new URLSearchParams({ log: kind, key: JSON.stringify(['surface', entity, surface]) }).toString()}`,
  };
}

/** The members of a document that the page shows. */
interface Shown {
  readonly verdict: Verdict;
  readonly more?: boolean;
  readonly entries?: readonly { readonly index: number }[];
  readonly coverage?: JsonObject;
  readonly does_not_assert: readonly string[];
}

/** The entities that published a manifest in a log. Each call reads only the manifests that are new. */
class Declared {
  readonly #names = new Map<LogView['origin'], { last: number | undefined; names: Set<string> }>();

  /** Up to `MAX_SUGGESTED` names, in their order. */
  async entities(log: LogView): Promise<readonly string[]> {
    const known = this.#names.get(log.origin) ?? { last: undefined, names: new Set<string>() };
    this.#names.set(log.origin, known);
    for (let full = true; full && known.names.size < MAX_SUGGESTED;) {
      const range = known.last === undefined ? {} : { after: known.last };
      const indexes = await log.manifests({ ...range, limit: 100 });
      for (const index of indexes) known.names.add(namedStatement(log, index)['entity'] as string);
      known.last = indexes.at(-1) ?? known.last;
      full = indexes.length === 100;
    }
    return [...known.names].sort();
  }
}

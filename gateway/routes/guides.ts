// /guides: the documents of this project as pages, in the version of the running service. The files are read from the
// package. Where the text of a guide names one of them, with or without a section, the name becomes a link.

import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { Type } from 'typebox';
import { ApiError, pageRoute } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import { catalogUrl } from '../../plugins/index.ts';
import type { Gateway } from '../gateway.ts';
import { headingId, idOf } from '../pages/markdown.ts';
import type { MarkdownOptions } from '../pages/markdown.ts';

/** The documents in the order of the index. Their keys are the names in the URL. */
const GUIDES = {
  api: { path: 'gateway/API.md', about: 'Receipts, gates, absence, layers, webhooks, errors.' },
  format: { path: 'log/FORMAT.md', about: 'Every byte that is signed, and how to verify it.' },
  operating: { path: 'tools/OPERATING.md', about: 'Running the service: backup, keys, settings.' },
  monitoring: { path: 'tools/MONITORING.md', about: 'Verifying offline, monitors, witnesses.' },
  agents: {
    path: 'tools/AGENTS.md',
    about: 'Receipts for the calls of agents: MCP, hooks, spans.',
  },
  plugins: { path: 'plugins/GUIDE.md', about: 'Writing a plugin.' },
} as const;

type GuideName = keyof typeof GUIDES;

const NAMES = Object.keys(GUIDES) as readonly GuideName[];

/** A citation such as `log/FORMAT.md §3.1`, or the name alone. */
const CITATION = /\b((?:gateway|log|tools|plugins)\/[A-Z]+\.md)(?:,? §(\d+(?:\.\d+)*))?/g;

/** One document. It is read at the first request for it. */
interface Guide {
  readonly name: GuideName;
  readonly title: string;
  readonly text: string;
  /** Headings of the second level, for the contents. */
  readonly contents: readonly { readonly title: string; readonly id: string }[];
  /** The fragment of each numbered heading, by the number. */
  readonly sections: ReadonlyMap<string, string>;
}

/** The index, and a page for each document. */
export function guideRoutes(gateway: Gateway): readonly Route[] {
  const pages = new Map<GuideName, string>();
  return [
    pageRoute({ path: '/guides', summary: 'The documents of this project' }, () =>
      gateway.page('guides', {
        title: 'Guides',
        here: '/guides',
        guides: NAMES.map((name) => ({ ...GUIDES[name], name, title: guideOf(name).title })),
      }),
    ),
    pageRoute(
      {
        path: '/guides/{guide}',
        summary: 'One document',
        params: Type.Object({ guide: Type.String({ pattern: '^[a-z]{1,40}$' }) }),
        errors: ['resource_missing'],
      },
      (ctx) => {
        const name = NAMES.find((one) => one === ctx.state.params.guide);
        if (name === undefined) {
          throw new ApiError('resource_missing', `the guides are ${NAMES.join(', ')}`, {
            param: 'guide',
          });
        }
        const page = pages.get(name) ?? pageOf(gateway, guideOf(name));
        pages.set(name, page);
        return page;
      },
    ),
  ];
}

const known = new Map<GuideName, Guide>();

function guideOf(name: GuideName): Guide {
  const guide = known.get(name) ?? readGuide(name);
  known.set(name, guide);
  return guide;
}

function readGuide(name: GuideName): Guide {
  // The folder above catalogs/ is the root of the package, for the sources and for dist/.
  const text = readFileSync(new URL(`../${GUIDES[name].path}`, catalogUrl('')), 'utf8');
  const headings = [...text.replace(/^```.*?^```$/gms, '').matchAll(/^(#+) (.+)$/gm)];
  const sections = new Map<string, string>();
  for (const [, , words = ''] of headings) {
    const number = /^(\d+(?:\.\d+)*)\.? /.exec(words)?.[1];
    if (number !== undefined) sections.set(number, headingId(words));
  }
  return {
    name,
    title: headings[0]?.[2] ?? name,
    text,
    contents: headings
      .filter(([, marks]) => marks === '##')
      .map(([, , title = '']) => ({ title, id: headingId(title) })),
    sections,
  };
}

function pageOf(gateway: Gateway, guide: Guide): string {
  const folder = posix.dirname(GUIDES[guide.name].path);
  const options: MarkdownOptions = {
    ids: true,
    address: (target) => addressOf(folder, target),
    text: (text) =>
      text.replaceAll(CITATION, (cited, path: string, section: string | undefined) => {
        const address = cite(path, section);
        return address === null ? cited : `<a href="${address}">${cited}</a>`;
      }),
  };
  const { title, text, contents } = guide;
  return gateway.page('guide', { title, here: '/guides', text, contents, options });
}

/** The address of a link in a document: a page of this service or another site. Null for any other file. */
function addressOf(folder: string, target: string): string | null {
  if (target.startsWith('https://')) return target;
  const [path = '', fragment] = target.split('#');
  const address = path === '' ? '' : cite(posix.normalize(posix.join(folder, path)), undefined);
  if (address === null) return null;
  return fragment === undefined ? address : `${address}#${idOf(fragment)}`;
}

function cite(path: string, section: string | undefined): string | null {
  const name = NAMES.find((one) => GUIDES[one].path === path);
  if (name === undefined) return null;
  const id = section === undefined ? undefined : guideOf(name).sections.get(section);
  return id === undefined ? `/guides/${name}` : `/guides/${name}#${id}`;
}

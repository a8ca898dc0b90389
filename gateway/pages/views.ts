// Pages from templates: eta, which escapes every value, and one layout around them all.
//
// The gateway's own views are the files of views/. A plugin has its views in a folder of its own; they use two of the
// gateway's by name: `layout('@layout')` and `include('@helplines', …)`.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import type { FooterPartner, MenuItem } from '../../plugins/contract/index.ts';
import { escapeHtml, inlineMarkdown, markdown } from './markdown.ts';

/** What every view may use, beside its own data as `it`. */
export interface ViewFrame {
  /** Title of the page, without the name of the service. */
  readonly title: string;
  /** One sentence for search engines and shared links; the first paragraph of the page unless given. */
  readonly description?: string;
  /** Client scripts of the page, by their names under `/static/`. */
  readonly scripts?: readonly string[];
  /** Name of the web app manifest under `/static/`, for a page that can be installed. */
  readonly manifest?: string;
  /** Address of the picture in previews of links to the page; the common one unless given. */
  readonly image?: string;
  /** Style sheets beside the common one, by their names under `/static/`. */
  readonly styles?: readonly string[];
  /** Path of the page, which the menu marks. */
  readonly here?: string;
  /** Whether people keep the page, as they keep an invoice: its style is then part of it, and a saved copy keeps it. */
  readonly kept?: boolean;
  /** The partner whose link led to the page; the footer shows it. */
  readonly partner?: FooterPartner | null;
}

/** Renders a view to a whole HTML document. */
export type RenderPage = (
  view: string,
  data: ViewFrame & Readonly<Record<string, unknown>>,
) => string;

/** What the frame of each page asks for when it is rendered. */
export interface PageFrame {
  /** Address of the service, without a slash at the end. */
  readonly base_url: string;
  /** The address of a static file. */
  asset(name: string): string;
  /** The text of the common style sheet. */
  style(): string;
  /** The pages of plugins in the menu. */
  menu(): readonly MenuItem[];
}

const ABOUT =
  'A public, append-only log of what agents decide, refuse and leave undone. Every entry can be checked without trusting its operator.';
const MAX_ABOUT = 200;

/** The description of a page as the value of an attribute: the given one, or the text of its first paragraph. */
function describe(given: string | undefined, body: string): string {
  if (given !== undefined) return escapeHtml(given);
  const [, paragraph = ''] = /<p>([^]*?)<\/p>/.exec(body) ?? [];
  // What is in the body is escaped already, except for quotes.
  const text = paragraph.replace(/<[^>]*>/g, '').replaceAll('"', '&quot;');
  const words = text.replace(/\s+/g, ' ').trim();
  if (words.length <= MAX_ABOUT) return words === '' ? ABOUT : words;
  return `${words.slice(0, words.lastIndexOf(' ', MAX_ABOUT))} …`;
}

/** The functions whose HTML views write unescaped. */
const SHARED = { markdown, inline: inlineMarkdown, describe };

const OWN = new URL('views/', import.meta.url);
/** The views of the gateway that plugins may use. */
const NAMED = ['layout', 'helplines'];

/** Opens a folder of views, by default the gateway's own. Each template is compiled once. */
export function openViews(frame: PageFrame, folder: URL = OWN): RenderPage {
  const eta = new Eta({
    views: fileURLToPath(folder),
    autoEscape: true,
    cache: true,
    autoTrim: false,
  });
  for (const name of NAMED) {
    eta.loadTemplate(`@${name}`, readFileSync(new URL(`${name}.eta`, OWN), 'utf8'));
  }
  return (view, data) =>
    eta.render(view, {
      ...data,
      ...SHARED,
      asset: (name: string) => frame.asset(name),
      base_url: frame.base_url,
      menu: frame.menu(),
      style: () => frame.style(),
    });
}

// Pages from templates: eta with every value escaped, one layout around them all. Views are the files
// of views/; a plugin names one, `clear/dashboard`, and gives its data.

import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import { inlineMarkdown, markdown } from './markdown.ts';

/** What every view may use, beside its own data as `it`. */
export interface ViewFrame {
  /** Title of the page, without the name of the service. */
  readonly title: string;
  /** One sentence for search engines and shared links. */
  readonly description?: string;
  /** Client scripts of the page, by their names under `/static/`. */
  readonly scripts?: readonly string[];
  /** Style sheets beside the common one, by their names under `/static/`. */
  readonly styles?: readonly string[];
  /** Which entry of the navigation is this page: its path. */
  readonly here?: string;
  /** The partner whose link led here; stands in the footer. */
  readonly partner?: { readonly name: string; readonly status_url: string } | null;
}

/** Renders a view to a whole HTML document. */
export type RenderPage = (
  view: string,
  data: ViewFrame & Readonly<Record<string, unknown>>,
) => string;

/** What gives HTML of its own: the only values that views write unescaped. */
const SHARED = { markdown, inline: inlineMarkdown };

/** Opens the folder of views; a template is compiled once. `assets` gives the address of a static file. */
export function openViews(assets: (name: string) => string): RenderPage {
  const eta = new Eta({
    views: fileURLToPath(new URL('views', import.meta.url)),
    autoEscape: true,
    cache: true,
    autoTrim: false,
  });
  return (view, data) => eta.render(view, { ...data, ...SHARED, asset: assets });
}

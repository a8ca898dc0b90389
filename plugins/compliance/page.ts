// The Article 12 report as a page to read and print: the same object as the JSON, every text escaped, no script
// and no style in the page itself. gateway/API.md §4.3, §12.1.

import { readFileSync } from 'node:fs';
import { Eta } from 'eta';
import type { JsonObject } from '../contract.ts';
import { printable, spoken } from './text.ts';

/** Where the page's style sheet is served. */
export const STYLE_PATH = '/compliance/report.css';

const eta = new Eta({ autoEscape: true, autoTrim: false });
const template = eta.compile(readFileSync(new URL('./report.eta', import.meta.url), 'utf8'));

/** The page; `entryUrl` says where an entry is shown. */
export function reportPage(report: JsonObject, entryUrl: (entry_id: string) => string): string {
  return eta.render(template, { report, entryUrl, printable, spoken, style: STYLE_PATH });
}

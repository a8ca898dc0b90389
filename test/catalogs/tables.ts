// The tables of catalogs in the interface, parsed from its Markdown: by heading, each table as rows of cells.

import { existsSync, readFileSync } from 'node:fs';

/** A table: its column names and its rows. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The content under a heading: its tables in order, and its prose as one line. */
export interface Section {
  readonly tables: readonly Table[];
  readonly prose: string;
}

const INTERFACE = new URL('../../../shared/spec/interface.md', import.meta.url);
const COPY = new URL('./interface.json', import.meta.url);

/** The headings that the catalogs are compared with. */
const CHECKED = /^(Attach flow of|Catalog|Stack catalog|Foundry catalog|Versioning)/;

/** The sections of the document of the interface, if it is next to the project; otherwise null. */
export function interfaceSections(): Readonly<Record<string, Section>> | null {
  return existsSync(INTERFACE) ? sectionsOf(readFileSync(INTERFACE, 'utf8')) : null;
}

/** The copy of these sections in this project. */
export const copiedSections = JSON.parse(readFileSync(COPY, 'utf8')) as Readonly<
  Record<string, Section>
>;

/** The sections of a Markdown text, by heading. */
function sectionsOf(markdown: string): Readonly<Record<string, Section>> {
  const sections: [string, Section][] = [];
  for (const part of markdown.split(/^#{2,4} /m).slice(1)) {
    const [heading = '', ...lines] = part.split('\n');
    if (CHECKED.test(heading)) sections.push([heading, sectionOf(lines)]);
  }
  return Object.fromEntries(sections);
}

function sectionOf(lines: readonly string[]): Section {
  const tables: { columns: string[]; rows: string[][] }[] = [];
  const prose: string[] = [];
  let inside = false;
  for (const line of lines) {
    const cells = line.startsWith('|') ? line.split('|').slice(1, -1) : null;
    if (cells === null) {
      inside = false;
      if (line.trim() !== '') prose.push(line.trim());
      continue;
    }
    const texts = cells.map((cell) => cell.trim());
    if (texts.every((text) => /^-+$/.test(text))) continue;
    if (inside) tables.at(-1)?.rows.push(texts);
    else tables.push({ columns: texts, rows: [] });
    inside = true;
  }
  return { tables, prose: prose.join(' ') };
}

/** A row as an object with the column names as members. */
function rowsOf(table: Table | undefined): readonly Readonly<Record<string, string>>[] {
  if (table === undefined) throw new Error('the section has no such table');
  return table.rows.map((row) =>
    Object.fromEntries(table.columns.map((column, at) => [column, row[at] ?? ''])),
  );
}

/** The section of the copy whose heading begins with this text. */
export function section(start: string): Section {
  const found = Object.entries(copiedSections).find(([heading]) => heading.startsWith(start));
  if (found === undefined) throw new Error(`the interface has no ${start}`);
  return found[1];
}

/** The rows of a table of a section, by default the first. */
export const rows = (start: string, at = 0): ReturnType<typeof rowsOf> =>
  rowsOf(section(start).tables[at]);

/** The words of a list in prose. */
export const list = (text: string | undefined): string[] => (text ?? '').split(', ');

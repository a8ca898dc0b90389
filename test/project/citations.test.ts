// Every document that a comment or a document names is a file of this repository, and every section that it names
// (`log/FORMAT.md §3.1`, `tools/OPERATING.md, Settings`) is a heading of that file. Links between documents resolve
// too.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Folders of data: training data of the classifier, and fixtures. */
const DATA = /^(?:tools\/classifier\/data|test\/data|test\/vectors|catalogs\/classify)\//;

const SECTION = String.raw`§\d+(?:\.\d+)*`;
/** The name of a document, and the sections or the heading after it. */
const CITATION = new RegExp(
  String.raw`([\w./-]*[\w-]+\.md)\b(?:,? (${SECTION}(?:(?:, | and | to |, and )${SECTION})*)|, ([A-Z][\w ]*?)(?=[.;:),]|$))?`,
  'gm',
);

const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.(?:ts|js|eta|css|md)$/.test(file) && !DATA.test(file))
  .filter((file) => existsSync(`${root}${file}`));

/** Documents of other projects, after the name of the project. */
const FOREIGN = /\bLevelDB, doc\/\w+\.md/g;

/** The text that may cite: the comments of code with their lines joined, or a whole document. */
function citing(file: string): string {
  const text = readFileSync(`${root}${file}`, 'utf8');
  if (!/\.(?:ts|js)$/.test(file)) return text;
  const comments = text.split('\n').flatMap((line) => {
    const comment = /^\s*(?:\/\/|\/?\*+)\s?(.*)$/.exec(line)?.[1] ?? / \/\/ (.*)$/.exec(line)?.[1];
    return comment === undefined ? [''] : [comment.trim()];
  });
  return comments.join(' ');
}

/** The headings of a document: their text, numbers and fragments. */
function headingsOf(path: string): ReadonlySet<string> {
  const text = readFileSync(`${root}${path}`, 'utf8').replace(/^```.*?^```$/gms, '');
  const names = [...text.matchAll(/^#+ (.+)$/gm)].flatMap(([, words = '']) => {
    const number = /^(\d+(?:\.\d+)*)\.? /.exec(words)?.[1];
    const fragment = words.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '');
    return [
      words.replace(/`/g, ''),
      `#${fragment.replace(/\s/g, '-')}`,
      ...(number === undefined ? [] : [`§${number}`]),
    ];
  });
  return new Set(names);
}

const known = new Map<string, ReadonlySet<string>>();

/** Whether a document has a heading. */
function has(path: string, heading: string): boolean {
  const headings = known.get(path) ?? headingsOf(path);
  known.set(path, headings);
  return headings.has(heading);
}

describe('citations', () => {
  it('name existing documents and headings', () => {
    const faults: string[] = [];
    let count = 0;
    for (const file of files) {
      for (const [cited, name = '', sections, heading] of citing(file)
        .replaceAll(FOREIGN, '')
        .matchAll(CITATION)) {
        if (name.startsWith('//')) continue; // the rest of a URL
        count += 1;
        const path = [name, posix.join(posix.dirname(file), name)].find((one) =>
          existsSync(`${root}${one}`),
        );
        const wanted = [...(sections?.match(new RegExp(SECTION, 'g')) ?? []), heading ?? ''];
        const missing =
          path === undefined ? ['file'] : wanted.filter((one) => one !== '' && !has(path, one));
        if (missing.length > 0) faults.push(`${file}: ${cited}: no ${missing.join(', ')}`);
      }
    }
    assert.deepEqual(faults, []);
    assert.ok(count > 500, String(count));
  });

  it('link to existing files and fragments', () => {
    const faults: string[] = [];
    for (const file of files.filter((one) => one.endsWith('.md'))) {
      const text = readFileSync(`${root}${file}`, 'utf8').replace(/^```.*?^```$/gms, '');
      for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^https?:/.test(target)) continue;
        const [path = '', fragment] = target.split('#');
        const there = path === '' ? file : posix.join(posix.dirname(file), path);
        const found =
          existsSync(`${root}${there}`) && (fragment === undefined || has(there, `#${fragment}`));
        if (!found) faults.push(`${file}: ${target}`);
      }
    }
    assert.deepEqual(faults, []);
  });
});

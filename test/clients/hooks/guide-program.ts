// Runs an example of tools/AGENTS.md as a program. Imports of `actlog/…` resolve to the sources of this repository, and
// the test gives the values of free names.

import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { transform } from 'esbuild';
import { guideExample } from '../../support/guide-examples.ts';

const ROOT = new URL('../../../', import.meta.url);

/** Where the program is: below the repository, so that it finds the frameworks in `node_modules`. */
const FOLDER = new URL('node_modules/.cache/actlog-guide/', ROOT);

/**
 * The values of these names after the example ran.
 *
 * @param free names that the example uses and does not declare
 */
export async function runExample(
  example: string,
  free: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Promise<Readonly<Record<string, unknown>>> {
  const own = guideExample(example).replace(/'actlog\/hooks\/([\w-]+)'/g, (_, hook: string) =>
    JSON.stringify(new URL(`tools/clients/typescript/hooks/${hook}.ts`, ROOT).href),
  );
  const given = `const { ${Object.keys(free).join(', ')} } = globalThis.actlogGuide;\n`;
  const { code } = await transform(`${given}${own}\nexport { ${names.join(', ')} };\n`, {
    loader: 'ts',
    format: 'esm',
  });
  await mkdir(FOLDER, { recursive: true });
  const file = new URL(`${example}-${String(process.pid)}.mjs`, FOLDER);
  await writeFile(file, code);
  const shared = globalThis as { actlogGuide?: unknown };
  shared.actlogGuide = free;
  try {
    return (await import(pathToFileURL(file.pathname).href)) as Readonly<Record<string, unknown>>;
  } finally {
    delete shared.actlogGuide;
    await rm(file);
  }
}

/** How many lines of an example are about actlog: those that the guide promises to be at most five. */
export const linesOf = (example: string): number =>
  guideExample(example)
    .split('\n')
    .filter((line) => /actlog|\blog\b|callbacks|handler/i.test(line)).length;

/** The exports of the package. */
export const packageExports = (): readonly string[] =>
  Object.keys(
    (JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as { exports: object })
      .exports,
  );

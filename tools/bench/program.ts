// How the command line is run as a process of its own: built, when the build is as new as the source.

import { existsSync, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Arguments for `process.execPath` that come before those of the program. */
export interface Program {
  readonly args: readonly string[];
  /** False when it is transpiled as it starts, which takes a second that an installed one does not. */
  readonly built: boolean;
}

/**
 * What `npm start` gives node: the young objects of the rounds in flight fit, and are not copied twice; and what is
 * old is collected once it has doubled, not each second for a tenth more, as V8 would with so much room for the young.
 * V8 sizes the room of the young as a process starts, so `actlog serve` cannot give itself the first.
 */
export const NODE_ARGS: readonly string[] = [
  '--max-semi-space-size=64',
  '--heap-growing-percent=100',
];

const root = fileURLToPath(new URL('../..', import.meta.url));
const FOLDERS = ['log', 'plugins', 'gateway', 'tools'];

/** Chooses how a module of this project runs, for example `tools/actlog`; coverage is counted on the source. */
export function programOf(module: string): Program {
  if (!import.meta.url.endsWith('.ts')) {
    return { args: [fileURLToPath(new URL(`../../${module}.js`, import.meta.url))], built: true };
  }
  const built = buildOf(module);
  if (process.env.NODE_V8_COVERAGE === undefined && built !== null) {
    return { args: [built], built: true };
  }
  // By its address: it may be run in another folder. A module that tsx loads for a `require` has no other resolver.
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  return { args: ['--import', tsx, join(root, `${module}.ts`)], built: false };
}

/** The built file of a module; null if it is missing or older than a source file. */
export function buildOf(module: string): string | null {
  const built = join(root, 'dist', `${module}.js`);
  if (!existsSync(built)) return null;
  return statSync(built).mtimeMs >= Math.max(...FOLDERS.flatMap(timesIn)) ? built : null;
}

const timesIn = (folder: string): number[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(?:ts|eta|css)$/.test(path))
    .map((path) => statSync(join(root, folder, path)).mtimeMs);
